#include "legalise/legalise.h"
#include "legalise/rewrite.h"

namespace kiln::legalise {
namespace {

using namespace ir;

class Flattener : public Rewriter {
 public:
  using Rewriter::Rewriter;

  const Expr* expr(const Expr* e) override {
    e = expr_children(e);
    auto* load = e->as<Load>();
    if (!load || load->indices.size() == 1) return e;
    Load n = *load;
    n.indices = one(build, flat(load->buffer, load->indices));
    return build.add(n);
  }
  const Stmt* stmt(const Stmt* s) override {
    s = stmt_children(s);
    auto* store = s->as<Store>();
    if (!store || store->indices.size() == 1) return s;
    Store n = *store;
    n.indices = one(build, flat(store->buffer, store->indices));
    return build.add(n);
  }

 private:
  // Row-major when the buffer has no strides: ((i0 * n1 + i1) * n2 + i2) ...
  const Expr* flat(const Buffer* b, List<const Expr*> indices) {
    if (indices.empty()) return build.int_imm(kInt32, 0);
    const Expr* at = nullptr;
    for (size_t i = 0; i < indices.size(); ++i) {
      if (!b->strides.empty()) {
        const Expr* term = times(indices[i], b->strides[i]);
        at = at ? plus(at, term) : term;
      } else {
        at = at ? plus(times(at, b->shape[i]), indices[i]) : indices[i];
      }
    }
    return b->elem_offset ? plus(at, b->elem_offset) : at;
  }
  const Expr* plus(const Expr* a, const Expr* b) {
    if (is_int(b, 0)) return a;
    unify(a, b);
    return build.binary(ExprKind::kAdd, a, b);
  }
  const Expr* times(const Expr* a, const Expr* b) {
    if (is_int(b, 1)) return a;
    unify(a, b);
    return build.binary(ExprKind::kMul, a, b);
  }
  // The wider integer type and the larger number of lanes for both.
  void unify(const Expr*& a, const Expr*& b) {
    DataType wide = a->dtype.bits >= b->dtype.bits ? a->dtype.element() : b->dtype.element();
    uint16_t lanes = std::max(a->dtype.lanes, b->dtype.lanes);
    for (const Expr** e : {&a, &b}) {
      if ((*e)->dtype.element() != wide) *e = build.cast(wide.with_lanes((*e)->dtype.lanes), *e);
      if ((*e)->dtype.lanes != lanes) *e = build.broadcast(*e, lanes);
    }
  }
  static bool is_int(const Expr* e, int64_t v) { return e->as<IntImm>() && e->as<IntImm>()->value == v; }
};

}  // namespace

const Function* flatten_indices(Arena& arena, const Function* f) {
  Flattener pass(arena);
  return rewrite_body(arena, f, pass);
}

}  // namespace kiln::legalise
