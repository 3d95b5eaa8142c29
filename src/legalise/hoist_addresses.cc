// What an index adds up from terms that no loop around it changes goes into a pointer before the loop: `A[by * 4096 + tx * 8 + i * 1024]`
// in a loop over i becomes `A_thread[i * 1024]`. Compilers find the same, but only after they have copied the sum into each unrolled
// iteration.
//
// The sum of 32-bit terms that is taken out must not wrap where the whole index does not: only terms known not to be negative are taken,
// and only those before the first term that might be.
#include <algorithm>
#include <unordered_map>

#include "legalise/legalise.h"
#include "legalise/rewrite.h"

namespace kiln::legalise {
namespace {

using namespace ir;

bool same(const Expr* a, const Expr* b) {
  if (a == b) return true;
  if (a->kind != b->kind || a->dtype != b->dtype) return false;
  if (auto* i = a->as<IntImm>()) return i->value == b->as<IntImm>()->value;
  if (auto* c = a->as<Cast>()) return same(c->value, b->as<Cast>()->value);
  auto *x = a->as<Binary>(), *y = b->as<Binary>();
  return x && same(x->a, y->a) && same(x->b, y->b);
}

// How a value depends on the loops around it.
struct Dependence {
  size_t level = 0;         // loops that must have begun before it is known
  bool fixed = true;        // arithmetic of variables and literals, without memory, calls or traps
  bool nonnegative = true;  // known not to be negative
  bool thread = false;      // differs between the threads of a block
};

class AddressHoister : public Rewriter {
 public:
  using Rewriter::Rewriter;

  void parameter(const Var* v) { known_[v] = {0, true, v->dtype.is_uint()}; }

  const Expr* expr(const Expr* e) override {
    auto* l = e->as<Load>();
    if (!l || l->indices.size() != 1) return expr_children(e);
    Load n = *l;
    n.indices = exprs(l->indices);
    if (l->predicate) n.predicate = expr(l->predicate);
    bool moved = hoist(n.buffer, n.indices);
    return moved || n.indices.data() != l->indices.data() || n.predicate != l->predicate ? build.add(n) : e;
  }

  const Stmt* stmt(const Stmt* s) override {
    switch (s->kind) {
      case StmtKind::kFor: return loop(s->as<For>());
      case StmtKind::kWhile: return in_loop(s, [&] { return scope_of_children(s); });
      case StmtKind::kBind: {
        auto* b = s->as<Bind>();
        const Stmt* out = stmt_children(s);
        Dependence d = dependence(b->value);
        known_[b->var] = {loops_.size(), true, b->var->dtype.is_integer() && d.nonnegative, d.thread};
        return out;
      }
      case StmtKind::kAllocBuffer: known_[s->as<AllocBuffer>()->buffer->data] = {loops_.size(), true, false}; return s;
      case StmtKind::kThreadExtent: {
        auto* t = s->as<ThreadExtent>();
        known_[t->var] = {loops_.size(), true, true, t->tag.starts_with("threadIdx")};
        return scope_of_children(s);
      }
      case StmtKind::kStore: {
        Store n = *s->as<Store>();
        const auto before = n;
        n.indices = exprs(n.indices), n.value = expr(n.value);
        if (n.predicate) n.predicate = expr(n.predicate);
        bool moved = n.indices.size() == 1 && hoist(n.buffer, n.indices);
        bool changed = n.indices.data() != before.indices.data() || n.value != before.value || n.predicate != before.predicate;
        return moved || changed ? build.add(n) : s;
      }
      case StmtKind::kIf: {
        auto* i = s->as<If>();
        If n = *i;
        n.condition = expr(i->condition), n.then_case = scope(i->then_case);
        if (i->else_case) n.else_case = scope(i->else_case);
        return n.condition == i->condition && n.then_case == i->then_case && n.else_case == i->else_case ? s : build.add(n);
      }
      case StmtKind::kAttr: return scope_of_children(s);
      default: return stmt_children(s);
    }
  }

 private:
  struct Pointer {
    const Var* var;
    const Buffer* buffer;  // that it points into
    std::vector<const Expr*> terms;
    int scope;  // that it is declared in
  };
  struct Loop {
    int scope;                          // that the loop stands in
    std::vector<const Stmt*> pointers;  // to be declared before it
  };

