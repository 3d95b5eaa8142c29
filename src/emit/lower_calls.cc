#include "emit/lower_calls.h"

namespace kiln::emit {

using namespace ir;

std::string suffix(DataType t) { return (t.is_floating() ? "f" : t.is_uint() ? "u" : "i") + std::to_string(t.bits); }

const Expr* CallLowering::expr(const Expr* e) {
  e = expr_children(e);
  if (auto* b = e->as<Binary>()) return binary(b);
  if (auto* c = e->as<Cast>()) return cast(c->dtype, c->value);
  if (auto* c = e->as<Call>()) return call(c);
  return e;
}

const Expr* CallLowering::named(DataType t, std::string_view name, std::vector<const Expr*> args, SpanId span) {
  args.insert(args.begin(), build.string_imm(name));
  return build.call(t, Op::tirx_call_pure_extern, args, span);
}

const Expr* CallLowering::binary(const Binary* b) {
  DataType t = b->dtype;
  switch (b->kind) {
    case ExprKind::kMin:
    case ExprKind::kMax:
      if (!t.is_bool()) return extremum(b);
      return build.binary(b->kind == ExprKind::kMin ? ExprKind::kAnd : ExprKind::kOr, b->a, b->b, b->span);
    case ExprKind::kFloorDiv: return named(t, "floor_div_" + suffix(t), {b->a, b->b}, b->span);
    case ExprKind::kFloorMod: return named(t, "floor_mod_" + suffix(t), {b->a, b->b}, b->span);
    case ExprKind::kMod: return t.is_floating() ? named(t, t.bits == 64 ? "fmod" : "fmodf", {b->a, b->b}, b->span) : b;
    default: return b;
  }
}

const Expr* CallLowering::to_bool(const Expr* e) {
  if (is_small_float(e->dtype)) e = cast(kFloat32, e);
  const Expr* zero = e->dtype.is_floating() ? static_cast<const Expr*>(build.float_imm(e->dtype, 0)) : build.int_imm(e->dtype, 0);
  return build.binary(ExprKind::kNE, e, zero, e->span);
}

const Expr* CallLowering::math(const Call* c, const MathFunction& f, size_t first) {
  const Expr* x = c->args[first];
  if (x->dtype.is_floating()) {
    return named(c->dtype, spelling_of(f, x->dtype), {c->args.begin() + static_cast<long>(first), c->args.end()}, c->span);
  }
  if (f.name != "fabs" || x->dtype.is_uint()) return x;
  DataType t = x->dtype.bits == 64 ? kInt64 : kInt32;
  return plain_cast(x->dtype, named(t, absolute(t), {x}, c->span));
}

const Expr* CallLowering::printf(const Call* c) {
  Call n = *c;
  std::vector<const Expr*> args;
  for (const Expr* a : c->args) args.push_back(is_small_float(a->dtype) ? cast(kFloat64, a) : a);
  n.args = build.list(args);
  return build.add(n);
}

}  // namespace kiln::emit
