#include "intrinsics/arguments.h"

namespace kiln::intrinsics {

using namespace ir;

std::string_view text_arg(const Call* c, size_t i) {
  auto* s = i < c->args.size() ? c->args[i]->as<StringImm>() : nullptr;
  return s ? s->value : std::string_view();
}

int64_t int_arg(const Call* c, size_t i) {
  auto* n = i < c->args.size() ? c->args[i]->as<IntImm>() : nullptr;
  return n ? n->value : -1;
}

const Load* addressed_element(const Expr* e) {
  auto* c = e->as<Call>();
  bool is_address = c && (c->op == Op::tirx_address_of || c->op == Op::tl_access_ptr) && !c->args.empty();
  return is_address ? c->args[0]->as<Load>() : nullptr;
}

bool is_pair(const Call* c) {
  const Value* v = c->annotations ? c->annotations->find("use_2cta") : nullptr;
  if (!v) return false;
  auto* n = v->kind == Value::Kind::kExpr ? v->expr->as<IntImm>() : nullptr;
  return v->boolean || v->integer != 0 || (n && n->value != 0);
}

bool is_template_call(const Call* c) {
  return (c->op == Op::tirx_call_extern || c->op == Op::tirx_call_pure_extern) && text_arg(c, 0).starts_with("tl::");
}

int extent(std::string_view shape, char letter) {
  size_t at = shape.find(letter);
  int n = 0;
  for (size_t i = at == shape.npos ? shape.size() : at + 1; i < shape.size() && shape[i] >= '0' && shape[i] <= '9' && n < 10000; ++i) {
    n = n * 10 + (shape[i] - '0');
  }
  return n;
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

// A load with tensor map begins map, barrier, place; one without: place, place, barrier. A move of tensor memory ends in registers.
bool has_its_kinds(const Call* c) {
  if (c->op == Op::tl_tma_load) return has_kinds(c, c->args.size() > 0 && c->args[0]->as<Var>() ? "map" : "ppa");
  if (c->op == Op::tl_tcgen05_ld || c->op == Op::tl_tcgen05_st) return has_kinds(c, c->args.size() == 7 ? "vvvvvvp" : "vvvvvp");
  std::string_view kinds = argument_kinds(c->op);
  return kinds.empty() || has_kinds(c, kinds);
}

}  // namespace kiln::intrinsics
