// Adds the dot product of four bytes with four bytes.
__device__ __forceinline__ void dp4a(const void* a, const void* b, int* sum) { *sum = __dp4a(*(const int*)a, *(const int*)b, *sum); }
__device__ __forceinline__ void dp4a(const void* a, const void* b, unsigned* sum) {
  *sum = __dp4a(*(const unsigned*)a, *(const unsigned*)b, *sum);
}
