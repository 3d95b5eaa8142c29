// Makes barriers that were just initialised visible to the cluster and to asynchronous copies.
__device__ __forceinline__ void fence_barrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
