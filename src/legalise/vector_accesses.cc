// Vector statements whose memory can be read or written in one access are taken apart: load into an array in registers, compute there,
// store from one. What is aligned is found from the index alone: the largest power of two that divides it.
#include <algorithm>
#include <bit>
#include <map>

#include "legalise/legalise.h"
#include "legalise/rewrite.h"

namespace kiln::legalise {
namespace {

using namespace ir;

constexpr int64_t kMaxFactor = int64_t{1} << 20;

class Accesses : public Rewriter {
 public:
  Accesses(Arena& arena, const Features& features) : Rewriter(arena), widest_(features.vector_access_bytes) {}

  const Stmt* stmt(const Stmt* s) override {
    if (auto* b = s->as<Bind>()) bound_[b->var] = b->value;
    if (auto* a = s->as<AllocBuffer>()) allocated_[a->buffer->data] = a->buffer;
    if (auto* f = s->as<For>()) {
      int64_t start = factor(f->min), step = f->step ? factor(f->step) : 1;
      factors_[f->var] = std::min(start, step);
    }
    if (auto* st = s->as<Store>()) return store(st);
    return stmt_children(s);
  }

 private:
  // The largest power of two known to divide e.
  int64_t factor(const Expr* e) {
    if (auto* i = e->as<IntImm>()) {
      if (i->value == 0) return kMaxFactor;
      return std::min(kMaxFactor, int64_t{1} << std::countr_zero(static_cast<uint64_t>(i->value)));
    }
    if (auto* v = e->as<Var>()) {
      if (auto it = factors_.find(v); it != factors_.end()) return it->second;
      auto it = bound_.find(v);
      return factors_[v] = it != bound_.end() && v->dtype.is_integer() ? factor(it->second) : 1;
    }
    if (auto* c = e->as<Cast>()) {
      bool widens = c->dtype.is_integer() && c->value->dtype.is_integer() && c->dtype.bits >= c->value->dtype.bits;
      return widens ? factor(c->value) : 1;
    }
    if (auto* s = e->as<Select>()) return std::min(factor(s->true_value), factor(s->false_value));
    auto* b = e->as<Binary>();
    return b && b->dtype.is_integer() ? factor(b) : 1;
  }

  int64_t factor(const Binary* b) {
    auto* y = b->b->as<IntImm>();
    bool positive = y && y->value > 0;
    switch (b->kind) {
      case ExprKind::kAdd:
      case ExprKind::kSub:
      case ExprKind::kMin:
      case ExprKind::kMax:
      case ExprKind::kBitOr:
      case ExprKind::kBitXor:
      case ExprKind::kMod:
      case ExprKind::kFloorMod: return std::min(factor(b->a), factor(b->b));
      case ExprKind::kMul: return std::min(kMaxFactor, factor(b->a) * factor(b->b));
      case ExprKind::kBitAnd: return std::max(factor(b->a), factor(b->b));
      case ExprKind::kDiv:
      case ExprKind::kFloorDiv: {
        bool exact = positive && std::has_single_bit(static_cast<uint64_t>(y->value)) && factor(b->a) >= y->value;
        return exact ? factor(b->a) / y->value : 1;
      }
      case ExprKind::kShiftLeft: return positive && y->value < 20 ? std::min(kMaxFactor, factor(b->a) << y->value) : factor(b->a);
      case ExprKind::kShiftRight: return positive && y->value < 20 ? std::max(int64_t{1}, factor(b->a) >> y->value) : 1;
      default: return 1;
    }
  }

