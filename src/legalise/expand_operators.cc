#include <limits>

#include "legalise/legalise.h"
#include "legalise/rewrite.h"

namespace kiln::legalise {
namespace {

using namespace ir;

class Expander : public Rewriter {
 public:
  using Rewriter::Rewriter;

  const Expr* expr(const Expr* e) override {
    e = expr_children(e);
    auto* c = e->as<Call>();
    if (!c) return e;
    auto arg = [&](size_t i) { return c->args[i]; };
    auto both = [&](ExprKind k) { return build.binary(k, arg(0), arg(1), c->span); };
    switch (c->op) {
      case Op::tirx_likely: return arg(0);
      case Op::tl_add2:
      case Op::tl_ieee_add: return both(ExprKind::kAdd);
      case Op::tl_sub2:
      case Op::tl_ieee_sub: return both(ExprKind::kSub);
      case Op::tl_mul2:
      case Op::tl_ieee_mul: return both(ExprKind::kMul);
      case Op::tl_ieee_fdiv: return both(ExprKind::kDiv);
      case Op::tl_max2: return both(ExprKind::kMax);
      case Op::tl_min2: return both(ExprKind::kMin);
      case Op::tl_fma2: return build.call(c->dtype, Op::tirx_fma, {arg(0), arg(1), arg(2)}, c->span);
      case Op::tl_ieee_fmaf: return build.call(c->dtype, Op::tirx_fma, {arg(0), arg(1), arg(2)}, c->span);
      case Op::tl_ieee_fsqrt: return build.call(c->dtype, Op::tirx_sqrt, {arg(0)}, c->span);
      case Op::tl_ieee_frcp: return build.call(c->dtype, Op::tl_fast_rcp, {arg(0)}, c->span);
      case Op::tl_abs2: return build.call(c->dtype, Op::tirx_fabs, {arg(0)}, c->span);
      case Op::tl_clamp: return clamp(c);
      case Op::tl_infinity: return build.float_imm(c->dtype, std::numeric_limits<double>::infinity(), c->span);
      case Op::tl___ldg: return load_of(c);
      default: return e;
    }
  }

 private:
  // As torch.clamp: a NaN among the operands is the result.
  const Expr* clamp(const Call* c) {
    const Expr *x = c->args[0], *low = c->args[1], *high = c->args[2];
    if (!c->dtype.is_floating()) return build.binary(ExprKind::kMin, build.binary(ExprKind::kMax, x, low, c->span), high, c->span);
    return build.call(c->dtype, Op::tl_min_nan, {build.call(c->dtype, Op::tl_max_nan, {x, low}, c->span), high}, c->span);
  }
  // The element behind an address, or behind a load that stands for one.
  const Expr* load_of(const Call* c) {
    auto* address = c->args[0]->as<Call>();
    return address && address->op == Op::tirx_address_of ? address->args[0] : c->args[0];
  }
};

}  // namespace

const Function* expand_operators(Arena& arena, const Function* f) {
  Expander pass(arena);
  return rewrite_body(arena, f, pass);
}

}  // namespace kiln::legalise
