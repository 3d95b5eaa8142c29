// Arrives at the barrier of block `block` in the cluster, announces the bytes, and begins to copy them to its shared memory. Pointers are
// this block's.
__device__ __forceinline__ void bulk_store_cluster(void* to, const void* from, int block, int bytes, void* barrier) {
  asm volatile(
      "{\n"
      ".reg .b32 to, barrier;\n"
      "mapa.shared::cluster.u32 to, %0, %2;\n"
      "mapa.shared::cluster.u32 barrier, %4, %2;\n"
      "mbarrier.arrive.expect_tx.shared::cluster.b64 _, [barrier], %3;\n"
      "fence.proxy.async.shared::cta;\n"
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [to], [%1], %3, [barrier];\n"
      "}" ::"r"(shared_address(to)),
      "r"(shared_address(from)), "r"(block), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
}
