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

template <class S, class E>
void visit(const Stmt* s, S&& on_stmt, E&& on_expr) {
  auto each = [&](const Stmt* child) { visit(child, on_stmt, on_expr); };
  auto expr = [&](const Expr* e) {
    if (e) on_expr(e);
  };
  on_stmt(s);
  switch (s->kind) {
    case StmtKind::kSeq:
      for (const Stmt* child : s->as<Seq>()->stmts) each(child);
      return;
    case StmtKind::kFor: {
      auto* f = s->as<For>();
      expr(f->min), expr(f->extent), expr(f->step), each(f->body);
      return;
    }
    case StmtKind::kWhile:
      expr(s->as<While>()->condition);
      each(s->as<While>()->body);
      return;
    case StmtKind::kIf: {
      auto* i = s->as<If>();
      expr(i->condition), each(i->then_case);
      if (i->else_case) each(i->else_case);
      return;
    }
    case StmtKind::kBind: expr(s->as<Bind>()->value); return;
    case StmtKind::kAllocBuffer:
      for (const Expr* e : s->as<AllocBuffer>()->buffer->shape) expr(e);
      return;
    case StmtKind::kDeclBuffer: return;  // its shape is a claim, not code
    case StmtKind::kStore: {
      auto* st = s->as<Store>();
      for (const Expr* e : st->indices) expr(e);
      expr(st->value), expr(st->predicate);
      return;
    }
    case StmtKind::kEvaluate: expr(s->as<Evaluate>()->value); return;
    case StmtKind::kAttr:
      expr(s->as<Attr>()->value);
      each(s->as<Attr>()->body);
      return;
    case StmtKind::kThreadExtent:
      expr(s->as<ThreadExtent>()->extent);
      each(s->as<ThreadExtent>()->body);
      return;
    case StmtKind::kAssert: expr(s->as<Assert>()->condition); return;
    case StmtKind::kReturn: expr(s->as<Return>()->value); return;
    case StmtKind::kBreak:
    case StmtKind::kContinue: return;
  }
}

}  // namespace kiln::ir
