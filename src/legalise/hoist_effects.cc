#include <map>
#include <utility>

#include "legalise/legalise.h"
#include "legalise/rewrite.h"

namespace kiln::legalise {
namespace {

using namespace ir;

enum class Update { kNone, kAdd, kMax, kMin, kOr, kLoad, kStore };

struct Atomic {
  Update update = Update::kNone;
  bool returns_old = false;
};

Atomic atomic_of(const Call* c) {
  switch (c->op) {
    case Op::tl_atomic_add_elem_op: return {Update::kAdd, false};
    case Op::tl_atomic_add_ret_elem_op: return {Update::kAdd, true};
    case Op::tl_atomic_max_elem_op: return {Update::kMax, false};
    case Op::tl_atomic_max_ret_elem_op: return {Update::kMax, true};
    case Op::tl_atomic_min_elem_op: return {Update::kMin, false};
    case Op::tl_atomic_min_ret_elem_op: return {Update::kMin, true};
    case Op::tl_atomic_or_elem_op: return {Update::kOr, false};
    case Op::tl_atomic_load_elem_op: return {Update::kLoad, true};
    case Op::tl_atomic_store_elem_op: return {Update::kStore, false};
    case Op::tirx_atomic_add: return {Update::kAdd, !c->dtype.is_handle() && !c->dtype.is_void()};
    default: return {};
  }
}

class Hoister : public Rewriter {
 public:
  Hoister(Arena& arena, const Features& features, bool (*is_statement)(const Call*))
      : Rewriter(arena), features_(features), is_statement_(is_statement) {}

  const Expr* expr(const Expr* e) override {
    if (auto* v = e->as<Var>()) {
      auto it = renamed_.find(v);
      return it == renamed_.end() ? e : it->second;
    }
    if (auto* l = e->as<Let>()) {
      const Expr* value = expr(l->value);
      // A fresh variable for each use: the expression may be shared, and a statement binds a name once.
      Var fresh = *l->var;
      const Var* var = build.add(fresh);
      before_.push_back(build.bind(var, value, l->span));
      renamed_[l->var] = var;
      return expr(l->body);
    }
    if (auto* c = e->as<Call>()) {
      if (!features_.atomics && atomic_of(c).update != Update::kNone) return atomic(c);
      if (is_statement_ && is_statement_(c)) {
        const Expr* value = expr_children(e);
        const Var* result = build.var("result", c->dtype, c->pointer);
        before_.push_back(build.bind(result, value, c->span));
        return result;
      }
      if (c->op == Op::tirx_if_then_else) return lazy(e, c->args[0], c->args[1], c->args[2], c->dtype);
    }
    if (e->kind == ExprKind::kAnd && e->dtype.lanes == 1) {
      return lazy(e, e->as<Binary>()->a, e->as<Binary>()->b, build.int_imm(kBool, 0), kBool);
    }
    if (e->kind == ExprKind::kOr && e->dtype.lanes == 1) {
      return lazy(e, e->as<Binary>()->a, build.int_imm(kBool, 1), e->as<Binary>()->b, kBool);
    }
    return expr_children(e);
  }

  const Stmt* stmt(const Stmt* s) override {
    if (auto* f = s->as<For>(); f && f->for_kind == ForKind::kParallel) {
      ++parallel_;
      const Stmt* out = with_prelude(s);
      --parallel_;
      return out;
    }
    if (auto* w = s->as<While>()) return loop(w);
    if (auto* e = s->as<Evaluate>()) return evaluate(e);
    if (auto* b = s->as<Bind>()) return bind(b);
    return with_prelude(s);
  }

 private:
  // The statement with what its expressions need before it. A nested statement takes its own, since stmt() is called for it in turn.
  const Stmt* with_prelude(const Stmt* s) {
    std::vector<const Stmt*> outer;
    outer.swap(before_);
    std::vector<const Stmt*> own;
    const Stmt* n = stmt_children(s);
    own.swap(before_);
    outer.swap(before_);
    if (own.empty()) return n;
    own.push_back(n);
    return build.seq(own, s->span);
  }

  bool is_statement(const Expr* e) const {
    auto* c = e->as<Call>();
    return c && is_statement_ && is_statement_(c);
  }

