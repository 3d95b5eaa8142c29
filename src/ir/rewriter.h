// Base of passes: rebuilds a function bottom-up, sharing what does not change. Override what the pass is about.
#pragma once

#include <unordered_map>

#include "ir/builder.h"

namespace kiln::ir {

class Rewriter {
 public:
  explicit Rewriter(Arena& arena) : build(arena) {}
  virtual ~Rewriter() = default;

  // Each returns its argument when nothing below it changed.
  virtual const Expr* expr(const Expr* e);
  virtual const Stmt* stmt(const Stmt* s);

 protected:
  // Rewrite the children and rebuild the node if one changed; what an override calls for the nodes it does not treat.
  const Expr* expr_children(const Expr* e);
  const Stmt* stmt_children(const Stmt* s);
  List<const Expr*> exprs(List<const Expr*> list);

  Builder build;
};

// Calls `f` on every expression below `e` (e included), parents first. A shared node is visited once for each use.
template <class F>
void visit(const Expr* e, F&& f);
// Calls `on_stmt` on every statement below `s` and `on_expr` on the roots of their expressions.
template <class S, class E>
void visit(const Stmt* s, S&& on_stmt, E&& on_expr);

}  // namespace kiln::ir

#include "ir/visit.inl.h"
