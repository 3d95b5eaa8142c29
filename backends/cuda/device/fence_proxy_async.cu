// Orders accesses of shared memory by threads with those by asynchronous copies and matrix instructions.
__device__ __forceinline__ void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
