#include "backends/c/check.h"

#include <optional>

#include "emit/functions.h"
#include "emit/names.h"
#include "host_c/intrinsics.h"
#include "ir/rewriter.h"

namespace kiln::c {

using namespace host_c;

namespace {

using namespace ir;

class Checker {
 public:
  explicit Checker(const Module& module) : module_(module), has_source_(!emit::imported_source(module).empty()) {}

  std::optional<Error> run() {
    for (const Function* f : module_.functions) {
      function_ = f;
      for (const Var* p : f->params) type(p->dtype, p->span, "parameter '" + std::string(p->name) + "'");
      visit(
          f->body, [&](const Stmt* s) { stmt(s); }, [&](const Expr* e) { visit(e, [&](const Expr* x) { expr(x); }); });
      if (error_) return error_;
    }
    return error_;
  }

 private:
  void fault(SpanId span, std::string message, std::string hint = "") {
    if (error_) return;
    std::string place = module_.place(span ? span : stmt_span_);
    if (place.empty()) place = std::string(function_->name);
    error_ = Error{Code::kUnsupported, std::move(message), std::move(place), std::move(hint)};
  }

  void type(DataType t, SpanId span, const std::string& where) {
    if (has_type(t.element())) return;
    std::string what = t.is_integer() ? std::to_string(t.bits) + "-bit integers" : "values of " + std::to_string(t.bits) + " bits";
    fault(span, "codegen 'c' has no type for dtype '" + to_string(t) + "' of " + where,
          "C has no " + what + "; cast to int8 or float8 or wider");
  }

  void stmt(const Stmt* s) {
    if (s->span) stmt_span_ = s->span;
    if (auto* a = s->as<AllocBuffer>()) {
      type(a->buffer->dtype, s->span, "buffer '" + std::string(a->buffer->name) + "'");
    } else if (auto* st = s->as<Store>()) {
      type(st->buffer->dtype, s->span, "buffer '" + std::string(st->buffer->name) + "'");
    } else if (auto* t = s->as<ThreadExtent>()) {
      thread(t->tag, t->extent, s->span);
    } else if (auto* f = s->as<For>(); f && f->for_kind == ForKind::kThreadBinding) {
      thread(f->thread_tag, f->extent, s->span);
    }
  }

  void thread(std::string_view tag, const Expr* extent, SpanId span) {
    if (extent->as<IntImm>() && extent->as<IntImm>()->value == 1) return;
    fault(span, "codegen 'c' has no thread blocks: '" + std::string(tag) + "' has an extent that is not 1",
          "use a GPU target for this kernel");
  }

  void expr(const Expr* e) {
    if (error_) return;
    std::string_view what = e->kind == ExprKind::kCast ? "a cast" : "an expression";
    auto* c = e->as<Call>();
    type(e->dtype, e->span, c ? "operator '" + std::string(c->name) + "'" : std::string(what));
    if (auto* l = e->as<Load>()) type(l->buffer->dtype, e->span, "buffer '" + std::string(l->buffer->name) + "'");
    if (c) call(c);
  }

  void unsupported(const Call* c) {
    std::string on;
    for (const Expr* a : c->args) {
      if (a->kind != ExprKind::kStringImm) {
        on = " on " + to_string(a->dtype);
        break;
      }
    }
    fault(c->span, "codegen 'c' has no operator '" + std::string(c->name) + "'" + on);
  }

  static bool is_address(const Expr* e) {
    auto* c = e->as<Call>();
    return c && (c->op == Op::tirx_address_of || c->op == Op::tl_access_ptr) && !c->args.empty() && c->args[0]->as<Load>();
  }

  void math(const Call* c, const MathFunction& f, size_t first) {
    if (c->args.size() != first + static_cast<size_t>(f.args)) {
      return fault(c->span, "'" + std::string(c->name) + "' takes " + std::to_string(f.args) + " arguments, got " +
                                std::to_string(c->args.size() - first));
    }
    DataType t = c->args[first]->dtype;
    static constexpr std::string_view on_integers[] = {"fabs", "floor", "ceil", "trunc", "round", "nearbyint"};
    bool integer = false;
    for (std::string_view name : on_integers) integer |= name == f.name;
    if (!t.is_floating() && !(integer && t.is_integer())) unsupported(c);
    if (f.name == "nextafter" && t.bits < 32) unsupported(c);  // the next float32 is not the next float16
  }

  void external(const Call* c) {
    auto* name = c->args.empty() ? nullptr : c->args[0]->as<StringImm>();
    if (!name) return fault(c->span, "'" + std::string(c->name) + "' has no function name");
    std::string text(name->value);
    for (size_t i = 1; i < c->args.size(); ++i) type(c->args[i]->dtype, c->span, "argument of '" + text + "'");
    if (auto* f = math_function(name->value)) return math(c, *f, 1);
    if (text == "abs" && c->args.size() == 2 && c->args[1]->dtype.is_integer()) return;
    if (text == "printf" && c->args.size() >= 2 && c->args[1]->as<StringImm>() && !c->dtype.is_vector()) return;
    bool prints = text == "debug_print_var" || text == "debug_print_buffer_value";
    if (prints && c->args.size() >= 3 && c->args[1]->as<StringImm>() && c->args.back()->dtype.lanes == 1 &&
        !c->args.back()->dtype.is_handle())
      return;
    if (!emit::is_identifier(text)) return fault(c->span, "external function '" + text + "' is not a C identifier");
    if (!has_source_) {
      fault(c->span, "external function '" + text + "' is not in the C library and the module brings no C source",
            "bring its definition with T.import_source");
    }
    if (c->dtype.is_vector()) fault(c->span, "external function '" + text + "' returns a vector, which C has not");
  }

