#include "backends/sim/operations.h"

#include "intrinsics/arguments.h"

namespace kiln::sim {

using namespace ir;

bool is_hint(Op op) {
  switch (op) {
    case Op::tirx_assume:
    case Op::tl_annotate_producer_reg_dealloc:
    case Op::tl_annotate_consumer_reg_alloc:
    case Op::tl_no_set_max_nreg:
    case Op::tl_warpgroup_fence_operand:
    case Op::tl_prefetch_tma_descriptor:
    case Op::tl_pdl_trigger:
    case Op::tl_pdl_sync: return true;
    default: return false;
  }
}

int first_architecture(Op op) {
  switch (op) {
    case Op::tl_ptx_cp_async:
    case Op::tirx_ptx_cp_async:
    case Op::tirx_s_tir__cp_async_raw:
    case Op::tirx_ptx_commit_group:
    case Op::tirx_ptx_wait_group:
    case Op::tirx_ptx_cp_async_barrier:
    case Op::tl_ptx_cp_async_barrier_noinc:
    case Op::tirx_cuda__reduce_add_sync_u32:
    case Op::tirx_cuda__reduce_min_sync_u32: return 80;
    case Op::tirx_ptx_init_barrier_thread_count:
    case Op::tirx_ptx_arrive_barrier:
    case Op::tl_ptx_arrive_cluster_barrier:
    case Op::tirx_ptx_arrive_barrier_expect_tx:
    case Op::tl_mbarrier_expect_tx:
    case Op::tl_mbarrier_wait_parity:
    case Op::tl_ptx_fence_barrier_init:
    case Op::tl_fence_proxy_async:
    case Op::tl_tma_load:
    case Op::tl_tma_load_im2col:
    case Op::tl_tma_load_multicast:
    case Op::tl_tma_store:
    case Op::tl_tma_store_arrive:
    case Op::tl_tma_store_wait:
    case Op::tl_tma_store_cluster:
    case Op::tl_cluster_arrive:
    case Op::tl_cluster_arrive_relaxed:
    case Op::tl_cluster_wait:
    case Op::tl_cluster_sync:
    case Op::tirx_cuda__cluster_sync:
    case Op::tl_block_rank_in_cluster:
    case Op::tl_set_max_nreg:
    case Op::tl_warpgroup_arrive:
    case Op::tl_warpgroup_commit_batch:
    case Op::tl_warpgroup_wait:
    case Op::tl_wait_wgmma:
    case Op::tl_initialize_wgmma_descriptor:
    case Op::tl_ptx_wgmma_ss:
    case Op::tl_ptx_wgmma_rs:
    case Op::tl_ptx_wgmma_sp_ss:
    case Op::tl_ptx_wgmma_sp_rs:
    case Op::tl_ptx_stmatrix: return 90;
    case Op::tl_tma_load_gather4:
    case Op::tl_tma_store_scatter4:
    case Op::tl_ptx_st_bulk_shared:
    case Op::tl_ptx_init_tensor_memory:
    case Op::tl_ptx_deallocate_tensor_memory:
    case Op::tl_tcgen05_ld:
    case Op::tl_tcgen05_st:
    case Op::tl_tcgen05_mma_arrive:
    case Op::tl_tcgen05_before_thread_sync:
    case Op::tl_tcgen05_after_thread_sync:
    case Op::tl_initialize_tcgen05_descriptor:
    case Op::tl_ptx_tcgen05_mma_ss:
    case Op::tl_ptx_tcgen05_mma_ts:
    case Op::tl_ptx_tcgen05_mma_blockscaled_ss:
    case Op::tl_ptx_tcgen05_cp_warpx4:
    case Op::tl_ptx_tcgen05_sf_warp_transpose: return 100;
    default: return 0;
  }
}

bool is_collective(const Call* c) {
  switch (c->op) {
    // Barriers and fences.
    case Op::tirx_tvm_storage_sync:
    case Op::tl_sync_warp:
    case Op::tirx_cuda__warp_sync:
    case Op::tirx_cuda__cta_sync:
    case Op::tl_syncthreads_and:
    case Op::tl_syncthreads_or:
    case Op::tl_syncthreads_count:
    case Op::tirx_cuda__syncthreads_and:
    case Op::tirx_cuda__syncthreads_or:
    case Op::tl_named_barrier_arrive:
    case Op::tl_cluster_arrive:
    case Op::tl_cluster_arrive_relaxed:
    case Op::tl_cluster_wait:
    case Op::tl_cluster_sync:
    case Op::tirx_cuda__cluster_sync:
    case Op::tl_sync_grid:
    case Op::tirx_cuda__grid_sync:
    case Op::tl_fence_proxy_async:
    case Op::tl_ptx_fence_barrier_init:
    case Op::tirx_cuda__thread_fence:
    case Op::tirx_cuda__nano_sleep:
    case Op::tl_set_max_nreg:
    // Waits for asynchronous work.
    case Op::tl_mbarrier_wait_parity:
    case Op::tirx_ptx_commit_group:
    case Op::tirx_ptx_wait_group:
    case Op::tl_tma_store_arrive:
    case Op::tl_tma_store_wait:
    case Op::tl_warpgroup_arrive:
    case Op::tl_warpgroup_commit_batch:
    case Op::tl_warpgroup_wait:
    case Op::tl_wait_wgmma:
    // Exchange of values between lanes.
    case Op::tl_tl_shuffle_elect:
    case Op::tl_any_sync:
    case Op::tl_all_sync:
    case Op::tl_ballot_sync:
    case Op::tl_ballot:
    case Op::tirx_cuda__any_sync:
    case Op::tirx_cuda__ballot_sync:
    case Op::tl_activemask:
    case Op::tirx_cuda____activemask:
    case Op::tirx_tvm_warp_activemask:
    case Op::tl_match_any_sync:
    case Op::tl_match_all_sync:
    case Op::tl_shfl_sync:
    case Op::tl_shfl_xor_sync:
    case Op::tl_shfl_up_sync:
    case Op::tl_shfl_down_sync:
    case Op::tirx_cuda____shfl_sync:
    case Op::tirx_cuda____shfl_xor_sync:
    case Op::tirx_cuda____shfl_up_sync:
    case Op::tirx_cuda____shfl_down_sync:
    case Op::tirx_tvm_warp_shuffle:
    case Op::tirx_tvm_warp_shuffle_xor:
    case Op::tirx_tvm_warp_shuffle_up:
    case Op::tirx_tvm_warp_shuffle_down:
    case Op::tirx_cuda__reduce_add_sync_u32:
    case Op::tirx_cuda__reduce_min_sync_u32:
    case Op::tl_warp_reduce_sum:
    case Op::tl_warp_reduce_max:
    case Op::tl_warp_reduce_min:
    case Op::tl_warp_reduce_bitand:
    case Op::tl_warp_reduce_bitor:
    // Matrices.
    case Op::tirx_ptx_mma:
    case Op::tirx_ptx_mma_sp:
    case Op::tl_ptx_mma_sm70:
    case Op::tl_ptx_mma_block_scale:
    case Op::tl_ptx_ldmatrix:
    case Op::tirx_ptx_ldmatrix:
    case Op::tl_ptx_stmatrix:
    case Op::tl_ptx_wgmma_ss:
    case Op::tl_ptx_wgmma_rs:
    case Op::tl_ptx_wgmma_sp_ss:
    case Op::tl_ptx_wgmma_sp_rs:
    case Op::tirx_tvm_fill_fragment:
    case Op::tirx_tvm_load_matrix_sync:
    case Op::tirx_tvm_store_matrix_sync:
    case Op::tirx_tvm_mma_sync:
    case Op::tirx_tvm_bmma_sync:
    case Op::tl_ptx_init_tensor_memory:
    case Op::tl_ptx_deallocate_tensor_memory:
    case Op::tl_tcgen05_ld:
    case Op::tl_tcgen05_st:
    case Op::tl_tcgen05_before_thread_sync:
    case Op::tl_tcgen05_after_thread_sync:
    case Op::tl_tcgen05_mma_arrive:
    case Op::tl_ptx_tcgen05_mma_ss:
    case Op::tl_ptx_tcgen05_mma_ts:
    case Op::tl_ptx_tcgen05_mma_blockscaled_ss:
    case Op::tl_ptx_tcgen05_cp_warpx4:
    case Op::tl_ptx_tcgen05_sf_warp_transpose: return true;
    case Op::tirx_call_extern:
    case Op::tirx_call_pure_extern: {
      std::string_view name = intrinsics::text_arg(c, 0);
      if (intrinsics::is_template_call(c)) return !name.starts_with("tl::Any") && !name.starts_with("tl::All(") && name != "tl::All";
      return name.starts_with("__syncthreads") || name.starts_with("__shfl") || name == "__syncwarp" || name == "__activemask" ||
             name == "__any_sync" || name == "__all_sync" || name == "__ballot_sync" || name == "__match_any_sync" ||
             name == "__nanosleep" || name.starts_with("__threadfence");
    }
    default: return false;
  }
}

}  // namespace kiln::sim
