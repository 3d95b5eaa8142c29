// The first thread in each group of `threads` threads (0: in the block).
template <int threads>
__device__ __forceinline__ bool elect_thread() {
  return (threads > 0 ? threadIdx.x % (threads > 0 ? threads : 1) : threadIdx.x) == 0;
}
