#include <map>

#include "legalise/legalise.h"
#include "legalise/rewrite.h"

namespace kiln::legalise {
namespace {

using namespace ir;

class Inliner : public Rewriter {
 public:
  using Rewriter::Rewriter;

  const Expr* expr(const Expr* e) override {
    auto* v = e->as<Var>();
    auto known = v ? literals_.find(v) : literals_.end();
    return known == literals_.end() ? expr_children(e) : known->second;
  }

  const Stmt* stmt(const Stmt* s) override {
    auto* b = s->as<Bind>();
    auto* literal = b ? b->value->as<FloatImm>() : nullptr;
    if (!literal || literal->dtype != b->var->dtype) return stmt_children(s);
    literals_[b->var] = literal;
    return build.seq({});
  }

 private:
  std::map<const Var*, const FloatImm*> literals_;
};

}  // namespace

const Function* inline_literals(Arena& arena, const Function* f) {
  Inliner pass(arena);
  return rewrite_body(arena, f, pass);
}

}  // namespace kiln::legalise