  // What is declared inside is not known after it.
  template <class F>
  const Stmt* scoped(F&& inside) {
    ++scope_;
    const Stmt* out = inside();
    --scope_;
    std::erase_if(pointers_, [&](const Pointer& p) { return p.scope > scope_; });
    return out;
  }
  const Stmt* scope(const Stmt* s) {
    return scoped([&] { return stmt(s); });
  }
  const Stmt* scope_of_children(const Stmt* s) {
    return scoped([&] { return stmt_children(s); });
  }

  template <class F>
  const Stmt* in_loop(const Stmt* s, F&& inside) {
    loops_.push_back({scope_, {}});
    const Stmt* out = inside();
    std::vector<const Stmt*> before = std::move(loops_.back().pointers);
    loops_.pop_back();
    if (before.empty()) return out;
    before.push_back(out);
    return build.seq(before, s->span);
  }

  const Stmt* loop(const For* f) {
    Dependence start = dependence(f->min), step = f->step ? dependence(f->step) : Dependence{};
    if (f->for_kind == ForKind::kThreadBinding) {
      known_[f->var] = {loops_.size(), true, true, f->thread_tag.starts_with("threadIdx")};
      return scope_of_children(f);
    }
    return in_loop(f, [&] {
      known_[f->var] = {loops_.size(), true, start.nonnegative && step.nonnegative};
      return scope_of_children(f);
    });
  }

  Dependence dependence(const Expr* e) {
    if (auto* i = e->as<IntImm>()) return {0, true, i->value >= 0};
    if (auto* v = e->as<Var>()) {
      auto it = known_.find(v);
      return it == known_.end() ? Dependence{0, false, false} : it->second;
    }
    if (auto* c = e->as<Cast>()) {
      DataType to = c->dtype, from = c->value->dtype;
      Dependence d = dependence(c->value);
      bool widens = to.is_integer() && (from.is_bool() || (from.is_integer() && (to.bits > from.bits || to == from)));
      return {d.level, d.fixed && widens, (widens && d.nonnegative) || from.is_bool(), d.thread};
    }
    if (auto* b = e->as<Binary>()) return dependence(b);
    return {0, false, false};
  }

  Dependence dependence(const Binary* b) {
    Dependence x = dependence(b->a), y = dependence(b->b);
    Dependence d{std::max(x.level, y.level), x.fixed && y.fixed && b->dtype.lanes == 1, x.nonnegative && y.nonnegative,
                 x.thread || y.thread};
    auto* divisor = b->b->as<IntImm>();
    switch (b->kind) {
      case ExprKind::kAdd:
      case ExprKind::kMul:
      case ExprKind::kMin:
      case ExprKind::kBitOr:
      case ExprKind::kBitXor: return d;
      case ExprKind::kMax: d.nonnegative = x.nonnegative || y.nonnegative; return d;
      case ExprKind::kBitAnd: d.nonnegative = x.nonnegative || y.nonnegative; return d;
      case ExprKind::kShiftRight: d.nonnegative = x.nonnegative; return d;
      case ExprKind::kDiv:
      case ExprKind::kMod:
      case ExprKind::kFloorDiv:
      case ExprKind::kFloorMod: d.fixed = d.fixed && divisor && divisor->value > 0; return d;
      case ExprKind::kSub:
      case ExprKind::kShiftLeft: d.nonnegative = false; return d;
      default: d.nonnegative = b->dtype.is_bool(); return d;
    }
  }

  static bool in_registers(const Buffer* b) { return b->scope().starts_with("local") || b->scope() == "register"; }

