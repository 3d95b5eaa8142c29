// Prints why, and ends the kernel with an error.
__device__ __forceinline__ void fail(const char* message) {
  printf("block (%d, %d, %d), thread (%d, %d, %d): %s\n", blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, message);
  __trap();
}