  // Bytes that the pointer is aligned to, as far as they matter.
  int64_t alignment(const Var* data) {
    auto it = bound_.find(data);
    if (it == bound_.end()) return widest_;  // a parameter, or an allocation
    return alignment(it->second, data->pointer ? data->pointer->element.element_bytes() : 1);
  }
  int64_t alignment(const Expr* e, int64_t unknown) {
    if (auto* v = e->as<Var>()) return alignment(v);
    auto* c = e->as<Call>();
    if (!c || c->args.empty()) return unknown;
    switch (c->op) {
      case Op::tirx_handle_add_byte_offset: return std::min(alignment(c->args[0], unknown), factor(c->args[1]));
      case Op::tirx_reinterpret:
      case Op::tirx_buffer_data: return alignment(c->args[0], unknown);
      case Op::tirx_address_of: {
        auto* l = c->args[0]->as<Load>();
        return l && l->indices.size() == 1 ? std::min(alignment(l->buffer->data), bytes_of_factor(l->indices[0], l->buffer->dtype))
                                           : unknown;
      }
      default: return unknown;
    }
  }
  int64_t bytes_of_factor(const Expr* index, DataType t) { return std::min<int64_t>(widest_, factor(index) * t.element_bytes()); }

  static bool in_registers(const Buffer* b) { return b->scope().starts_with("local") || b->scope() == "register"; }
  static bool has_let(const Expr* e) {
    bool found = false;
    visit(e, [&](const Expr* x) { found |= x->kind == ExprKind::kLet; });
    return found;
  }

  // Bytes of one access to b[index], or 0 where a lane is accessed at a time.
  int64_t access_bytes(const Buffer* b, List<const Expr*> indices, const Expr* predicate) {
    auto* r = indices.size() == 1 ? indices[0]->as<Ramp>() : nullptr;
    auto* stride = r ? r->stride->as<IntImm>() : nullptr;
    if (!stride || stride->value != 1 || predicate || r->base->dtype.lanes > 1 || has_let(r->base)) return 0;
    if (b->dtype.lanes > 1 || b->dtype.bits % 8 || in_registers(b)) return 0;
    if (b->elem_offset && !(b->elem_offset->as<IntImm>() && b->elem_offset->as<IntImm>()->value == 0)) return 0;
    int64_t total = int64_t{r->dtype.lanes} * b->dtype.element_bytes();
    int64_t bytes = std::min({widest_, alignment(b->data), bytes_of_factor(r->base, b->dtype)});
    while (bytes > b->dtype.element_bytes() && total % bytes) bytes /= 2;
    return bytes > b->dtype.element_bytes() ? bytes : 0;
  }

  // Whether b[index] are registers side by side that one access of `bytes` can fill or empty: arrays are aligned to the largest power of
  // two, of 16 at most, that divides their size.
  bool is_piece(const Buffer* b, List<const Expr*> indices, const Expr* predicate, int64_t bytes) {
    auto it = allocated_.find(b->data);
    auto* r = indices.size() == 1 ? indices[0]->as<Ramp>() : nullptr;
    auto* stride = r ? r->stride->as<IntImm>() : nullptr;
    if (it == allocated_.end() || !stride || stride->value != 1 || predicate || r->base->dtype.lanes > 1 || has_let(r->base)) return false;
    const Buffer* whole = it->second;
    if (!in_registers(b) || whole->dtype != b->dtype || b->dtype.lanes > 1 || b->dtype.bits % 8 || b->elem_offset || bytes > 16)
      return false;
    int64_t size = b->dtype.element_bytes();
    for (const Expr* extent : whole->shape) size *= extent->as<IntImm>() ? extent->as<IntImm>()->value : 0;
    return size > 0 && size % bytes == 0 && bytes_of_factor(r->base, b->dtype) >= bytes;
  }

  List<const Expr*> all_of(uint16_t lanes) { return one(build, build.ramp(build.int_imm(kInt32, 0), build.int_imm(kInt32, 1), lanes)); }
  const Buffer* registers(std::string_view like, DataType t, uint16_t lanes, std::vector<const Stmt*>& before) {
    const Buffer* b = local_array(build, std::string(like) + "_v", t.element(), lanes);
    before.push_back(alloc(build, b));
    return b;
  }
  const Stmt* access(const Stmt* copy, int64_t bytes) {
    return build.add(Attr{{StmtKind::kAttr, copy->span}, {}, "kiln.vector_access", build.int_imm(kInt32, bytes), copy});
  }

