// cp.async.mbarrier.arrive: the barrier counts an arrival when this thread's copies are done; without noinc it first expects one more.
__device__ __forceinline__ void cp_async_mbarrier_arrive(void* barrier) {
  asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}
__device__ __forceinline__ void cp_async_mbarrier_arrive_noinc(void* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}
