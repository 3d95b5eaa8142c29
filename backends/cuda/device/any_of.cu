template <class T>
__device__ __forceinline__ bool any_of(const T* values, int count) {
  for (int i = 0; i < count; ++i) {
    if (values[i]) return true;
  }
  return false;
}
template <class T>
__device__ __forceinline__ bool all_of(const T* values, int count) {
  for (int i = 0; i < count; ++i) {
    if (!values[i]) return false;
  }
  return true;
}