  // The value with its loads done before. Only what is evaluated in any case is looked into.
  const Expr* loaded(const Expr* e, std::vector<const Stmt*>& before) {
    if (e->dtype.lanes <= 1) return e;
    if (auto* l = e->as<Load>()) {
      int64_t bytes = access_bytes(l->buffer, l->indices, l->predicate);
      if (!bytes) return e;
      uint16_t lanes = l->dtype.lanes;
      const Buffer* b = registers(l->buffer->data->name, l->buffer->dtype, lanes, before);
      before.push_back(access(build.store(b, l, all_of(lanes), nullptr, l->span), bytes));
      return build.load(l->dtype, b, all_of(lanes), nullptr, l->span);
    }
    if (auto* b = e->as<Binary>()) {
      bool lazy = b->kind == ExprKind::kAnd || b->kind == ExprKind::kOr;
      Binary n = *b;
      n.a = loaded(b->a, before), n.b = lazy ? b->b : loaded(b->b, before);
      return n.a == b->a && n.b == b->b ? e : build.add(n);
    }
    if (auto* u = e->as<Unary>()) {
      const Expr* a = loaded(u->a, before);
      return a == u->a ? e : build.unary(u->kind, a, u->span);
    }
    if (auto* c = e->as<Cast>()) {
      const Expr* v = loaded(c->value, before);
      return v == c->value ? e : build.cast(c->dtype, v, c->span);
    }
    if (auto* s = e->as<Select>()) {
      return build.select(loaded(s->condition, before), loaded(s->true_value, before), loaded(s->false_value, before), s->span);
    }
    auto* c = e->as<Call>();
    if (!c || c->op == Op::tirx_if_then_else || c->dtype.is_handle()) return e;
    Call n = *c;
    std::vector<const Expr*> args;
    for (const Expr* a : c->args) args.push_back(loaded(a, before));
    n.args = build.list(args);
    return build.add(n);
  }

  const Stmt* store(const Store* s) {
    uint16_t lanes = s->value->dtype.lanes;
    if (lanes <= 1) return s;
    auto* c = s->value->as<Call>();
    if (c && c->op == Op::tirx_if_then_else && c->args[0]->dtype.lanes <= 1 && !s->predicate) {
      auto branch = [&](const Expr* value) {
        Store n = *s;
        n.value = value;
        return store(build.add(n));
      };
      return build.add(If{{StmtKind::kIf, s->span}, c->args[0], branch(c->args[1]), branch(c->args[2])});
    }
    int64_t bytes = access_bytes(s->buffer, s->indices, s->predicate);
    auto* l = s->value->as<Load>();
    int64_t total = int64_t{lanes} * s->buffer->dtype.element_bytes();
    if (l && l->buffer->dtype == s->buffer->dtype) {
      int64_t read = access_bytes(l->buffer, l->indices, l->predicate);
      if (bytes == total && (read == total || is_piece(l->buffer, l->indices, l->predicate, total))) return access(s, bytes);
      if (read == total && is_piece(s->buffer, s->indices, s->predicate, total)) return access(s, read);
    }
    std::vector<const Stmt*> all;
    Store n = *s;
    n.value = loaded(s->value, all);
    if (!bytes) {
      if (all.empty()) return s;
      all.push_back(build.add(n));
      return build.seq(all, s->span);
    }
    const Buffer* b = registers(s->buffer->data->name, s->buffer->dtype, lanes, all);
    all.push_back(build.store(b, n.value, all_of(lanes), nullptr, s->span));
    n.value = build.load(s->value->dtype, b, all_of(lanes), nullptr, s->span);
    all.push_back(access(build.add(n), bytes));
    return build.seq(all, s->span);
  }

  int64_t widest_;
  std::map<const Var*, const Expr*> bound_;
  std::map<const Var*, int64_t> factors_;
  std::map<const Var*, const Buffer*> allocated_;
};

}  // namespace

const Function* vector_accesses(Arena& arena, const Function* f, const Features& features) {
  Accesses pass(arena, features);
  return rewrite_body(arena, f, pass);
}

}  // namespace kiln::legalise
