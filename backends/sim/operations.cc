#include "backends/sim/operations.h"

#include <vector>

#include "intrinsics/arguments.h"

namespace kiln::sim {

using namespace ir;

namespace {

constexpr uint8_t kCollective = 1;  // by the warp as one
constexpr uint8_t kPlain = 2;       // nothing but the kinds of its arguments is to be checked
constexpr uint8_t kHint = 4;        // nothing is done

struct Operation {
  Op op = Op::kUnknown;
  uint8_t first_architecture = 0;
  uint8_t is = 0;
};

// Every operator that is for GPUs alone and keeps its form up to the printers; others are in src/check and src/emit.
constexpr Operation kOperations[] = {
    // clang-format off
    // Barriers and fences.
    {Op::tirx_tvm_storage_sync, 0, kCollective},
    {Op::tl_sync_warp, 0, kCollective},
    {Op::tirx_cuda__warp_sync, 0, kCollective | kPlain},
    {Op::tirx_cuda__cta_sync, 0, kCollective | kPlain},
    {Op::tl_syncthreads_and, 0, kCollective | kPlain},
    {Op::tl_syncthreads_or, 0, kCollective | kPlain},
    {Op::tl_syncthreads_count, 0, kCollective | kPlain},
    {Op::tirx_cuda__syncthreads_and, 0, kCollective | kPlain},
    {Op::tirx_cuda__syncthreads_or, 0, kCollective | kPlain},
    {Op::tl_named_barrier_arrive, 0, kCollective | kPlain},
    {Op::tl_cluster_arrive, 90, kCollective | kPlain},
    {Op::tl_cluster_arrive_relaxed, 90, kCollective | kPlain},
    {Op::tl_cluster_wait, 90, kCollective | kPlain},
    {Op::tl_cluster_sync, 90, kCollective | kPlain},
    {Op::tirx_cuda__cluster_sync, 90, kCollective | kPlain},
    {Op::tl_sync_grid, 0, kCollective | kPlain},
    {Op::tirx_cuda__grid_sync, 0, kCollective | kPlain},
    {Op::tl_fence_proxy_async, 90, kCollective | kPlain},
    {Op::tl_ptx_fence_barrier_init, 90, kCollective | kPlain},
    {Op::tirx_cuda__thread_fence, 0, kCollective | kPlain},
    {Op::tirx_cuda__nano_sleep, 0, kCollective | kPlain},
    {Op::tl_set_max_nreg, 90, kCollective},
    // Waits for asynchronous work.
    {Op::tl_mbarrier_wait_parity, 90, kCollective | kPlain},
    {Op::tirx_ptx_commit_group, 80, kCollective | kPlain},
    {Op::tirx_ptx_wait_group, 80, kCollective | kPlain},
    {Op::tl_tma_store_arrive, 90, kCollective | kPlain},
    {Op::tl_tma_store_wait, 90, kCollective | kPlain},
    {Op::tl_warpgroup_arrive, 90, kCollective | kPlain},
    {Op::tl_warpgroup_commit_batch, 90, kCollective | kPlain},
    {Op::tl_warpgroup_wait, 90, kCollective | kPlain},
    {Op::tl_wait_wgmma, 90, kCollective | kPlain},
    // Exchange of values between lanes.
    {Op::tl_tl_shuffle_elect, 0, kCollective | kPlain},
    {Op::tl_any_sync, 0, kCollective | kPlain},
    {Op::tl_all_sync, 0, kCollective | kPlain},
    {Op::tl_ballot_sync, 0, kCollective | kPlain},
    {Op::tl_ballot, 0, kCollective},
    {Op::tirx_cuda__any_sync, 0, kCollective | kPlain},
    {Op::tirx_cuda__ballot_sync, 0, kCollective | kPlain},
    {Op::tl_activemask, 0, kCollective | kPlain},
    {Op::tirx_cuda____activemask, 0, kCollective | kPlain},
    {Op::tirx_tvm_warp_activemask, 0, kCollective | kPlain},
    {Op::tl_match_any_sync, 0, kCollective | kPlain},
    {Op::tl_match_all_sync, 0, kCollective | kPlain},
    {Op::tl_shfl_sync, 0, kCollective | kPlain},
    {Op::tl_shfl_xor_sync, 0, kCollective | kPlain},
    {Op::tl_shfl_up_sync, 0, kCollective | kPlain},
    {Op::tl_shfl_down_sync, 0, kCollective | kPlain},
    {Op::tirx_cuda____shfl_sync, 0, kCollective | kPlain},
    {Op::tirx_cuda____shfl_xor_sync, 0, kCollective | kPlain},
    {Op::tirx_cuda____shfl_up_sync, 0, kCollective | kPlain},
    {Op::tirx_cuda____shfl_down_sync, 0, kCollective | kPlain},
    {Op::tirx_tvm_warp_shuffle, 0, kCollective | kPlain},
    {Op::tirx_tvm_warp_shuffle_xor, 0, kCollective | kPlain},
    {Op::tirx_tvm_warp_shuffle_up, 0, kCollective | kPlain},
    {Op::tirx_tvm_warp_shuffle_down, 0, kCollective | kPlain},
    {Op::tirx_cuda__reduce_add_sync_u32, 80, kCollective | kPlain},
    {Op::tirx_cuda__reduce_min_sync_u32, 80, kCollective | kPlain},
    {Op::tl_warp_reduce_sum, 0, kCollective | kPlain},
    {Op::tl_warp_reduce_max, 0, kCollective | kPlain},
    {Op::tl_warp_reduce_min, 0, kCollective | kPlain},
    {Op::tl_warp_reduce_bitand, 0, kCollective | kPlain},
    {Op::tl_warp_reduce_bitor, 0, kCollective | kPlain},
    // Matrices.
    {Op::tirx_ptx_mma, 0, kCollective},
    {Op::tirx_ptx_mma_sp, 0, kCollective},
    {Op::tl_ptx_mma_sm70, 0, kCollective},
    {Op::tl_ptx_mma_block_scale, 0, kCollective},
    {Op::tl_ptx_ldmatrix, 0, kCollective},
    {Op::tirx_ptx_ldmatrix, 0, kCollective},
    {Op::tl_ptx_stmatrix, 90, kCollective},
    {Op::tl_ptx_wgmma_ss, 90, kCollective},
    {Op::tl_ptx_wgmma_rs, 90, kCollective},
    {Op::tl_ptx_wgmma_sp_ss, 90, kCollective},
    {Op::tl_ptx_wgmma_sp_rs, 90, kCollective},
    {Op::tirx_tvm_fill_fragment, 0, kCollective},
    {Op::tirx_tvm_load_matrix_sync, 0, kCollective},
    {Op::tirx_tvm_store_matrix_sync, 0, kCollective},
    {Op::tirx_tvm_mma_sync, 0, kCollective},
    {Op::tirx_tvm_bmma_sync, 0, kCollective},
    {Op::tl_ptx_init_tensor_memory, 100, kCollective},
    {Op::tl_ptx_deallocate_tensor_memory, 100, kCollective},
    {Op::tl_tcgen05_ld, 100, kCollective},
    {Op::tl_tcgen05_st, 100, kCollective},
    {Op::tl_tcgen05_before_thread_sync, 100, kCollective},
    {Op::tl_tcgen05_after_thread_sync, 100, kCollective},
    {Op::tl_tcgen05_mma_arrive, 100, kCollective},
    {Op::tl_ptx_tcgen05_mma_ss, 100, kCollective},
    {Op::tl_ptx_tcgen05_mma_ts, 100, kCollective},
    {Op::tl_ptx_tcgen05_mma_blockscaled_ss, 100, kCollective},
    {Op::tl_ptx_tcgen05_cp_warpx4, 100, kCollective},
    {Op::tl_ptx_tcgen05_sf_warp_transpose, 100, kCollective},
    // What a lane does on its own.
    {Op::tl_ptx_cp_async, 80, 0},
    {Op::tirx_ptx_cp_async, 80, 0},
    {Op::tirx_s_tir__cp_async_raw, 80, 0},
    {Op::tirx_ptx_cp_async_barrier, 80, kPlain},
    {Op::tl_ptx_cp_async_barrier_noinc, 80, kPlain},
    {Op::tirx_ptx_init_barrier_thread_count, 90, kPlain},
    {Op::tirx_ptx_arrive_barrier, 90, kPlain},
    {Op::tl_ptx_arrive_cluster_barrier, 90, kPlain},
    {Op::tirx_ptx_arrive_barrier_expect_tx, 90, kPlain},
    {Op::tl_mbarrier_expect_tx, 90, kPlain},
    {Op::tl_tma_load, 90, 0},
    {Op::tl_tma_load_im2col, 90, 0},
    {Op::tl_tma_load_multicast, 90, 0},
    {Op::tl_tma_store, 90, 0},
    {Op::tl_tma_store_cluster, 90, kPlain},
    {Op::tl_block_rank_in_cluster, 90, kPlain},
    {Op::tl_initialize_wgmma_descriptor, 90, kPlain},
    {Op::tl_tma_load_gather4, 100, 0},
    {Op::tl_tma_store_scatter4, 100, 0},
    {Op::tl_ptx_st_bulk_shared, 100, kPlain},
    {Op::tl_initialize_tcgen05_descriptor, 100, kPlain},
    {Op::tl_increase_descriptor_offset, 0, kPlain},
    {Op::tl_get_warp_idx, 0, kPlain},
    {Op::tl_get_warp_idx_sync, 0, kPlain},
    {Op::tl_get_lane_idx, 0, kPlain},
    {Op::tl_get_warp_group_idx, 0, kPlain},
    {Op::tirx_cuda__thread_rank, 0, kPlain},
    {Op::tirx_cuda__clock64, 0, kPlain},
    {Op::tl___fns, 0, kPlain},
    {Op::tirx_cuda__ffs_u32, 0, kPlain},
    {Op::tirx_cuda__float_as_uint, 0, kPlain},
    {Op::tirx_cuda__uint_as_float, 0, kPlain},
    {Op::tirx_cuda__fdividef, 0, kPlain},
    // Hints to compilers and caches: nothing is done.
    {Op::tirx_assume, 0, kHint},
    {Op::tl_annotate_producer_reg_dealloc, 0, kHint},
    {Op::tl_annotate_consumer_reg_alloc, 0, kHint},
    {Op::tl_no_set_max_nreg, 0, kHint},
    {Op::tl_warpgroup_fence_operand, 0, kHint},
    {Op::tl_prefetch_tma_descriptor, 0, kHint},
    {Op::tl_pdl_trigger, 0, kHint},
    {Op::tl_pdl_sync, 0, kHint},
    // clang-format on
};

const Operation& of(Op op) {
  static const auto* const table = [] {
    auto* rows = new std::vector<Operation>;
    for (const Operation& o : kOperations) {
      auto i = static_cast<size_t>(o.op);
      if (i >= rows->size()) rows->resize(i + 1);
      (*rows)[i] = o;
    }
    return rows;
  }();
  static constexpr Operation none;
  auto i = static_cast<size_t>(op);
  return i < table->size() ? (*table)[i] : none;
}

}  // namespace

bool is_hint(Op op) { return of(op).is & kHint; }

bool is_plain(Op op) { return of(op).is & (kPlain | kHint); }

int first_architecture(Op op) { return of(op).first_architecture; }

bool is_collective(const Call* c) {
  if (c->op != Op::tirx_call_extern && c->op != Op::tirx_call_pure_extern) return of(c->op).is & kCollective;
  std::string_view name = intrinsics::text_arg(c, 0);
  if (intrinsics::is_template_call(c)) return !name.starts_with("tl::Any") && !name.starts_with("tl::All(") && name != "tl::All";
  return name.starts_with("__syncthreads") || name.starts_with("__shfl") || name == "__syncwarp" || name == "__activemask" ||
         name == "__any_sync" || name == "__all_sync" || name == "__ballot_sync" || name == "__match_any_sync" || name == "__nanosleep" ||
         name.starts_with("__threadfence");
}

}  // namespace kiln::sim
