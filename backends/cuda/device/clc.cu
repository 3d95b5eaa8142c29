// Cluster launch control: asks for the work of a block or cluster that has yet to start; the barrier counts the answer's 16 bytes.
__device__ __forceinline__ void clc_try_cancel(void* answer, void* barrier) {
  asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];" ::"r"(shared_address(answer)),
               "r"(shared_address(barrier))
               : "memory");
}
// Whether the work was given, and the first block of it.
__device__ __forceinline__ int clc_is_canceled(const void* answer) {
  int given;
  asm volatile(
      "{\n"
      ".reg .pred given;\n"
      ".reg .b128 answer;\n"
      "ld.shared.b128 answer, [%1];\n"
      "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 given, answer;\n"
      "selp.u32 %0, 1, 0, given;\n"
      "}"
      : "=r"(given)
      : "r"(shared_address(answer))
      : "memory");
  return given;
}
template <int axis>
__device__ __forceinline__ unsigned clc_first_block(const void* answer) {
  unsigned block[3];
  asm volatile(
      "{\n"
      ".reg .b128 answer;\n"
      "ld.shared.b128 answer, [%3];\n"
      "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%0, %1, %2, _}, answer;\n"
      "}"
      : "=r"(block[0]), "=r"(block[1]), "=r"(block[2])
      : "r"(shared_address(answer))
      : "memory");
  return block[axis];
}
__device__ __forceinline__ unsigned clc_first_block_x(const void* answer) { return clc_first_block<0>(answer); }
__device__ __forceinline__ unsigned clc_first_block_y(const void* answer) { return clc_first_block<1>(answer); }
__device__ __forceinline__ unsigned clc_first_block_z(const void* answer) { return clc_first_block<2>(answer); }
