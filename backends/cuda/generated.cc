#include "backends/cuda/generated.h"

#include <algorithm>

namespace kiln::cuda {

using namespace ir;

std::string_view text_arg(const Call* c, size_t i) {
  auto* s = i < c->args.size() ? c->args[i]->as<StringImm>() : nullptr;
  return s ? s->value : std::string_view();
}

int64_t int_arg(const Call* c, size_t i) {
  auto* n = i < c->args.size() ? c->args[i]->as<IntImm>() : nullptr;
  return n ? n->value : -1;
}

int64_t copied_bytes(const Call* c) {
  if (c->op != Op::tl_ptx_cp_async) return int_arg(c, c->args.size() < 5 ? 2 : 4);
  auto* address = c->args.size() > 2 ? c->args[0]->as<Call>() : nullptr;
  auto* place = address && !address->args.empty() ? address->args[0]->as<Load>() : nullptr;
  int64_t count = int_arg(c, 2);
  if (!place || count < 1 || count > 128) return -1;
  return count * place->buffer->dtype.element_bytes() * std::max<int>(place->buffer->dtype.lanes, 1);
}

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

int extent(std::string_view shape, char letter) {
  size_t at = shape.find(letter);
  int n = 0;
  for (size_t i = at == shape.npos ? shape.size() : at + 1; i < shape.size() && shape[i] >= '0' && shape[i] <= '9' && n < 10000; ++i) {
    n = n * 10 + (shape[i] - '0');
  }
  return n;
}

bool is_pair(const Call* c) {
  const Value* v = c->annotations ? c->annotations->find("use_2cta") : nullptr;
  if (!v) return false;
  auto* n = v->kind == Value::Kind::kExpr ? v->expr->as<IntImm>() : nullptr;
  return v->boolean || v->integer != 0 || (n && n->value != 0);
}

Error unsupported(const Arch& arch, const std::string& what, const std::string& hint) {
  return {Code::kUnsupported, what + " on " + arch.sm(), "", hint};
}

std::string ptx_type(std::string_view t) {
  if (t == "fp16" || t == "float16") return "f16";
  if (t == "bf16" || t == "bfloat16") return "bf16";
  if (t == "tf32" || t == "tfloat32" || t == "custom[tfloat32]") return "tf32";
  if (t == "fp32" || t == "float32") return "f32";
  if (t == "fp64" || t == "float64") return "f64";
  if (t == "int32") return "s32";
  if (t == "int8") return "s8";
  if (t == "uint8") return "u8";
  if (t == "int4") return "s4";
  if (t == "uint4") return "u4";
  if (t == "e4m3" || t == "float8_e4m3" || t == "float8_e4m3fn") return "e4m3";
  if (t == "e2m3" || t == "float6_e2m3fn") return "e2m3";
  if (t == "e3m2" || t == "float6_e3m2fn") return "e3m2";
  if (t == "e2m1" || t == "float4_e2m1fn" || t == "float4_e2m1_unpacked" || t == "custom[float4_e2m1_unpacked]8") return "e2m1";
  if (t == "int1" || t == "uint1") return "b1";
  if (t == "e5m2" || t == "float8_e5m2fn" || t == "float8_e5m2") return "e5m2";
  return "";
}

int ptx_bits(std::string_view t) {
  if (t == "f64") return 64;
  if (t == "f32" || t == "tf32" || t == "s32") return 32;
  if (t == "f16" || t == "bf16") return 16;
  if (t == "b1") return 1;
  return t == "s4" || t == "u4" ? 4 : 8;  // fp6 and fp4 operands of mma take a byte
}

bool is_template_call(const Call* c) {
  return (c->op == Op::tirx_call_extern || c->op == Op::tirx_call_pure_extern) && text_arg(c, 0).starts_with("tl::");
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

namespace {

// Kinds of the arguments, for has_kinds; empty for operators that look at theirs themselves. Forms may have fewer arguments.
std::string_view argument_kinds(Op op) {
  switch (op) {
    case Op::tirx_ptx_mma:
    case Op::tl_ptx_mma_sm70: return "sssssspvpvpvv?";
    case Op::tirx_ptx_mma_sp: return "sssssspvpvpvpvvv";
    case Op::tl_ptx_mma_block_scale: return "sssssvssspvpvpvppvvvv";
    case Op::tl_ptx_ldmatrix: return "vvpp";
    case Op::tirx_ptx_ldmatrix: return "vvspvpv";
    case Op::tl_ptx_stmatrix: return "vvp+";
    case Op::tl_ptx_wgmma_ss: return "svvssspvpvpv";
    case Op::tl_ptx_wgmma_rs: return "svssspvpvpv";
    case Op::tl_ptx_wgmma_sp_ss: return "svvssspvpvvpvpv";
    case Op::tl_ptx_wgmma_sp_rs: return "svssspvpvvpvpv";
    case Op::tl_ptx_tcgen05_mma_ss:
    case Op::tl_ptx_tcgen05_mma_ts: return "spvpvpv";
    case Op::tl_ptx_tcgen05_mma_blockscaled_ss: return "spvpvpvvvpvpv";
    case Op::tl_ptx_tcgen05_cp_warpx4: return "ppv";
    case Op::tl_ptx_init_tensor_memory:
    case Op::tl_ptx_deallocate_tensor_memory: return "pv";
    case Op::tl_ptx_tcgen05_sf_warp_transpose: return "p";
    case Op::tl_tcgen05_mma_arrive: return "a";
    case Op::tl_initialize_tcgen05_descriptor: return "vp";
    case Op::tirx_tvm_fill_fragment: return "pvvvvvsss";
    case Op::tirx_tvm_load_matrix_sync:
    case Op::tirx_tvm_store_matrix_sync: return "pvvvvpvssss";
    case Op::tirx_tvm_mma_sync:
    case Op::tirx_tvm_bmma_sync: return "pvpvpvpvssssss";
    case Op::tl_tma_load_im2col:
    case Op::tl_tma_load_multicast:
    case Op::tl_tma_load_gather4: return "map";
    case Op::tl_tma_store:
    case Op::tl_tma_store_scatter4: return "mp";
    case Op::tl_tma_store_cluster: return "ppvva";
    case Op::tl_ptx_cluster_store: return "pvvv";
    case Op::tl_ptx_st_bulk_shared: return "pvv";
    default: return "";
  }
}

bool is_kind(const Expr* e, char kind) {
  bool text = e->as<StringImm>(), pointer = e->dtype.is_handle() && !text;
  auto* v = e->as<Var>();
  std::string_view scope = v && v->pointer ? v->pointer->scope : std::string_view();
  switch (kind) {
    case 's': return text;
    case 'v': return !pointer && !text;
    case 'p': return pointer && scope != "grid_constant" && !scope.starts_with("wmma.");
    case 'm': return pointer && !scope.starts_with("wmma.");
    case 'a': return e->as<Load>() || is_kind(e, 'p');
    default: return !pointer;
  }
}

}  // namespace

bool has_kinds(const Call* c, std::string_view kinds) {
  for (size_t i = 0; i < c->args.size(); ++i) {
    char kind = i < kinds.size() ? kinds[i] : kinds.ends_with('+') ? '+' : 'v';
    if (!is_kind(c->args[i], kind)) return false;
  }
  return true;
}

namespace {

// A load with tensor map begins map, barrier, place; one without: place, place, barrier. A move of tensor memory ends in registers.
bool has_its_kinds(const Call* c) {
  if (c->op == Op::tl_tma_load) return has_kinds(c, c->args.size() > 0 && c->args[0]->as<Var>() ? "map" : "ppa");
  if (c->op == Op::tl_tcgen05_ld || c->op == Op::tl_tcgen05_st) return has_kinds(c, c->args.size() == 7 ? "vvvvvvp" : "vvvvvp");
  std::string_view kinds = argument_kinds(c->op);
  return kinds.empty() || has_kinds(c, kinds);
}

}  // namespace

Result<Generated> generate(const Arch& arch, const Call* c) {
  if (!has_its_kinds(c)) return unsupported(arch, "'" + std::string(c->name) + "' does not take these arguments");
  return generator_of(c)(arch, c);
}

}  // namespace kiln::cuda
