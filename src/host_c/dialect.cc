#include "host_c/dialect.h"

#include <cmath>

#include "base/small_float.h"
#include "emit/functions.h"
#include "host_c/intrinsics.h"
#include "ir/rewriter.h"

namespace kiln::host_c {

using namespace ir;
using emit::CFamily;
using emit::Prec;
using emit::Text;

namespace {

// Arrays beyond this size do not go on the stack.
constexpr int64_t kMaxStackBytes = 64 * 1024;

bool on_stack(const Buffer* b) {
  int64_t n = emit::constant_elements(b);
  return n >= 0 && n <= kMaxStackBytes / b->dtype.element_bytes();
}

void alloc(CFamily& p, const AllocBuffer& a) {
  const Buffer* b = a.buffer;
  std::string t = p.type(b->dtype.element());
  p.pointees[b->data] = b->dtype.element();
  int64_t n = emit::constant_elements(b);
  if (on_stack(b)) {
    bool large = n * b->dtype.element_bytes() >= 64;
    p.out.line(t + " " + p.names.declare(b->data) + "[" + std::to_string(std::max<int64_t>(n, 1)) + "]" +
               (large ? " __attribute__((aligned(64)));" : ";"));
    return;
  }
  std::string size;
  if (n >= 0) {
    size = std::to_string(n);
  } else {
    for (const Expr* d : b->shape) size += (size.empty() ? "(size_t)" : " * (size_t)") + p.str(d, Prec::kUnary);
    if (b->dtype.lanes > 1) size += " * " + std::to_string(b->dtype.lanes);
  }
  const std::string& name = p.names.declare(b->data);
  p.out.line(t + "* " + name + " __attribute__((cleanup(free_scratch))) = (" + t + "*)new_scratch(" + size + " * sizeof(" + t + "));");
  p.out.line("if (!" + name + ") return fail(\"MemoryError\", \"out of memory\");");
}

void assertion(CFamily& p, const Assert& a) {
  std::string message;
  for (std::string_view part : a.message_parts) message += part;
  std::string failed = p.negated(a.condition);
  std::string_view kind = a.error_kind.empty() ? "RuntimeError" : a.error_kind;
  p.out.line("if (" + failed + ") return fail(" + emit::quoted(kind) + ", " + emit::quoted(message) + ");");
}

// A parallel region may not be left from inside.
bool leaves(const For& f, const Callees& callees) {
  bool found = can_fail(f.body, callees);
  visit(
      f.body,
      [&](const Stmt* s) {
        found |= s->kind == StmtKind::kReturn || s->kind == StmtKind::kBreak;
        auto* e = s->as<Evaluate>();
        auto* c = e ? e->value->as<Call>() : nullptr;
        found |= c && op_info(c->op).effect == Effect::kControl;
        found |= c && c->op == Op::tl_loop_break;
      },
      [](const Expr*) {});
  return found;
}

void before_loop(CFamily& p, const For& f) {
  if (f.for_kind == ForKind::kParallel && !leaves(f, static_cast<CPrinter&>(p).callees)) p.out.line("#pragma omp parallel for");
}

void attr(CFamily& p, const Attr& a) {
  if (a.key == "lexical_alloc_scope") return p.block("", a.body);
  if (a.key != "kiln.atomic") return p.stmt(a.body);
  p.out.line("#pragma omp critical(kiln_atomic)");
  p.block("", a.body);
}

std::string failure(CFamily& p, std::string_view value) {
  return p.function->ret.is_void() && !static_cast<CPrinter&>(p).has_status ? "return;" : "return " + std::string(value) + ";";
}

std::string evaluate(CFamily& p, const Evaluate& e) {
  auto* c = e.value->as<Call>();
  if (!c) return "";
  switch (c->op) {
    case Op::tirx_tvm_storage_sync:
    case Op::tirx_assume:
    case Op::tl_sync_warp: return "";
    case Op::tl_loop_break:
    case Op::tirx_break_loop: return "break;";
    case Op::tirx_continue_loop: return "continue;";
    case Op::tirx_thread_return: return failure(p, "0");
    case Op::tirx_ret: return failure(p, p.str(c->args[0]));
    case Op::tirx_tvm_throw_last_error: return "return fail(\"RuntimeError\", \"out of memory\");";
    case Op::kFunction: {
      auto& callees = static_cast<CPrinter&>(p).callees.by_name;
      auto it = callees.find(c->name);
      if (it != callees.end() && it->second.has_status) return "if (" + p.str(e.value) + " != 0) return -1;";
      return p.str(e.value) + ";";
    }
    case Op::tirx_call_extern:
    case Op::tirx_call_pure_extern: {
      std::string text = p.str(e.value);
      return (c->dtype.is_void() || c->dtype.is_handle() ? "" : "(void)") + text + ";";
    }
    default: return op_info(c->op).effect >= Effect::kUpdate && c->op != Op::tirx_tvm_access_ptr ? p.str(e.value) + ";" : "";
  }
}

Text struct_field(CFamily& p, const Call& c) {
  std::string index = p.str(c.args[1]), base = p.str(c.args[0], Prec::kUnary);
  std::string tensor = "((DLTensor*)" + base + ")[" + index + "]", any = "((TVMFFIAny*)" + base + ")[" + index + "]";
  auto number = [&](const std::string& text) -> Text {
    if (c.dtype.is_bool()) return {text + " != 0", Prec::kEqual};
    return {"(" + p.type(c.dtype) + ")" + text, Prec::kUnary};
  };
  switch (c.args[2]->as<IntImm>()->value) {  // TVM's TVMStructFieldKind
    case 0: return {"&" + tensor, Prec::kUnary};
    case 1: return {tensor + ".data"};
    case 2: return {tensor + ".shape"};
    case 3: return {tensor + ".strides"};
    case 4: return {tensor + ".ndim"};
    case 5: return {tensor + ".dtype.code"};
    case 6: return {tensor + ".dtype.bits"};
    case 7: return {tensor + ".dtype.lanes"};
    case 8: return {tensor + ".byte_offset"};
    case 9: return {tensor + ".device.device_id"};
    case 10: return {tensor + ".device.device_type"};
    case 13: return {any + ".type_index"};
    case 14: return {any + ".zero_padding"};
    case 15:
      if (c.dtype.is_handle()) return {any + ".v_ptr"};
      if (c.dtype == kInt64) return {any + ".v_int64"};
      if (c.dtype == kFloat64) return {any + ".v_float64"};
      return number(any + (c.dtype.is_floating() ? ".v_float64" : ".v_int64"));
    default: return {"((int64_t*)" + base + ")[" + index + "]"};  // 17
  }
}

// Element type of a pointer argument T.type_annotation(dtype).
std::string annotated(CFamily& p, const Expr* e) { return p.type(e->dtype.element()); }

Text call(CFamily& p, const Call& c) {
  auto cast_to_result = [&]() { return std::string("(") + (c.pointer ? p.type(c.pointer->element.element()) + "*" : "void*") + ")"; };
  switch (c.op) {
    case Op::tirx_call_extern:
    case Op::tirx_call_pure_extern: {
      std::string_view name = c.args[0]->as<StringImm>()->value;
      return {std::string(name) + "(" + (name == "printf" ? p.typed_args(c.args, 1) : p.args(c.args, 1)) + ")"};
    }
    case Op::kFunction: {
      auto& callees = static_cast<CPrinter&>(p).callees.by_name;
      auto it = callees.find(c.name);
      return {(it == callees.end() ? std::string("undefined") : it->second.symbol) + "(" + p.args(c.args) + ")"};
    }
    case Op::tirx_address_of:
    case Op::tl_access_ptr: {
      auto* l = c.args[0]->as<Load>();
      auto* at = l->indices[0]->as<IntImm>();
      auto known = p.pointees.find(l->buffer->data);
      bool plain = known != p.pointees.end() && known->second == l->buffer->dtype.element();
      if (at && at->value == 0 && plain) return {p.names.of(l->buffer->data)};
      return {"&" + p.element(l->buffer, l->indices[0]), Prec::kUnary};
    }
    case Op::tirx_tvm_access_ptr:
      return {"(" + annotated(p, c.args[0]) + "*)" + p.str(c.args[1], Prec::kUnary) + " + " + p.str(c.args[2], Prec::kMul), Prec::kAdd};
    case Op::tirx_handle_add_byte_offset: {
      auto* offset = c.args[1]->as<IntImm>();
      if (offset && offset->value == 0) return p.expr(c.args[0]);
      return {"(char*)" + p.str(c.args[0], Prec::kUnary) + " + " + p.str(c.args[1], Prec::kMul), Prec::kAdd};
    }
    case Op::tirx_reinterpret: {
      std::string type = c.dtype.is_handle() ? cast_to_result() : "(" + p.type(c.dtype) + ")(uintptr_t)";
      if (c.dtype.is_handle() && c.args[0]->dtype.is_integer()) type += "(uintptr_t)";
      return {type + p.str(c.args[0], Prec::kUnary), Prec::kUnary};
    }
    case Op::tirx_isnullptr: return {"!" + p.str(c.args[0], Prec::kUnary), Prec::kUnary};
    case Op::tirx_tvm_struct_get: return struct_field(p, c);
    case Op::tirx_TVMBackendAllocWorkspace: return {"new_workspace(" + p.str(c.args[2]) + ")"};
    case Op::tirx_TVMBackendFreeWorkspace: return {"free_workspace(" + p.str(c.args[2]) + ")"};
    default: return {"0"};  // an effect that is nothing here, as a value
  }
}

}  // namespace

std::string float_literal(DataType t, double value) {
  if (t.bits <= 16) return emit::hex(encode_float_literal(t, value), t.bits / 4);
  if (std::isnan(value)) return "NAN";
  if (t.bits == 64) return std::isinf(value) ? (value < 0 ? "-INFINITY" : "INFINITY") : emit::decimal(value);
  auto narrow = static_cast<float>(value);
  return std::isinf(narrow) ? (value < 0 ? "-INFINITY" : "INFINITY") : emit::decimal(narrow) + "f";
}

bool can_fail(const Stmt* body, const Callees& callees) {
  bool found = false;
  visit(
      body,
      [&](const Stmt* s) {
        found |= s->kind == StmtKind::kAssert;
        if (auto* a = s->as<AllocBuffer>()) found |= !on_stack(a->buffer);
        auto* e = s->as<Evaluate>();
        auto* c = e ? e->value->as<Call>() : nullptr;
        if (!c) return;
        found |= c->op == Op::tirx_tvm_throw_last_error;
        if (c->op != Op::kFunction) return;
        auto it = callees.by_name.find(c->name);
        found |= it != callees.by_name.end() && it->second.has_status;
      },
      [](const Expr*) {});
  return found;
}

const emit::Dialect dialect = {type_name, float_literal, call, alloc, assertion, before_loop, attr, evaluate};

}  // namespace kiln::host_c
