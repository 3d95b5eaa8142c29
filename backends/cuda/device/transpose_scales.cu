// Transposes 4 rows of 32 words in shared memory to 32 rows of 4, by a warp; the order of the four avoids bank conflicts.
__device__ __forceinline__ void transpose_scales(void* words) {
  unsigned *w = (unsigned*)words, lane = threadIdx.x % 32, row[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) row[i] = w[(i ^ lane / 8) * 32 + lane];
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 4; ++i) w[lane * 4 + (i ^ lane / 8)] = row[i];
}
