#include "backends/c/check.h"

#include "check/operators.h"
#include "emit/functions.h"
#include "emit/names.h"
#include "host_c/intrinsics.h"
#include "intrinsics/arguments.h"

namespace kiln::c {

using namespace host_c;

namespace {

using namespace ir;

class Checker {
 public:
  explicit Checker(const Module& module) : report_(module, "c"), has_source_(!emit::imported_source(module).empty()) {}

  Status run() {
    for (const Function* f : report_.module.functions) {
      report_.in(f);
      for (const Var* p : f->params) type(p->dtype, p->span, "parameter '" + std::string(p->name) + "'");
      kiln::check::loop_exits(report_, f);
      report_.walk(
          f, [&](const Stmt* s) { stmt(s); }, [&](const Expr* e) { expr(e); });
    }
    return report_.status();
  }

 private:
  void type(DataType t, SpanId span, const std::string& where) {
    if (has_type(t.element())) return;
    std::string what = t.is_integer() ? std::to_string(t.bits) + "-bit integers" : "values of " + std::to_string(t.bits) + " bits";
    report_.fault(span, "codegen 'c' has no type for dtype '" + to_string(t) + "' of " + where,
                  "C has no " + what + "; cast to int8 or float8 or wider");
  }

  void stmt(const Stmt* s) {
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
    report_.fault(span, "codegen 'c' has no thread blocks: '" + std::string(tag) + "' has an extent that is not 1",
                  "use a GPU target for this kernel");
  }

  void expr(const Expr* e) {
    std::string_view what = e->kind == ExprKind::kCast ? "a cast" : "an expression";
    auto* c = e->as<Call>();
    type(e->dtype, e->span, c ? "operator '" + std::string(c->name) + "'" : std::string(what));
    if (auto* l = e->as<Load>()) type(l->buffer->dtype, e->span, "buffer '" + std::string(l->buffer->name) + "'");
    if (c) call(c);
  }

  void external(const Call* c) {
    auto* name = c->args.empty() ? nullptr : c->args[0]->as<StringImm>();
    if (!name) return report_.fault(c->span, "'" + std::string(c->name) + "' has no function name");
    std::string text(name->value);
    for (size_t i = 1; i < c->args.size(); ++i) type(c->args[i]->dtype, c->span, "argument of '" + text + "'");
    if (auto* f = math_function(name->value)) return kiln::check::math(report_, c, *f, 1);
    if (text == "abs" && c->args.size() == 2 && c->args[1]->dtype.is_integer()) return;
    if (text == "printf" && c->args.size() >= 2 && c->args[1]->as<StringImm>() && !c->dtype.is_vector()) return;
    bool prints = text == "debug_print_var" || text == "debug_print_buffer_value";
    if (prints && c->args.size() >= 3 && c->args[1]->as<StringImm>() && c->args.back()->dtype.lanes == 1 &&
        !c->args.back()->dtype.is_handle())
      return;
    if (!emit::is_identifier(text)) return report_.fault(c->span, "external function '" + text + "' is not a C identifier");
    if (!has_source_) {
      report_.fault(c->span, "external function '" + text + "' is not in the C library and the module brings no C source",
                    "bring its definition with T.import_source");
    }
    if (c->dtype.is_vector()) report_.fault(c->span, "external function '" + text + "' returns a vector, which C has not");
  }

  void atomic(const Call* c, size_t args) {
    if (c->args.size() < args || !intrinsics::addressed_element(c->args[0])) return report_.unsupported(c);
    if (args > 1 && c->args[1]->dtype.is_vector()) report_.unsupported(c);
    if (args > 1 && c->args[1]->dtype.is_handle()) report_.unsupported(c);
  }

  void rounding(const Call* c) {
    auto* mode = c->args.back()->as<StringImm>();
    if (!mode || mode->value != "rn") {
      report_.fault(c->span, "codegen 'c' rounds to nearest only: '" + std::string(c->name) + "' asks for '" +
                                 std::string(mode ? mode->value : "?") + "'");
    }
  }

  void call(const Call* c) {
    if (auto* f = math_function(c->op)) return kiln::check::math(report_, c, *f, 0);
    if (kiln::check::common_operator(report_, c)) return;
    bool order_left_out = c->name.find("atomic") != std::string_view::npos;
    if (!order_left_out && !kiln::check::enough_arguments(report_, c)) return;
    switch (c->op) {
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
      case Op::tirx_tvm_struct_get: {
        auto* field = c->args[2]->as<IntImm>();
        bool known = field && field->value >= 0 && field->value <= 17 && field->value != 11 && field->value != 12 && field->value != 16;
        if (!known) report_.unsupported(c);
        return;
      }
      case Op::tirx_tvm_throw_last_error:
      case Op::tirx_tvm_storage_sync:
      case Op::tirx_TVMBackendFreeWorkspace:
      case Op::tirx_TVMBackendAllocWorkspace:
      case Op::tirx_tvm_access_ptr:
      case Op::tirx_type_annotation: return;
      default: return report_.unsupported(c);
    }
  }

  kiln::check::Report report_;
  const bool has_source_;
};

}  // namespace

Status check(const Module& module) { return Checker(module).run(); }

}  // namespace kiln::c
