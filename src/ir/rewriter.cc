#include "ir/rewriter.h"

namespace kiln::ir {

List<const Expr*> Rewriter::exprs(List<const Expr*> list) {
  std::vector<const Expr*> out;
  for (size_t i = 0; i < list.size(); ++i) {
    const Expr* e = expr(list[i]);
    if (e != list[i] && out.empty()) out.assign(list.begin(), list.end());
    if (!out.empty()) out[i] = e;
  }
  return out.empty() ? list : build.list(out);
}

const Expr* Rewriter::expr(const Expr* e) { return expr_children(e); }
const Stmt* Rewriter::stmt(const Stmt* s) { return stmt_children(s); }

const Expr* Rewriter::expr_children(const Expr* e) {
  if (auto* b = e->as<Binary>()) {
    Binary n = *b;
    n.a = expr(b->a), n.b = expr(b->b);
    return n.a == b->a && n.b == b->b ? e : build.add(n);
  }
  if (auto* u = e->as<Unary>()) {
    Unary n = *u;
    n.a = expr(u->a);
    return n.a == u->a ? e : build.add(n);
  }
  switch (e->kind) {
    case ExprKind::kCast: {
      Cast n = *e->as<Cast>();
      n.value = expr(n.value);
      return n.value == e->as<Cast>()->value ? e : build.add(n);
    }
    case ExprKind::kSelect: {
      auto* o = e->as<Select>();
      Select n = *o;
      n.condition = expr(o->condition), n.true_value = expr(o->true_value), n.false_value = expr(o->false_value);
      bool same = n.condition == o->condition && n.true_value == o->true_value && n.false_value == o->false_value;
      return same ? e : build.add(n);
    }
    case ExprKind::kRamp: {
      auto* o = e->as<Ramp>();
      Ramp n = *o;
      n.base = expr(o->base), n.stride = expr(o->stride);
      return n.base == o->base && n.stride == o->stride ? e : build.add(n);
    }
    case ExprKind::kBroadcast: {
      Broadcast n = *e->as<Broadcast>();
      n.value = expr(n.value);
      return n.value == e->as<Broadcast>()->value ? e : build.add(n);
    }
    case ExprKind::kShuffle: {
      auto* o = e->as<Shuffle>();
      Shuffle n = *o;
      n.vectors = exprs(o->vectors), n.indices = exprs(o->indices);
      return n.vectors.data() == o->vectors.data() && n.indices.data() == o->indices.data() ? e : build.add(n);
    }
    case ExprKind::kLet: {
      auto* o = e->as<Let>();
      Let n = *o;
      n.value = expr(o->value), n.body = expr(o->body);
      return n.value == o->value && n.body == o->body ? e : build.add(n);
    }
    case ExprKind::kLoad: {
      auto* o = e->as<Load>();
      Load n = *o;
      n.indices = exprs(o->indices);
      if (o->predicate) n.predicate = expr(o->predicate);
      return n.indices.data() == o->indices.data() && n.predicate == o->predicate ? e : build.add(n);
    }
    case ExprKind::kCall: {
      Call n = *e->as<Call>();
      n.args = exprs(n.args);
      return n.args.data() == e->as<Call>()->args.data() ? e : build.add(n);
    }
    case ExprKind::kIntImm:
    case ExprKind::kFloatImm:
    case ExprKind::kStringImm:
    case ExprKind::kVar: return e;
    default: return e;  // binary and unary, treated above
  }
}

const Stmt* Rewriter::stmt_children(const Stmt* s) {
  switch (s->kind) {
    case StmtKind::kSeq: {
      auto* o = s->as<Seq>();
      std::vector<const Stmt*> out(o->stmts.begin(), o->stmts.end());
      bool changed = false;
      for (const Stmt*& child : out) {
        const Stmt* n = stmt(child);
        changed |= n != child;
        child = n;
      }
      return changed ? build.seq(out, s->span) : s;
    }
    case StmtKind::kFor: {
      auto* o = s->as<For>();
      For n = *o;
      n.min = expr(o->min), n.extent = expr(o->extent), n.body = stmt(o->body);
      if (o->step) n.step = expr(o->step);
      return n.min == o->min && n.extent == o->extent && n.step == o->step && n.body == o->body ? s : build.add(n);
    }
    case StmtKind::kWhile: {
      auto* o = s->as<While>();
      While n = *o;
      n.condition = expr(o->condition), n.body = stmt(o->body);
      return n.condition == o->condition && n.body == o->body ? s : build.add(n);
    }
    case StmtKind::kIf: {
      auto* o = s->as<If>();
      If n = *o;
      n.condition = expr(o->condition), n.then_case = stmt(o->then_case);
      if (o->else_case) n.else_case = stmt(o->else_case);
      return n.condition == o->condition && n.then_case == o->then_case && n.else_case == o->else_case ? s : build.add(n);
    }
    case StmtKind::kBind: {
      Bind n = *s->as<Bind>();
      n.value = expr(n.value);
      return n.value == s->as<Bind>()->value ? s : build.add(n);
    }
    case StmtKind::kStore: {
      auto* o = s->as<Store>();
      Store n = *o;
      n.value = expr(o->value), n.indices = exprs(o->indices);
      if (o->predicate) n.predicate = expr(o->predicate);
      return n.value == o->value && n.indices.data() == o->indices.data() && n.predicate == o->predicate ? s : build.add(n);
    }
    case StmtKind::kEvaluate: {
      Evaluate n = *s->as<Evaluate>();
      n.value = expr(n.value);
      return n.value == s->as<Evaluate>()->value ? s : build.add(n);
    }
    case StmtKind::kAttr: {
      auto* o = s->as<Attr>();
      Attr n = *o;
      n.value = expr(o->value), n.body = stmt(o->body);
      return n.value == o->value && n.body == o->body ? s : build.add(n);
    }
    case StmtKind::kThreadExtent: {
      auto* o = s->as<ThreadExtent>();
      ThreadExtent n = *o;
      n.extent = expr(o->extent), n.body = stmt(o->body);
      return n.extent == o->extent && n.body == o->body ? s : build.add(n);
    }
    case StmtKind::kAssert: {
      Assert n = *s->as<Assert>();
      n.condition = expr(n.condition);
      return n.condition == s->as<Assert>()->condition ? s : build.add(n);
    }
    case StmtKind::kReturn: {
      Return n = *s->as<Return>();
      if (n.value) n.value = expr(n.value);
      return n.value == s->as<Return>()->value ? s : build.add(n);
    }
    case StmtKind::kAllocBuffer:
    case StmtKind::kDeclBuffer:
    case StmtKind::kBreak:
    case StmtKind::kContinue: return s;
  }
  return s;
}

}  // namespace kiln::ir