  // A statement that is such a call stays one.
  const Stmt* bind(const Bind* b) {
    if (!is_statement(b->value)) return with_prelude(b);
    std::vector<const Stmt*> own;
    const Expr* value = children_apart(b->value, own);
    if (value == b->value && own.empty()) return b;
    own.push_back(build.bind(b->var, value, b->span));
    return build.seq(own, b->span);
  }
  const Expr* children_apart(const Expr* e, std::vector<const Stmt*>& into) {
    std::vector<const Stmt*> outer;
    outer.swap(before_);
    const Expr* out = expr_children(e);
    into.swap(before_);
    outer.swap(before_);
    return out;
  }

  // An expression's own statements, taken out of the running list.
  const Expr* apart(const Expr* e, std::vector<const Stmt*>& into) {
    std::vector<const Stmt*> outer;
    outer.swap(before_);
    const Expr* out = expr(e);
    into.swap(before_);
    outer.swap(before_);
    return out;
  }

  // condition ? a : b, of which only one side may be evaluated; `e` is the node that says so.
  const Expr* lazy(const Expr* e, const Expr* condition, const Expr* a, const Expr* b, DataType t) {
    std::vector<const Stmt*> in_a, in_b;
    const Expr* c = expr(condition);
    const Expr *x = apart(a, in_a), *y = apart(b, in_b);
    if (in_a.empty() && in_b.empty()) {
      if (e->kind == ExprKind::kAnd) return c == condition && x == a ? e : build.binary(ExprKind::kAnd, c, x, e->span);
      if (e->kind == ExprKind::kOr) return c == condition && y == b ? e : build.binary(ExprKind::kOr, c, y, e->span);
      if (c == condition && x == a && y == b) return e;
      Call n = *e->as<Call>();
      n.args = build.list(std::vector<const Expr*>{c, x, y});
      return build.add(n);
    }
    const Buffer* result = local_array(build, "chosen", t, 1);
    const Expr* zero = build.int_imm(kInt32, 0);
    in_a.push_back(build.store(result, x, one(build, zero)));
    in_b.push_back(build.store(result, y, one(build, zero)));
    before_.push_back(alloc(build, result));
    before_.push_back(build.add(If{{StmtKind::kIf, e->span}, c, build.seq(in_a), build.seq(in_b)}));
    return build.load(t, result, one(build, zero));
  }

  const Expr* atomic(const Call* c) {
    Atomic a = atomic_of(c);
    auto* address = c->args[0]->as<Call>();
    const Load* place = address->args[0]->as<Load>();
    Load old = *place;
    old.indices = exprs(place->indices), old.dtype = old.buffer->dtype;
    const Expr* current = build.add(old);
    const Expr* value = a.update == Update::kLoad ? nullptr : expr(c->args[1]);
    if (value && value->dtype != old.dtype) value = build.cast(old.dtype, value);
    std::vector<const Stmt*> update;
    const Expr* result = build.int_imm(kInt32, 0);
    if (a.returns_old) {
      const Buffer* kept = local_array(build, "previous", old.dtype, 1);
      before_.push_back(alloc(build, kept));
      update.push_back(build.store(kept, current, one(build, build.int_imm(kInt32, 0))));
      current = build.load(old.dtype, kept, one(build, build.int_imm(kInt32, 0)));
      result = current;
    }
    if (const Expr* next = updated(a.update, current, value)) {
      update.push_back(build.add(Store{{StmtKind::kStore, c->span}, old.buffer, next, old.indices, nullptr}));
    }
    const Stmt* all = build.seq(update);
    if (parallel_) all = build.add(Attr{{StmtKind::kAttr, c->span}, {}, "kiln.atomic", build.int_imm(kInt32, 1), all});
    before_.push_back(all);
    return result;
  }

  const Expr* updated(Update u, const Expr* current, const Expr* value) {
    switch (u) {
      case Update::kAdd: return build.binary(ExprKind::kAdd, current, value);
      case Update::kMax: return build.binary(ExprKind::kMax, current, value);
      case Update::kMin: return build.binary(ExprKind::kMin, current, value);
      case Update::kOr: return build.binary(ExprKind::kBitOr, current, value);
      case Update::kStore: return value;
      case Update::kNone:
      case Update::kLoad: return nullptr;
    }
    return nullptr;
  }

