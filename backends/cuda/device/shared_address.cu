__device__ __forceinline__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
// Of base[index].
template <typename T>
__device__ __forceinline__ unsigned shared_address(const T* base, unsigned index) {
  return shared_address(base) + (unsigned)sizeof(T) * index;
}
