#include "backends/cuda/generated.h"

namespace kiln::cuda {

using namespace ir;
using namespace intrinsics;

std::string registers(int first, int count) {
  std::string out = "{";
  for (int i = 0; i < count; ++i) {
    if (i) out += i % 16 ? ", " : ", \"\n      \"";
    out += "%" + std::to_string(first + i);
  }
  return out + "}";
}

std::string operands(std::string_view constraint, std::string_view array, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    if (i) out += i % 8 ? ", " : ",\n        ";
    out += "\"" + std::string(constraint) + "\"(" + std::string(array) + "[" + std::to_string(i) + "])";
  }
  return out;
}

Error unsupported(const Arch& arch, const std::string& what, const std::string& hint) {
  return {Code::kUnsupported, what + " on " + arch.sm(), "", hint};
}

Generator generator_of(const Call* c) {
  if (atomic_of(c)) return generate_atomic;
  switch (c->op) {
    case Op::tirx_ptx_mma:
    case Op::tirx_ptx_mma_sp:
    case Op::tl_ptx_mma_sm70:
    case Op::tl_ptx_mma_block_scale:
    case Op::tl_ptx_ldmatrix:
    case Op::tirx_ptx_ldmatrix:
    case Op::tl_ptx_stmatrix: return generate_matrix;
    case Op::tl_ptx_wgmma_ss:
    case Op::tl_ptx_wgmma_sp_ss:
    case Op::tl_ptx_wgmma_sp_rs:
    case Op::tl_ptx_wgmma_rs: return generate_wgmma;
    case Op::tl_tma_load:
    case Op::tl_tma_load_im2col:
    case Op::tl_tma_load_multicast:
    case Op::tl_tma_load_gather4:
    case Op::tl_tma_store_scatter4:
    case Op::tl_tma_store_cluster:
    case Op::tl_ptx_cluster_store:
    case Op::tl_ptx_st_bulk_shared:
    case Op::tl_tma_store: return generate_tma;
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
    case Op::tl_ptx_tcgen05_sf_warp_transpose: return generate_tcgen05;
    case Op::tirx_tvm_fill_fragment:
    case Op::tirx_tvm_load_matrix_sync:
    case Op::tirx_tvm_store_matrix_sync:
    case Op::tirx_tvm_mma_sync:
    case Op::tirx_tvm_bmma_sync: return generate_wmma;
    case Op::tl_warp_reduce_sum:
    case Op::tl_warp_reduce_max:
    case Op::tl_warp_reduce_min:
    case Op::tl_warp_reduce_bitand:
    case Op::tl_warp_reduce_bitor: return generate_reduction;
    case Op::tirx_call_extern:
    case Op::tirx_call_pure_extern: return is_template_call(c) ? generate_reduction : nullptr;
    default: return nullptr;
  }
}

Result<Generated> generate(const Arch& arch, const Call* c) {
  if (!has_its_kinds(c)) return unsupported(arch, "'" + std::string(c->name) + "' does not take these arguments");
  return generator_of(c)(arch, c);
}

}  // namespace kiln::cuda