  // A condition that needs statements is tested inside the loop.
  const Stmt* loop(const While* w) {
    std::vector<const Stmt*> in_condition;
    const Expr* c = apart(w->condition, in_condition);
    While n = *w;
    n.condition = c, n.body = stmt(w->body);
    if (in_condition.empty()) return n.condition == w->condition && n.body == w->body ? w : build.add(n);
    const Stmt* leave = build.add(Break{{StmtKind::kBreak, w->span}});
    in_condition.push_back(build.add(If{{StmtKind::kIf, w->span}, build.unary(ExprKind::kNot, c), leave, nullptr}));
    in_condition.push_back(n.body);
    n.condition = build.int_imm(kBool, 1), n.body = build.seq(in_condition);
    return build.add(n);
  }

  // A guarded effect is a statement with an if.
  const Stmt* evaluate(const Evaluate* e) {
    auto* c = e->value->as<Call>();
    if (c && c->op == Op::tirx_if_then_else) {
      auto branch = [&](const Expr* x) { return stmt(build.evaluate(x, e->span)); };
      std::vector<const Stmt*> all;
      const Expr* condition = apart(c->args[0], all);
      all.push_back(build.add(If{{StmtKind::kIf, e->span}, condition, branch(c->args[1]), branch(c->args[2])}));
      return build.seq(all);
    }
    if (!is_statement(e->value)) return with_prelude(e);
    std::vector<const Stmt*> own;
    const Expr* value = children_apart(e->value, own);
    if (value == e->value && own.empty()) return e;
    own.push_back(build.evaluate(value, e->span));
    return build.seq(own, e->span);
  }

  const Features& features_;
  bool (*const is_statement_)(const Call*);
  std::vector<const Stmt*> before_;
  std::map<const Var*, const Var*> renamed_;
  int parallel_ = 0;
};

bool is_test(const Call* c) { return c->op == Op::tirx_isnan || c->op == Op::tirx_isinf || c->op == Op::tirx_isfinite; }

// A scalar call that evaluated twice would do its work twice. The tests are pure, though TVM does not register all of them so; of random
// numbers each lane of a vector wants its own.
bool has_effect(const Call* c) {
  if (is_test(c) || op_info(c->op).name.starts_with("tl.rng_")) return false;
  return op_info(c->op).effect == Effect::kUpdate && c->dtype.lanes == 1 && !c->dtype.is_handle() && !c->dtype.is_void();
}

bool contains_effect(const Expr* e) {
  bool found = false;
  visit(e, [&](const Expr* x) {
    auto* c = x->as<Call>();
    found |= c && has_effect(c);
  });
  return found;
}

// Whether what evaluates the node may take an operand more than once, or not at all: once a lane, or in a test such as x != x.
bool repeats_operands(const Expr* e) {
  if (e->dtype.lanes > 1 || e->kind == ExprKind::kFloorDiv || e->kind == ExprKind::kFloorMod) return true;
  auto* c = e->as<Call>();
  return c && is_test(c);
}

bool repeats_effect(const Expr* e) {
  if (repeats_operands(e)) return contains_effect(e);
  bool found = false;
  for_each_operand(e, [&](const Expr* operand) { found = found || repeats_effect(operand); });
  return found;
}

// The same for a statement's own expressions, not those of the statements in it.
bool repeats_effect(const Stmt* s) {
  auto* st = s->as<Store>();
  bool found = false;
  // Bounds of loops are tested each turn; A[i] = A[i] + x may be printed with one index.
  for_each_expr(s, [&](const Expr* e) {
    bool any = s->as<For>() || (st && e != st->value);
    found = found || (any ? contains_effect(e) : repeats_effect(e));
  });
  return found;
}

class EffectBinder : public Hoister {
 public:
  EffectBinder(Arena& arena, const Features& features) : Hoister(arena, features, has_effect) {}

  const Expr* expr(const Expr* e) override { return binds_ ? Hoister::expr(e) : e; }
  const Stmt* stmt(const Stmt* s) override {
    bool outer = std::exchange(binds_, repeats_effect(s));
    const Stmt* n = binds_ ? Hoister::stmt(s) : stmt_children(s);
    binds_ = outer;
    return n;
  }

 private:
  bool binds_ = false;
};

}  // namespace

const Function* bind_effects(Arena& arena, const Function* f) {
  Features as_is;
  as_is.atomics = true;
  EffectBinder pass(arena, as_is);
  return rewrite_body(arena, f, pass);
}

const Function* hoist_effects(Arena& arena, const Function* f, const Features& features, bool (*is_statement)(const Call*)) {
  Hoister pass(arena, features, is_statement);
  return rewrite_body(arena, f, pass);
}

}  // namespace kiln::legalise
