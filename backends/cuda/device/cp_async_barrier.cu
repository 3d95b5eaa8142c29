// cp.async.mbarrier.arrive.noinc: the barrier counts an arrival when this thread's copies are done.
__device__ __forceinline__ void cp_async_mbarrier_arrive_noinc(void* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}