  void atomic(const Call* c, size_t args) {
    if (c->args.size() < args || !is_address(c->args[0])) return unsupported(c);
    if (args > 1 && c->args[1]->dtype.is_vector()) unsupported(c);
    if (args > 1 && c->args[1]->dtype.is_handle()) unsupported(c);
  }

  void rounding(const Call* c) {
    auto* mode = c->args.back()->as<StringImm>();
    if (!mode || mode->value != "rn") {
      fault(c->span,
            "codegen 'c' rounds to nearest only: '" + std::string(c->name) + "' asks for '" + std::string(mode ? mode->value : "?") + "'");
    }
  }

  void call(const Call* c) {
    if (auto* f = math_function(c->op)) return math(c, *f, 0);
    int known = op_info(c->op).args;
    if (c->op != Op::kFunction && c->op != Op::kUnknown && known >= 0 && c->args.size() < static_cast<size_t>(known)) {
      bool atomic = c->name.find("atomic") != std::string_view::npos;  // the memory order may be left out
      if (!atomic)
        return fault(c->span,
                     "'" + std::string(c->name) + "' takes " + std::to_string(known) + " arguments, got " + std::to_string(c->args.size()));
    }
    switch (c->op) {
      case Op::kFunction: return callee(c);
      case Op::tirx_call_extern:
      case Op::tirx_call_pure_extern: return external(c);
      case Op::tl_ieee_add:
      case Op::tl_ieee_sub:
      case Op::tl_ieee_mul:
      case Op::tl_ieee_fdiv:
      case Op::tl_ieee_fmaf:
      case Op::tl_ieee_frcp:
      case Op::tl_ieee_fsqrt: return rounding(c);
      case Op::tl_atomic_add_elem_op:
      case Op::tl_atomic_add_ret_elem_op:
      case Op::tl_atomic_max_elem_op:
      case Op::tl_atomic_max_ret_elem_op:
      case Op::tl_atomic_min_elem_op:
      case Op::tl_atomic_min_ret_elem_op:
      case Op::tl_atomic_or_elem_op:
      case Op::tl_atomic_store_elem_op:
      case Op::tirx_atomic_add: return atomic(c, 2);
      case Op::tl_atomic_load_elem_op: return atomic(c, 1);
      case Op::tirx_reinterpret: {
        bool same = c->dtype.is_handle() || c->args[0]->dtype.is_handle() ||
                    c->dtype.bits * c->dtype.lanes == c->args[0]->dtype.bits * c->args[0]->dtype.lanes;
        if (!same)
          fault(c->span, "reinterpret from " + to_string(c->args[0]->dtype) + " to " + to_string(c->dtype) + " changes the number of bits");
        return;
      }
      case Op::tirx_address_of:
      case Op::tl_access_ptr:
        if (!is_address(c)) unsupported(c);
        return;
      case Op::tl___ldg:
        if (!is_address(c->args[0]) && !c->args[0]->as<Load>()) unsupported(c);
        return;
      case Op::tirx_tvm_struct_get: {
        auto* field = c->args[2]->as<IntImm>();
        bool known_field =
            field && field->value >= 0 && field->value <= 17 && field->value != 11 && field->value != 12 && field->value != 16;
        if (!known_field) unsupported(c);
        return;
      }
      case Op::tirx_popcount:
      case Op::tirx_clz:
      case Op::tirx_ctpop:
        if (c->args.empty() || !c->args[0]->dtype.is_integer()) unsupported(c);
        return;
      case Op::tirx_isnan:
      case Op::tirx_isinf:
      case Op::tirx_isfinite:
        if (c->args.size() != 1) unsupported(c);
        return;
      case Op::tirx_tvm_throw_last_error:
      case Op::tirx_tvm_storage_sync:
      case Op::tl_loop_break:
      case Op::tirx_break_loop:
      case Op::tirx_continue_loop:
      case Op::tirx_thread_return:
      case Op::tirx_ret:
      case Op::tl_device_assert:
      case Op::tl_device_assert_with_msg:
      case Op::tirx_TVMBackendFreeWorkspace:
      case Op::tirx_TVMBackendAllocWorkspace:
      case Op::tirx_if_then_else:
      case Op::tirx_likely:
      case Op::tirx_isnullptr:
      case Op::tirx_handle_add_byte_offset:
      case Op::tirx_tvm_access_ptr:
      case Op::tirx_type_annotation:
      case Op::tirx_assume:
      case Op::tirx_vectorlow:
      case Op::tirx_vectorhigh:
      case Op::tirx_vectorcombine:
      case Op::tl_add2:
      case Op::tl_sub2:
      case Op::tl_mul2:
      case Op::tl_max2:
      case Op::tl_min2:
      case Op::tl_fma2:
      case Op::tl_abs2:
      case Op::tl_clamp:
      case Op::tl_infinity:
      case Op::tl_sync_warp: return;
      default: return unsupported(c);
    }
  }

  void callee(const Call* c) {
    for (const Function* f : module_.functions) {
      if (f->name != c->name) continue;
      if (f->params.size() != c->args.size()) {
        fault(c->span, "function '" + std::string(c->name) + "' takes " + std::to_string(f->params.size()) + " arguments, got " +
                           std::to_string(c->args.size()));
      }
      return;
    }
    fault(c->span, "the module has no function '" + std::string(c->name) + "'");
  }

  const Module& module_;
  bool has_source_;
  const Function* function_ = nullptr;
  SpanId stmt_span_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Status check(const Module& module) {
  Checker checker(module);
  if (std::optional<Error> e = checker.run()) return *e;
  return Ok{};
}

}  // namespace kiln::c
