// Definitions of the visitors of rewriter.h.
#pragma once

namespace kiln::ir {

// Calls `f` on the direct operands of `e`.
template <class F>
void for_each_operand(const Expr* e, F&& f) {
  switch (e->kind) {
    case ExprKind::kIntImm:
    case ExprKind::kFloatImm:
    case ExprKind::kStringImm:
    case ExprKind::kVar: return;
    case ExprKind::kAdd:
    case ExprKind::kSub:
    case ExprKind::kMul:
    case ExprKind::kDiv:
    case ExprKind::kMod:
    case ExprKind::kFloorDiv:
    case ExprKind::kFloorMod:
    case ExprKind::kMin:
    case ExprKind::kMax:
    case ExprKind::kEQ:
    case ExprKind::kNE:
    case ExprKind::kLT:
    case ExprKind::kLE:
    case ExprKind::kGT:
    case ExprKind::kGE:
    case ExprKind::kAnd:
    case ExprKind::kOr:
    case ExprKind::kBitAnd:
    case ExprKind::kBitOr:
    case ExprKind::kBitXor:
    case ExprKind::kShiftLeft:
    case ExprKind::kShiftRight:
      f(e->as<Binary>()->a);
      f(e->as<Binary>()->b);
      return;
    case ExprKind::kNot:
    case ExprKind::kBitNot: f(e->as<Unary>()->a); return;
    case ExprKind::kCast: f(e->as<Cast>()->value); return;
    case ExprKind::kSelect:
      f(e->as<Select>()->condition);
      f(e->as<Select>()->true_value);
      f(e->as<Select>()->false_value);
      return;
    case ExprKind::kRamp:
      f(e->as<Ramp>()->base);
      f(e->as<Ramp>()->stride);
      return;
    case ExprKind::kBroadcast: f(e->as<Broadcast>()->value); return;
    case ExprKind::kShuffle:
      for (const Expr* v : e->as<Shuffle>()->vectors) f(v);
      for (const Expr* v : e->as<Shuffle>()->indices) f(v);
      return;
    case ExprKind::kLet:
      f(e->as<Let>()->value);
      f(e->as<Let>()->body);
      return;
    case ExprKind::kLoad:
      for (const Expr* v : e->as<Load>()->indices) f(v);
      if (e->as<Load>()->predicate) f(e->as<Load>()->predicate);
      return;
    case ExprKind::kCall:
      for (const Expr* v : e->as<Call>()->args) f(v);
      return;
  }
}

template <class F>
void visit(const Expr* e, F&& f) {
  f(e);
  for_each_operand(e, [&](const Expr* child) { visit(child, f); });
}

// Calls `f` on the roots of the statement's own expressions, not on those of the statements in it.
template <class F>
void for_each_expr(const Stmt* s, F&& f) {
  auto expr = [&](const Expr* e) {
    if (e) f(e);
  };
  switch (s->kind) {
    case StmtKind::kFor: {
      auto* loop = s->as<For>();
      expr(loop->min), expr(loop->extent), expr(loop->step);
      return;
    }
    case StmtKind::kWhile: return expr(s->as<While>()->condition);
    case StmtKind::kIf: return expr(s->as<If>()->condition);
    case StmtKind::kBind: return expr(s->as<Bind>()->value);
    case StmtKind::kAllocBuffer:
      for (const Expr* e : s->as<AllocBuffer>()->buffer->shape) expr(e);
      return;
    case StmtKind::kStore: {
      auto* st = s->as<Store>();
      for (const Expr* e : st->indices) expr(e);
      expr(st->value), expr(st->predicate);
      return;
    }
    case StmtKind::kEvaluate: return expr(s->as<Evaluate>()->value);
    case StmtKind::kAttr: return expr(s->as<Attr>()->value);
    case StmtKind::kThreadExtent: return expr(s->as<ThreadExtent>()->extent);
    case StmtKind::kAssert: return expr(s->as<Assert>()->condition);
    case StmtKind::kReturn: return expr(s->as<Return>()->value);
    case StmtKind::kSeq:
    case StmtKind::kDeclBuffer:  // its shape is a claim, not code
    case StmtKind::kBreak:
    case StmtKind::kContinue: return;
  }
}

// Calls `f` on the statements directly in `s`, in order.
template <class F>
void for_each_stmt(const Stmt* s, F&& f) {
  switch (s->kind) {
    case StmtKind::kSeq:
      for (const Stmt* child : s->as<Seq>()->stmts) f(child);
      return;
    case StmtKind::kFor: return f(s->as<For>()->body);
    case StmtKind::kWhile: return f(s->as<While>()->body);
    case StmtKind::kIf:
      f(s->as<If>()->then_case);
      if (s->as<If>()->else_case) f(s->as<If>()->else_case);
      return;
    case StmtKind::kAttr: return f(s->as<Attr>()->body);
    case StmtKind::kThreadExtent: return f(s->as<ThreadExtent>()->body);
    default: return;
  }
}

template <class S, class E>
void visit(const Stmt* s, S&& on_stmt, E&& on_expr) {
  on_stmt(s);
  for_each_expr(s, on_expr);
  for_each_stmt(s, [&](const Stmt* child) { visit(child, on_stmt, on_expr); });
}

}  // namespace kiln::ir
