#include "legalise/legalise.h"
#include "legalise/rewrite.h"

namespace kiln::legalise {
namespace {

using namespace ir;

bool narrow(DataType t) { return t.is_integer() && t.bits < 32; }

class Widener : public Rewriter {
 public:
  using Rewriter::Rewriter;

  const Expr* expr(const Expr* e) override {
    e = expr_children(e);
    if (auto* b = e->as<Binary>(); b && narrow(b->a->dtype)) {
      const Expr* wide = build.binary(b->kind, widen(b->a), widen(b->b), b->span);
      return wide->dtype.is_bool() ? wide : build.cast(b->dtype, wide, b->span);
    }
    if (auto* u = e->as<Unary>(); u && u->kind == ExprKind::kBitNot && narrow(u->dtype)) {
      return build.cast(u->dtype, build.unary(u->kind, widen(u->a), u->span), u->span);
    }
    return e;
  }

 private:
  const Expr* widen(const Expr* e) {
    DataType wide = kInt32.with_lanes(e->dtype.lanes);
    if (auto* i = e->as<IntImm>()) return build.int_imm(wide, i->value, i->span);
    return build.cast(wide, e, e->span);
  }
};

}  // namespace

const Function* widen_integers(Arena& arena, const Function* f, const Features& features) {
  if (features.narrow_int_arithmetic) return f;
  Widener pass(arena);
  return rewrite_body(arena, f, pass);
}

}  // namespace kiln::legalise