  // Takes the terms of the one index out of the outermost loop that leaves any, then those that are left out of the loops within.
  bool hoist(const Buffer*& buffer, List<const Expr*>& indices) {
    auto memory = known_.find(buffer->data);
    if (memory == known_.end() || in_registers(buffer) || buffer->dtype.lanes > 1) return false;
    auto* ramp = indices[0]->as<Ramp>();
    const Expr* index = ramp ? ramp->base : indices[0];
    if (index->dtype.lanes > 1 || !index->dtype.is_int() || index->dtype.bits < 32) return false;
    std::vector<const Expr*> terms, taken, left;
    add_terms(index, terms);
    for (size_t level = memory->second.level; level < loops_.size(); ++level) {
      split(terms, level, taken, left);
      size_t variable = 0;
      for (const Expr* e : left) variable += e->kind != ExprKind::kIntImm;
      bool computed = taken.size() > 1 || (taken.size() == 1 && !taken[0]->as<Var>());
      if (!computed || (variable == 0 && taken.size() < 2)) continue;
      const Expr* rest = left.empty() ? build.int_imm(index->dtype, 0) : sum(left);
      if (ramp) {
        Ramp r = *ramp;
        r.base = rest, rest = build.add(r);
      }
      Buffer through = *buffer;
      through.data = pointer(buffer, taken, level);
      buffer = build.add(through), indices = one(build, rest);
      known_[through.data] = {level, true, false};
      hoist(buffer, indices);
      return true;
    }
    return false;
  }

  // A sum in its order; a literal that is subtracted is one that is added.
  void add_terms(const Expr* e, std::vector<const Expr*>& out) {
    auto* b = e->as<Binary>();
    auto* less = e->kind == ExprKind::kSub ? b->b->as<IntImm>() : nullptr;
    if (e->kind != ExprKind::kAdd && !(less && less->value > 0)) return out.push_back(e);
    add_terms(b->a, out);
    if (less) return out.push_back(build.int_imm(e->dtype, -less->value));
    add_terms(b->b, out);
  }

  void split(const std::vector<const Expr*>& terms, size_t level, std::vector<const Expr*>& taken, std::vector<const Expr*>& left) {
    taken.clear(), left.clear();
    bool safe = true;
    for (const Expr* e : terms) {
      Dependence d = dependence(e);
      safe = safe && d.nonnegative;
      (safe && d.fixed && d.level <= level && e->kind != ExprKind::kIntImm ? taken : left).push_back(e);
    }
  }

  const Expr* sum(const std::vector<const Expr*>& terms) {
    const Expr* out = terms[0];
    for (size_t i = 1; i < terms.size(); ++i) out = build.binary(ExprKind::kAdd, out, terms[i], out->span);
    return out;
  }

  // The pointer to buffer[sum of terms], declared before the loop of that level unless one is in scope.
  const Var* pointer(const Buffer* buffer, const std::vector<const Expr*>& terms, size_t level) {
    for (const Pointer& p : pointers_) {
      bool one_memory = p.buffer->data == buffer->data && p.buffer->dtype == buffer->dtype;
      if (one_memory && std::equal(p.terms.begin(), p.terms.end(), terms.begin(), terms.end(), same)) return p.var;
    }
    const PointerType* type = build.pointer(buffer->dtype, buffer->scope());
    bool thread = std::any_of(terms.begin(), terms.end(), [&](const Expr* e) { return dependence(e).thread; });
    std::string name(buffer->data->name);
    bool again = std::any_of(pointers_.begin(), pointers_.end(), [&](const Pointer& p) { return p.var == buffer->data; });
    if (!name.ends_with("_step")) name += again ? "_step" : thread ? "_thread" : "_block";
    const Var* var = build.var(name, kHandle, type);
    const Expr* first = build.load(buffer->dtype, buffer, one(build, sum(terms)));
    Call address{{ExprKind::kCall, kHandle}, Op::tirx_address_of, op_info(Op::tirx_address_of).name, one(build, first), type, nullptr};
    loops_[level].pointers.push_back(build.bind(var, build.add(address)));
    pointers_.push_back({var, buffer, terms, loops_[level].scope});
    return var;
  }

  std::unordered_map<const Var*, Dependence> known_;
  std::vector<Loop> loops_;        // around, from the outermost
  std::vector<Pointer> pointers_;  // in scope
  int scope_ = 0;
};

}  // namespace

const Function* hoist_addresses(Arena& arena, const Function* f) {
  AddressHoister pass(arena);
  for (const Var* v : f->params) pass.parameter(v);
  return rewrite_body(arena, f, pass);
}

}  // namespace kiln::legalise
