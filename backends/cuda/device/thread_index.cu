// Number of the thread in its block, x running fastest; of its lane, warp and group of warps.
__device__ __forceinline__ int thread_rank() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
__device__ __forceinline__ int lane_index(int warp_size = 32) { return thread_rank() % warp_size; }
__device__ __forceinline__ int warp_index(int warp_size = 32) { return thread_rank() / warp_size; }
// The same, known to be one for the whole warp.
__device__ __forceinline__ int warp_index_sync(int warp_size = 32) { return __shfl_sync(0xFFFFFFFF, warp_index(warp_size), 0); }
__device__ __forceinline__ int warp_group_index(int warp_size = 32, int warps = 4) { return thread_rank() / (warp_size * warps); }
