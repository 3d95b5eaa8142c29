// As clc_try_cancel; every block of the cluster gets the answer.
__device__ __forceinline__ void clc_try_cancel_multicast(void* answer, void* barrier) {
  asm volatile(
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [%0], [%1];" ::"r"(
          shared_address(answer)),
      "r"(shared_address(barrier))
      : "memory");
}
