#include "check/operators.h"

#include <set>

#include "intrinsics/arguments.h"

namespace kiln::check {

using namespace ir;
using intrinsics::addressed_element;

namespace {

void callee(Report& report, const Call* c) {
  std::string name = "function '" + std::string(c->name) + "'";
  for (const Function* f : report.module.functions) {
    if (f->name != c->name) continue;
    if (f->params.size() != c->args.size()) {
      return report.fault(c->span,
                          name + " takes " + std::to_string(f->params.size()) + " arguments, got " + std::to_string(c->args.size()));
    }
    for (size_t i = 0; i < c->args.size(); ++i) {
      DataType expected = f->params[i]->dtype, given = c->args[i]->dtype;
      if (expected == given) continue;
      return report.fault(c->span, "argument " + std::to_string(i) + " of " + name + " is of dtype '" + to_string(expected) + "', got '" +
                                       to_string(given) + "'");
    }
    return;
  }
  report.fault(c->span, "the module has no " + name);
}

void reinterpret(Report& report, const Call* c) {
  DataType to = c->dtype, from = c->args[0]->dtype;
  if (to.is_handle() || from.is_handle() || to.bits * to.lanes == from.bits * from.lanes) return;
  report.fault(c->span, "reinterpret from " + to_string(from) + " to " + to_string(to) + " changes the number of bits");
}

// So many arguments, all of them values.
bool has_values(const Call* c, size_t count) {
  bool fits = c->args.size() == count;
  for (const Expr* a : c->args) fits &= !a->dtype.is_handle() && !a->dtype.is_void();
  return fits;
}

// Whether the arguments fit the operator; nothing for one that is not looked at here.
std::optional<bool> fits(const Call* c) {
  switch (c->op) {
    case Op::tirx_address_of:
    case Op::tl_access_ptr: return addressed_element(c) != nullptr;
    case Op::tl___ldg: return !c->args.empty() && (addressed_element(c->args[0]) || c->args[0]->as<Load>());
    case Op::tirx_popcount:
    case Op::tirx_clz:
    case Op::tirx_ctpop: return !c->args.empty() && c->args[0]->dtype.is_integer();
    case Op::tirx_isnan:
    case Op::tirx_isinf:
    case Op::tirx_isfinite: return c->args.size() == 1;
    case Op::tl_abs2: return has_values(c, 1);
    case Op::tl_add2:
    case Op::tl_sub2:
    case Op::tl_mul2:
    case Op::tl_max2:
    case Op::tl_min2: return has_values(c, 2);
    case Op::tl_fma2:
    case Op::tl_clamp: return has_values(c, 3);
    case Op::tl_device_assert:
    case Op::tl_device_assert_with_msg: return !c->args.empty() && !c->args[0]->dtype.is_handle();
    case Op::tirx_vectorlow:
    case Op::tirx_vectorhigh: return c->args.size() == 1 && c->args[0]->dtype.lanes == 2 * c->dtype.lanes;
    case Op::tirx_vectorcombine: return c->args.size() == 2 && c->args[0]->dtype.lanes + c->args[1]->dtype.lanes == c->dtype.lanes;
    case Op::kFunction:         // by callee()
    case Op::tirx_reinterpret:  // by reinterpret()
    case Op::tl_loop_break:
    case Op::tirx_break_loop:
    case Op::tirx_continue_loop:
    case Op::tirx_thread_return:
    case Op::tirx_ret:
    case Op::tirx_if_then_else:
    case Op::tirx_likely:
    case Op::tirx_isnullptr:
    case Op::tirx_handle_add_byte_offset:
    case Op::tirx_assume:
    case Op::tl_infinity:
    case Op::tl_sync_warp: return true;
    default: return std::nullopt;
  }
}

}  // namespace

bool common_operator(Report& report, const Call* c) {
  std::optional<bool> good = fits(c);
  if (!good) return false;
  if (!enough_arguments(report, c)) return true;
  if (c->op == Op::kFunction) callee(report, c);
  if (c->op == Op::tirx_reinterpret) reinterpret(report, c);
  if (!*good) report.unsupported(c);
  return true;
}

void loop_exits(Report& report, const Function* f) {
  std::set<const Stmt*> inside;
  auto each = [&](const Stmt* s) {
    auto* loop = s->as<For>();
    auto* endless = s->as<While>();
    const Stmt* body = loop && loop->for_kind != ForKind::kThreadBinding ? loop->body : endless ? endless->body : nullptr;
    if (body && !inside.contains(body))
      visit(
          body, [&](const Stmt* t) { inside.insert(t); }, [](const Expr*) {});
    auto* e = s->as<Evaluate>();
    auto* c = e ? e->value->as<Call>() : nullptr;
    bool leaves = c && (c->op == Op::tl_loop_break || c->op == Op::tirx_break_loop || c->op == Op::tirx_continue_loop);
    leaves |= s->kind == StmtKind::kBreak || s->kind == StmtKind::kContinue;
    if (!leaves || inside.contains(s)) return;
    std::string name = c ? std::string(c->name) : s->kind == StmtKind::kBreak ? "break" : "continue";
    report.fault(s->span, "'" + name + "' is outside a loop");
  };
  report.walk(f, each, [](const Expr*) {});
}

void math(Report& report, const Call* c, const emit::MathFunction& f, size_t first) {
  if (c->args.size() != first + static_cast<size_t>(f.args)) {
    return report.fault(c->span, "'" + std::string(c->name) + "' takes " + std::to_string(f.args) + " arguments, got " +
                                     std::to_string(c->args.size() - std::min(first, c->args.size())));
  }
  DataType t = c->args[first]->dtype;
  for (size_t i = first; i < c->args.size(); ++i) {
    if (c->args[i]->dtype.is_handle()) return report.unsupported(c);
  }
  if (!t.is_floating() && !(takes_integers(f) && t.is_integer())) report.unsupported(c);
  if (f.name == "nextafter" && t.bits < 32) report.unsupported(c);  // the next float32 is not the next float16
}

bool enough_arguments(Report& report, const Call* c) {
  int least = op_info(c->op).args;
  if (c->op == Op::kFunction || c->op == Op::kUnknown || least < 0 || c->args.size() >= static_cast<size_t>(least)) return true;
  report.fault(c->span,
               "'" + std::string(c->name) + "' takes " + std::to_string(least) + " arguments, got " + std::to_string(c->args.size()));
  return false;
}

}  // namespace kiln::check
