#include "backends/cuda/dialect.h"

#include <cmath>

#include "backends/cuda/generated.h"
#include "backends/cuda/intrinsics.h"
#include "base/small_float.h"
#include "emit/functions.h"
#include "intrinsics/copy_calls.h"
#include "intrinsics/matrix_calls.h"
#include "ir/rewriter.h"

namespace kiln::cuda {

using namespace ir;
using namespace intrinsics;
using emit::CFamily;
using emit::Prec;
using emit::Text;

namespace {

std::string float_literal(DataType t, double value) {
  if (t.bits <= 16) return emit::hex(encode_float_literal(t, value), (t.bits + 3) / 4);
  if (t.bits == 64) {
    if (std::isnan(value)) return "__longlong_as_double(0x7FF8000000000000)";
    if (std::isinf(value)) return value < 0 ? "__longlong_as_double(0xFFF0000000000000)" : "__longlong_as_double(0x7FF0000000000000)";
    return emit::decimal(value);
  }
  auto narrow = static_cast<float>(value);
  if (std::isnan(narrow)) return "__int_as_float(0x7FFFFFFF)";
  if (std::isinf(narrow)) return narrow < 0 ? "__int_as_float(0xFF800000)" : "__int_as_float(0x7F800000)";
  return emit::decimal(narrow) + "f";
}

void alloc(CFamily& p, const AllocBuffer& a) {
  const Buffer* b = a.buffer;
  std::string t = p.type(b->dtype.element());
  p.pointees[b->data] = b->dtype.element();
  if (b->scope() == "shared.dyn") {
    std::string value = t == "unsigned char" ? "dynamic_shared" : "(" + t + "*)dynamic_shared";
    return p.out.line(t + "* const " + p.names.declare(b->data) + " = " + value + ";");
  }
  bool shared = b->scope().starts_with("shared");
  int64_t n = std::max<int64_t>(emit::constant_elements(b), 1);
  // Shared memory is accessed in the widest words, registers of small elements and those behind a vector access in words too.
  int64_t bytes = n * b->dtype.element_bytes(), wide = 1;
  while (wide < 16 && bytes % (2 * wide) == 0) wide *= 2;
  bool words = b->dtype.bits < 32 || static_cast<CudaPrinter&>(p).word_accessed.contains(b->data);
  std::string aligned = shared ? "alignas(16) " : "";
  if (!shared && words && wide > b->dtype.element_bytes()) aligned = "alignas(" + std::to_string(wide) + ") ";
  p.out.line((shared ? "__shared__ " : "") + aligned + t + " " + p.names.declare(b->data) + "[" + std::to_string(n) + "];");
}

void assertion(CFamily& p, const Assert& a) {
  std::string message(a.error_kind.empty() ? std::string_view("RuntimeError") : a.error_kind);
  message += ": ";
  for (std::string_view part : a.message_parts) message += part;
  p.out.line("if (" + p.negated(a.condition) + ") fail(" + emit::quoted(message) + ");");
}

// The number that the loop's annotation asks for; 0: none.
int64_t unroll_factor(const For& f) {
  const Value* factor = f.annotations ? f.annotations->find("pragma_unroll_factor") : nullptr;
  if (!factor) return 0;
  if (factor->kind == Value::Kind::kInt) return factor->integer;
  return factor->kind == Value::Kind::kExpr && factor->expr->as<IntImm>() ? factor->expr->as<IntImm>()->value : 0;
}

// Copies of its body that an unrolled loop makes by itself; 1: it is not unrolled.
int64_t own_copies(const For& f) {
  int64_t copies = unroll_factor(f);
  auto* extent = f.extent->as<IntImm>();
  if (copies == 0 && (f.for_kind == ForKind::kUnrolled || f.for_kind == ForKind::kVectorized)) copies = extent ? extent->value : 1;
  return copies <= 1 || copies > kMostUnrolled ? 1 : copies;
}

// The most copies of a statement that unrolled loops in `s` make. One that would make too many stays a loop.
int64_t copies_in(const Stmt* s) {
  auto* f = s->as<For>();
  int64_t own = f ? own_copies(*f) : 1, most = 1;
  for_each_stmt(s, [&](const Stmt* inner) { most = std::max(most, copies_in(inner)); });
  return own * most <= kMostUnrolled ? own * most : most;
}

void before_loop(CFamily& p, const For& f) {
  int64_t factor = unroll_factor(f);
  bool asked = factor > 0 || f.for_kind == ForKind::kUnrolled || f.for_kind == ForKind::kVectorized;
  auto* extent = f.extent->as<IntImm>();
  bool long_loop = factor == 0 && extent && extent->value > kMostUnrolled;
  if (!asked || long_loop || own_copies(f) * copies_in(f.body) > kMostUnrolled) return;  // as often as the compiler finds right
  p.out.line(factor > 0 ? "#pragma unroll " + std::to_string(factor) : "#pragma unroll");
}

// One copy of `bytes` bytes for each part of a vector.
void vector_access(CFamily& p, const Attr& a) {
  auto* s = a.body->as<Store>();
  auto* l = s->value->as<Load>();
  int bytes = static_cast<int>(a.value->as<IntImm>()->value), total = s->value->dtype.lanes * s->buffer->dtype.element_bytes();
  bool floats = s->buffer->dtype == kFloat32;
  std::string word = bytes == 16  ? (floats ? "float4" : "uint4")
                     : bytes == 8 ? (floats ? "float2" : "uint2")
                     : bytes == 4 ? (floats ? "float" : "unsigned")
                                  : "unsigned short";
  auto place = [&](const Buffer* b, const Expr* index, int part, bool read) {
    Ramp r = *index->as<Ramp>();
    IntImm offset{{ExprKind::kIntImm, r.base->dtype}, part * bytes / b->dtype.element_bytes()};
    Binary sum{{ExprKind::kAdd, r.base->dtype}, r.base, &offset};
    auto* first = r.base->as<IntImm>();
    IntImm constant{{ExprKind::kIntImm, r.base->dtype}, (first ? first->value : 0) + offset.value};
    const Expr* at = first ? static_cast<const Expr*>(&constant) : part ? &sum : r.base;
    std::string address = first && constant.value == 0 ? p.first_element(b) : "&" + p.element(b, at);
    return std::string("*(") + (read ? "const " : "") + word + "*)" + address;
  };
  for (int part = 0; part * bytes < total; ++part) {
    p.out.line(place(s->buffer, s->indices[0], part, false) + " = " + place(l->buffer, l->indices[0], part, true) + ";");
  }
}

void attr(CFamily& p, const Attr& a) {
  if (a.key == "kiln.vector_access") return vector_access(p, a);
  if (a.key == "lexical_alloc_scope") return p.block("", a.body);
  if (a.key == "async_wait_queue_scope") {
    auto* inner = a.body->as<Attr>();
    if (inner && inner->key == "async_wait_inflight_count") {
      p.out.line("cp_async_wait(" + p.str(inner->value) + ");");
      return p.stmt(inner->body);
    }
  }
  p.stmt(a.body);
  if (a.key == "async_commit_queue_scope") p.out.line("cp_async_commit();");
}

std::string thread_index(CFamily& p, std::string_view tag) {
  if (static_cast<CudaPrinter&>(p).swizzled && tag.starts_with("blockIdx")) return "block" + std::string(tag.substr(8));
  return std::string(tag);
}

// The address of the element that a load names; an address as it is.
std::string address(CFamily& p, const Expr* e) {
  auto* v = e->as<Var>();
  if (v && v->pointer && v->pointer->scope == "grid_constant") return "&" + p.names.of(v);
  if (auto* l = e->as<Load>()) return "&" + p.element(l->buffer, l->indices[0]);
  return p.str(e);
}
// The 32-bit address in shared memory that instructions take, from base and index apart: NVRTC computes pointers in 64 bits, each anew.
std::string shared_place(CFamily& p, const std::string& base, const Expr* index) {
  auto* constant = index->as<IntImm>();
  return "shared_address(" + base + (constant && constant->value == 0 ? "" : ", " + p.str(index)) + ")";
}
std::string shared_place(CFamily& p, const Expr* pointer) {
  auto* c = pointer->as<Call>();
  auto* l = c && c->op == Op::tirx_address_of ? c->args[0]->as<Load>() : nullptr;
  return l ? shared_place(p, p.first_element(l->buffer), l->indices[0]) : "shared_address(" + p.str(pointer) + ")";
}
std::string at(CFamily& p, const Expr* pointer, const Expr* index) {
  std::string base = p.str(pointer, Prec::kPostfix);
  auto* offset = index->as<IntImm>();
  return offset && offset->value == 0 ? base : "&" + base + "[" + p.str(index) + "]";
}
std::string at(CFamily& p, const Operand& o) { return o.offset ? at(p, o.pointer, o.offset) : p.str(o.pointer); }
// The same where the offset counts elements of half a byte.
std::string packed(CFamily& p, const Operand& o, bool halves) {
  auto* offset = o.offset->as<IntImm>();
  if (!halves || (offset && offset->value == 0)) return at(p, o);
  return "(const char*)" + p.str(o.pointer, Prec::kUnary) + " + " + p.str(o.offset, Prec::kMul) + " / 2";
}
std::string shared_place(CFamily& p, const Operand& o) {
  return o.offset ? shared_place(p, p.str(o.pointer), o.offset) : shared_place(p, o.pointer);
}
std::string descriptor(CFamily& p, const Operand& o) {
  auto* offset = o.offset->as<IntImm>();
  std::string base = p.str(o.pointer, Prec::kPostfix) + "[0]";
  return offset && offset->value == 0 ? base : base + " + " + p.str(o.offset, Prec::kMul);
}

std::string joined(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& s : list) out += (out.empty() ? "" : ", ") + s;
  return out;
}

// The descriptor of shared memory that is so many bytes further on.
std::string later_descriptor(CFamily& p, const Operand& o) {
  auto* offset = o.offset->as<IntImm>();
  std::string base = p.str(o.pointer, Prec::kPostfix) + "[0]";
  return offset && offset->value == 0 ? base : base + " + (" + p.str(o.offset, Prec::kAdd) + " >> 4)";
}

// An address in tensor memory: a word in memory that holds it, and a column that is added.
std::string tensor_address(CFamily& p, const Operand& o) {
  auto* column = o.offset->as<IntImm>();
  auto known = p.pointees.find(o.pointer->as<Var>());
  bool plain = known != p.pointees.end() && known->second == kUInt32;
  std::string base = plain ? p.str(o.pointer, Prec::kPostfix) + "[0]" : "*(unsigned*)" + p.str(o.pointer, Prec::kUnary);
  return column && column->value == 0 ? base : base + " + " + p.str(o.offset, Prec::kMul);
}

std::string tcgen05_args(CFamily& p, const Call& c) {
  if (std::optional<Tcgen05MmaCall> m = tcgen05_mma_call(&c)) {
    std::string a = m->ts ? tensor_address(p, m->a) : later_descriptor(p, m->a);
    std::string text = joined({tensor_address(p, m->d), a, later_descriptor(p, m->b), p.str(m->instruction), p.str(m->keep)});
    if (m->is_scaled) text += ", " + tensor_address(p, m->scale_a) + ", " + tensor_address(p, m->scale_b);
    return text + (m->masks.empty() ? "" : ", " + p.args(m->masks));
  }
  switch (c.op) {
    case Op::tl_ptx_tcgen05_cp_warpx4: return joined({p.str(c.args[0]), tensor_address(p, {c.args[1], c.args[2]})});
    case Op::tl_tcgen05_ld:
    case Op::tl_tcgen05_st: {
      auto* column = c.args[4]->as<IntImm>();
      std::string to = p.str(c.args[3], Prec::kAdd) + (column && column->value == 0 ? "" : " + " + p.str(c.args[4], Prec::kMul));
      return joined({to, p.str(c.args.back())});
    }
    case Op::tl_tcgen05_mma_arrive: return address(p, c.args[0]);
    default: return p.args(c.args);  // allocations and fences
  }
}

std::string wmma_args(CFamily& p, const Call& c) {
  auto fragment = [&](size_t i, size_t first) {
    auto* offset = c.args[first]->as<IntImm>();
    return p.str(c.args[i], Prec::kAdd) + (offset && offset->value == 0 ? "" : " + " + p.str(c.args[first], Prec::kMul));
  };
  switch (c.op) {
    case Op::tirx_tvm_fill_fragment: return joined({fragment(0, 4), p.str(c.args[5])});
    case Op::tirx_tvm_load_matrix_sync: return joined({fragment(0, 4), p.str(c.args[5]), p.str(c.args[6])});
    case Op::tirx_tvm_store_matrix_sync: return joined({p.str(c.args[5]), fragment(0, 4), p.str(c.args[6])});
    default: return joined({fragment(0, 1), fragment(2, 3), fragment(4, 5), fragment(6, 7)});  // a product
  }
}

std::string matrix_args(CFamily& p, const Call& c) {
  if (std::optional<MatrixMoveCall> m = matrix_move_call(&c)) {
    return m->to.pointer ? joined({at(p, m->to), shared_place(p, m->row)}) : joined({shared_place(p, m->row), p.args(m->from)});
  }
  std::optional<MmaCall> m = mma_call(&c);
  bool halves = m->is_scaled() && m->shape == "m16n8k64";
  bool halves_a = halves || m->type_a == "s4" || m->type_a == "u4", halves_b = halves || m->type_b == "s4" || m->type_b == "u4";
  std::string text = joined({at(p, m->d), packed(p, m->a, halves_a), packed(p, m->b, halves_b)});
  if (m->is_sparse()) text += ", " + at(p, m->metadata);
  for (const Expr* e : {m->scale_a, m->scale_b, m->byte_a, m->thread_a, m->byte_b, m->thread_b}) {
    if (e) text += ", " + p.str(e);
  }
  return text;
}

std::string wgmma_args(CFamily& p, const WgmmaCall& w) {
  std::string text = joined({at(p, w.d), w.ss ? descriptor(p, w.a) : at(p, w.a), descriptor(p, w.b), p.str(w.keep)});
  return text + (w.is_sparse ? ", " + at(p, w.metadata) : "");
}

std::string tensor_copy_args(CFamily& p, const TensorCopy& t) {
  std::string text = address(p, t.map) + (t.barrier ? ", " + address(p, t.barrier) : "") + ", " + p.str(t.shared);
  if (t.blocks) text += ", " + p.str(t.blocks);
  return text + ", " + p.args(t.coordinates) + (t.offsets.empty() ? "" : ", " + p.args(t.offsets));
}

std::string generated_args(CFamily& p, const Call& c) {
  if (Atomic a = atomic_of(&c)) return p.args(c.args.first(a.first + 1 + a.values), a.first);
  Generator family = generator_of(&c);
  if (family == generate_wmma) return wmma_args(p, c);
  if (family == generate_tcgen05) return tcgen05_args(p, c);
  if (family == generate_matrix) return matrix_args(p, c);
  if (family == generate_wgmma) return wgmma_args(p, *wgmma_call(&c));
  if (std::optional<TensorCopy> t = tensor_copy_call(&c)) return tensor_copy_args(p, *t);
  if (std::optional<BulkCopy> b = bulk_copy_call(&c)) {
    return b->is_store ? joined({address(p, b->global), p.str(b->shared), p.str(b->bytes)})
                       : joined({p.str(b->shared), p.str(b->global), address(p, b->barrier), p.str(b->bytes)});
  }
  switch (c.op) {
    case Op::tl_tma_store_cluster: return joined({p.args(c.args.first(4)), address(p, c.args[4])});
    case Op::tl_ptx_cluster_store: return joined({at(p, c.args[0], c.args[3]), p.str(c.args[1]), p.str(c.args[2])});
    case Op::tl_ptx_st_bulk_shared: return p.args(c.args.first(2));
    case Op::tirx_call_extern:
    case Op::tirx_call_pure_extern: return p.args(c.args, 1);
    case Op::tl_warp_reduce_sum:
    case Op::tl_warp_reduce_max:
    case Op::tl_warp_reduce_min:
    case Op::tl_warp_reduce_bitand:
    case Op::tl_warp_reduce_bitor: return p.str(c.args[0]);
    default: return p.args(c.args);
  }
}

std::string helper(CFamily& p, const Call& c, const HelperCall& h) {
  std::string constants, args;
  for (size_t i = 0; i < c.args.size() && i < h.args.size(); ++i) {
    std::string& list = h.args[i] == 't' ? constants : args;
    if (h.args[i] == '-') continue;
    bool wide = h.args[i] == 'v' && c.args[i]->dtype.bits == 64;  // a template computes in the type that it is given
    list += (list.empty() ? "" : ", ") + (h.args[i] == '&' || h.args[i] == 'p' ? address(p, c.args[i])
                                          : wide                               ? p.typed_str(c.args[i])
                                                                               : p.str(c.args[i]));
  }
  return std::string(h.function) + (constants.empty() ? "" : "<" + constants + ">") + "(" + args + ")";
}

std::string storage_sync(CFamily& p, const Call& c) {
  std::string_view scope = text_arg(&c, 0);
  if (scope == "warp") return "__syncwarp();";
  bool named = c.args.size() == 3 && !c.args[1]->dtype.is_bool();
  return named ? "named_barrier_sync(" + p.args(c.args, 1) + ");" : "__syncthreads();";
}

std::string evaluate(CFamily& p, const Evaluate& e) {
  auto* c = e.value->as<Call>();
  if (!c) return "";
  switch (c->op) {
    case Op::tirx_assume:
    case Op::tl_annotate_producer_reg_dealloc:
    case Op::tl_annotate_consumer_reg_alloc:
    case Op::tl_no_set_max_nreg: return "";
    case Op::tirx_tvm_storage_sync: return storage_sync(p, *c);
    case Op::tl_sync_warp: return "__syncwarp(" + p.args(c->args) + ");";
    case Op::tl_loop_break:
    case Op::tirx_break_loop: return "break;";
    case Op::tirx_continue_loop: return "continue;";
    case Op::tirx_thread_return: return "return;";
    case Op::tirx_ret: return p.function->ret.is_void() ? "return;" : "return " + p.str(c->args[0]) + ";";
    case Op::tl_set_max_nreg: {
      return std::string(int_arg(c, 1) ? "raise" : "lower") + "_register_limit<" + p.str(c->args[0]) + ">();";
    }
    case Op::tl_ptx_cp_async:
    case Op::tirx_ptx_cp_async:
    case Op::tirx_s_tir__cp_async_raw: {
      AsyncCopy copy = async_copy_of(c);
      std::string condition = copy.condition ? ", " + p.str(copy.condition) : "";
      return "cp_async<" + std::to_string(copy.bytes) + ">(" + shared_place(p, copy.to) + ", " + at(p, copy.from) + condition + ");";
    }
    case Op::tl_initialize_tcgen05_descriptor:
    case Op::tl_initialize_wgmma_descriptor: {
      auto* l = c->args[0]->as<Load>();
      bool tcgen05 = c->op == Op::tl_initialize_tcgen05_descriptor;
      return p.element(l->buffer, l->indices[0]) + " = " + (tcgen05 ? "tcgen05" : "wgmma") + "_descriptor(" + p.args(c->args, 1) + ");";
    }
    case Op::tl_rng_init: {
      auto& printer = static_cast<CudaPrinter&>(p);
      printer.generator = printer.generators[c];
      return "random_init(" + p.names.of(printer.generator) + ", " + p.args(c->args.first(3)) + ");";
    }
    case Op::tl_warpgroup_fence_operand: return "fence_registers(" + at(p, {c->args[1], c->args[2]}) + ", " + p.str(c->args[3]) + ");";
    default: break;
  }
  bool draws = c->op == Op::tl_rng_rand || c->op == Op::tl_rng_rand_float;
  if (draws || generator_of(c) || helper_call(c->op)) return p.str(e.value) + ";";
  bool external = c->op == Op::tirx_call_extern || c->op == Op::tirx_call_pure_extern || c->op == Op::kFunction;
  return external ? p.str(e.value) + ";" : "";
}

Text call(CFamily& p, const Call& c) {
  auto& printer = static_cast<CudaPrinter&>(p);
  if (generator_of(&c)) {
    Result<Generated> g = generate(printer.arch, &c);
    if (!g) return {"0"};  // the check has refused it
    if (!g->text.empty()) printer.generated[g->name] = g->text;
    return {g->name + "(" + generated_args(p, c) + ")"};
  }
  if (const HelperCall* h = helper_call(c.op)) return {helper(p, c, *h)};
  auto cast_to_result = [&]() { return std::string("(") + (c.pointer ? p.type(c.pointer->element.element()) + "*" : "void*") + ")"; };
  switch (c.op) {
    case Op::tirx_call_extern:
    case Op::tirx_call_pure_extern: {
      std::string name(text_arg(&c, 0));
      return {(name == "DP4A" ? "dp4a" : name) + "(" + (name == "printf" ? p.typed_args(c.args, 1) : p.args(c.args, 1)) + ")"};
    }
    case Op::kFunction: {
      auto it = printer.symbols.find(c.name);
      return {(it == printer.symbols.end() ? std::string("undefined") : it->second) + "(" + p.args(c.args) + ")"};
    }
    case Op::tirx_address_of:
    case Op::tl_access_ptr: {
      auto* l = c.args[0]->as<Load>();
      auto* first = l->indices[0]->as<IntImm>();
      auto known = p.pointees.find(l->buffer->data);
      bool plain = known != p.pointees.end() && known->second == l->buffer->dtype.element();
      if (first && first->value == 0 && plain) return {p.names.of(l->buffer->data)};
      return {"&" + p.element(l->buffer, l->indices[0]), Prec::kUnary};
    }
    case Op::tirx_handle_add_byte_offset: {
      auto* offset = c.args[1]->as<IntImm>();
      if (offset && offset->value == 0) return p.expr(c.args[0]);
      auto* v = c.args[0]->as<Var>();
      bool bytes = v && p.pointees.contains(v) && p.pointees[v].element_bytes() == 1;
      std::string base = bytes ? p.str(c.args[0], Prec::kUnary) : "(char*)" + p.str(c.args[0], Prec::kUnary);
      return {base + " + " + p.str(c.args[1], Prec::kMul), Prec::kAdd};
    }
    case Op::tl_rng_rand:
    case Op::tl_rng_rand_float: {
      std::string what = c.op == Op::tl_rng_rand ? "u32" : std::string(text_arg(&c, 0)) + (c.dtype.bits == 64 ? "_f64" : "_f32");
      return {"random_" + what + "(" + p.names.of(printer.generator) + ")"};
    }
    case Op::tirx_buffer_data: return p.expr(c.args[0]);
    case Op::tirx_reinterpret: return {cast_to_result() + p.str(c.args[0], Prec::kUnary), Prec::kUnary};
    case Op::tirx_isnullptr: return {"!" + p.str(c.args[0], Prec::kUnary), Prec::kUnary};
    default: return {"0"};  // an effect that is nothing here, as a value
  }
}

}  // namespace

const emit::Dialect dialect = {type_name, float_literal, call, alloc, assertion, before_loop, attr, evaluate, thread_index};

}  // namespace kiln::cuda
