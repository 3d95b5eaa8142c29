// One thread of the first warp in each group of `threads` threads (0: in the block); whole warps must call it.
template <int threads>
__device__ __forceinline__ bool elect_thread() {
  unsigned warp = threadIdx.x / 32;
  if constexpr (threads > 0) warp %= threads / 32;
  warp = __shfl_sync(0xFFFFFFFF, warp, 0);
  unsigned elected;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "elect.sync _|p, 0xFFFFFFFF;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(elected));
  return warp == 0 && elected;
}
