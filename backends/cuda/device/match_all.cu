// The lanes of `mask` when all have the same value, else 0.
template <class T>
__device__ __forceinline__ unsigned match_all(unsigned mask, T value) {
  int same;
  return __match_all_sync(mask, value, &same);
}
