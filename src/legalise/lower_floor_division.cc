#include <bit>

#include "legalise/legalise.h"
#include "legalise/rewrite.h"

namespace kiln::legalise {
namespace {

using namespace ir;

class Lowering : public Rewriter {
 public:
  using Rewriter::Rewriter;

  const Expr* expr(const Expr* e) override {
    e = expr_children(e);
    if (e->kind != ExprKind::kFloorDiv && e->kind != ExprKind::kFloorMod) return e;
    auto* b = e->as<Binary>();
    bool division = e->kind == ExprKind::kFloorDiv;
    if (b->dtype.is_floating()) return floating(b, division);
    if (b->dtype.is_uint()) return build.binary(division ? ExprKind::kDiv : ExprKind::kMod, b->a, b->b, b->span);
    auto* by = b->b->as<IntImm>();
    if (!by || by->value <= 0 || !std::has_single_bit(static_cast<uint64_t>(by->value))) return e;
    if (!division) return build.binary(ExprKind::kBitAnd, b->a, build.int_imm(b->dtype, by->value - 1), b->span);
    int bits = std::countr_zero(static_cast<uint64_t>(by->value));
    return bits == 0 ? b->a : build.binary(ExprKind::kShiftRight, b->a, build.int_imm(b->dtype, bits), b->span);
  }

 private:
  const Expr* floating(const Binary* b, bool division) {
    const Expr* q = build.call(b->dtype, Op::tirx_floor, {build.binary(ExprKind::kDiv, b->a, b->b, b->span)}, b->span);
    if (division) return q;
    return build.binary(ExprKind::kSub, b->a, build.binary(ExprKind::kMul, q, b->b, b->span), b->span);
  }
};

}  // namespace

const Function* lower_floor_division(Arena& arena, const Function* f) {
  Lowering pass(arena);
  return rewrite_body(arena, f, pass);
}

}  // namespace kiln::legalise
