// Byte i holds element 2i in its lower half and element 2i + 1 in the upper one.
#include "intrinsics/packed.h"

#include <map>

#include "legalise/legalise.h"
#include "legalise/rewrite.h"

namespace kiln::intrinsics {
namespace {

using namespace ir;

bool is_packed(DataType t) { return t.bits == 4 && t.lanes == 1; }
bool is_address(Op op) { return op == Op::tirx_address_of || op == Op::tl_access_ptr; }

class Packing : public Rewriter {
 public:
  using Rewriter::Rewriter;

  const Expr* expr(const Expr* e) override {
    if (auto* v = e->as<Var>()) return variable(v);
    auto* c = e->as<Call>();
    if (c && is_address(c->op) && !c->args.empty() && c->args[0]->as<Load>()) return address(c);
    if (c && c->op == Op::tl_ptx_cp_async) return copy(c);
    const Expr* n = expr_children(e);
    if (auto* l = n->as<Load>()) return load(l);
    return n->as<Call>() ? with_byte_pointer(n->as<Call>()) : n;
  }

  const Stmt* stmt(const Stmt* s) override {
    if (auto* b = s->as<Bind>()) {
      values_[b->var] = b->value;
      Bind n = *b;
      n.var = variable(b->var), n.value = expr(b->value);
      return n.var == b->var && n.value == b->value ? s : build.add(n);
    }
    if (auto* a = s->as<AllocBuffer>()) {
      AllocBuffer n = *a;
      n.buffer = buffer(a->buffer);
      return n.buffer == a->buffer ? s : build.add(n);
    }
    if (auto* d = s->as<DeclBuffer>()) {
      DeclBuffer n = *d;
      n.buffer = buffer(d->buffer);
      return n.buffer == d->buffer ? s : build.add(n);
    }
    s = stmt_children(s);
    auto* st = s->as<Store>();
    if (!st) return s;
    if (is_packed(st->buffer->dtype)) return store(st);
    Store n = *st;
    n.buffer = buffer(st->buffer);
    return n.buffer == st->buffer ? s : build.add(n);
  }

  const Var* variable(const Var* v) {
    if (!v->pointer || v->pointer->element.bits != 4) return v;
    const Var*& known = variables_[v];
    if (!known) known = build.var(v->name, v->dtype, build.pointer(kUInt8, v->pointer->scope), v->span);
    return known;
  }

 private:
  const Buffer* buffer(const Buffer* b) {
    const Var* data = variable(b->data);
    if (!is_packed(b->dtype) && data == b->data) return b;
    const Buffer*& known = buffers_[b];
    if (known) return known;
    Buffer n = *b;
    n.data = data;
    if (is_packed(b->dtype)) {
      const Expr* elements = build.int_imm(kInt32, 1);
      for (const Expr* extent : b->shape) {
        auto *x = elements->as<IntImm>(), *y = extent->as<IntImm>();
        elements = x && y               ? build.int_imm(extent->dtype, x->value * y->value)
                   : x && x->value == 1 ? extent
                                        : build.binary(ExprKind::kMul, elements, extent);
      }
      auto* count = elements->as<IntImm>();
      n.dtype = kUInt8, n.strides = {}, n.elem_offset = nullptr;
      n.shape = legalise::one(build, count ? build.int_imm(count->dtype, (count->value + 1) / 2) : half(elements));
    }
    return known = build.add(n);
  }

  // Whether e is a multiple of 2 for sure.
  bool is_even(const Expr* e) {
    if (auto* i = e->as<IntImm>()) return i->value % 2 == 0;
    if (auto* c = e->as<Cast>()) return c->value->dtype.is_integer() && is_even(c->value);
    if (auto* v = e->as<Var>()) {
      auto it = values_.find(v);
      return it != values_.end() && v->dtype.is_integer() && is_even(it->second);
    }
    auto* b = e->as<Binary>();
    if (!b) return false;
    switch (b->kind) {
      case ExprKind::kMul:
      case ExprKind::kBitAnd: return is_even(b->a) || is_even(b->b);
      case ExprKind::kAdd:
      case ExprKind::kSub:
      case ExprKind::kBitOr:
      case ExprKind::kBitXor:
      case ExprKind::kMod:
      case ExprKind::kFloorMod: return is_even(b->a) && is_even(b->b);
      case ExprKind::kShiftLeft: return b->b->as<IntImm>() && b->b->as<IntImm>()->value > 0;
      default: return false;
    }
  }

  // e / 2, rounded down.
  const Expr* half(const Expr* e) {
    auto* b = e->as<Binary>();
    auto* y = b ? b->b->as<IntImm>() : nullptr;
    if (auto* i = e->as<IntImm>()) return build.int_imm(i->dtype, i->value >> 1);
    if (b && b->kind == ExprKind::kAdd && (is_even(b->a) || is_even(b->b))) {
      const Expr *p = half(b->a), *q = half(b->b);
      return q->as<IntImm>() && q->as<IntImm>()->value == 0 ? p : build.binary(ExprKind::kAdd, p, q, b->span);
    }
    if (y && b->kind == ExprKind::kMul && y->value % 2 == 0) return times(b->a, y->value / 2);
    if (y && b->kind == ExprKind::kShiftLeft && y->value > 0 && y->value < 31) {
      return y->value == 1 ? b->a : build.binary(ExprKind::kShiftLeft, b->a, build.int_imm(y->dtype, y->value - 1));
    }
    return build.binary(ExprKind::kShiftRight, e, number(e->dtype, 1));
  }
  const Expr* times(const Expr* e, int64_t n) { return n == 1 ? e : build.binary(ExprKind::kMul, e, number(e->dtype, n)); }
  const Expr* number(DataType t, int64_t n) {
    const Expr* one = build.int_imm(t.element(), n);
    return t.lanes > 1 ? build.broadcast(one, t.lanes) : one;
  }
  // 1 where element e is in the upper half of its byte.
  const Expr* parity(const Expr* e) {
    if (auto* i = e->as<IntImm>()) return build.int_imm(i->dtype, i->value & 1);
    auto* sum = e->as<Binary>();
    if (sum && sum->kind == ExprKind::kAdd) {
      auto* more = sum->b->as<IntImm>();
      if (is_even(sum->b)) return parity(sum->a);
      if (more && is_even(sum->a)) return number(e->dtype, 1);
    }
    return is_even(e) ? number(e->dtype, 0) : build.binary(ExprKind::kBitAnd, e, number(e->dtype, 1));
  }

  // The bytes that hold whole what an index names, or null.
  const Expr* whole_bytes(const Expr* index, const Expr* predicate) {
    auto* r = index->as<Ramp>();
    auto* stride = r ? r->stride->as<IntImm>() : nullptr;
    if (!stride || stride->value != 1 || predicate || r->base->dtype.lanes > 1 || r->dtype.lanes % 2 || !is_even(r->base)) return nullptr;
    auto bytes = static_cast<uint16_t>(r->dtype.lanes / 2);
    return bytes == 1 ? half(r->base) : build.ramp(half(r->base), r->stride, bytes, r->span);
  }
  const Expr* reinterpret(DataType t, const Expr* e) { return build.call(t, Op::tirx_reinterpret, {e}, e->span); }

  const Expr* load(const Load* l) {
    const Buffer* b = buffer(l->buffer);
    if (!is_packed(l->buffer->dtype)) {
      Load n = *l;
      n.buffer = b;
      return b == l->buffer ? l : static_cast<const Expr*>(build.add(n));
    }
    const Expr* index = l->indices[0];
    if (const Expr* at = whole_bytes(index, l->predicate)) {
      return reinterpret(l->dtype, build.load(kUInt8.with_lanes(at->dtype.lanes), b, legalise::one(build, at), nullptr, l->span));
    }
    uint16_t lanes = l->dtype.lanes;
    const Expr* byte = build.load(kUInt8.with_lanes(lanes), b, legalise::one(build, half(index)), l->predicate, l->span);
    const Expr *upper = parity(index), *bits = build.cast(kInt32.with_lanes(lanes), byte);
    auto* known = upper->as<IntImm>();
    const Expr* shift = known ? build.int_imm(kInt32, known->value * 4)
                              : build.binary(ExprKind::kMul, build.cast(bits->dtype, upper), number(bits->dtype, 4));
    if (!known || known->value) bits = build.binary(ExprKind::kShiftRight, bits, shift);
    if (l->dtype.is_integer()) return build.cast(l->dtype, bits, l->span);
    return reinterpret(l->dtype, build.cast({TypeCode::kUInt, 4, lanes}, bits));
  }

  const Stmt* store(const Store* s) {
    const Buffer* b = buffer(s->buffer);
    if (const Expr* at = whole_bytes(s->indices[0], s->predicate)) {
      auto* c = s->value->as<Call>();
      DataType bytes = kUInt8.with_lanes(at->dtype.lanes);
      bool copies = c && c->op == Op::tirx_reinterpret && c->args[0]->dtype == bytes;
      return build.store(b, copies ? c->args[0] : reinterpret(bytes, s->value), legalise::one(build, at), nullptr, s->span);
    }
    uint16_t lanes = s->value->dtype.lanes;
    if (lanes == 1) return store_one(s, b, s->indices[0], s->value, s->predicate);
    // All lanes are read before the first is written.
    std::vector<const Stmt*> all;
    auto kept = [&](std::string_view name, const Expr* e) -> const Expr* {
      if (!e || e->as<Broadcast>() || e->as<Ramp>()) return e;
      const Var* v = build.var(name, e->dtype);
      all.push_back(build.bind(v, e));
      return v;
    };
    const Expr *value = kept("lanes", s->value), *index = kept("places", s->indices[0]), *mask = kept("mask", s->predicate);
    for (int i = 0; i < lanes; ++i) all.push_back(store_one(s, b, lane(index, i), lane(value, i), mask ? lane(mask, i) : nullptr));
    return build.add(Attr{{StmtKind::kAttr, s->span}, {}, "lexical_alloc_scope", build.int_imm(kInt32, 1), build.seq(all)});
  }
  const Expr* lane(const Expr* e, int i) {
    auto* r = e->as<Ramp>();
    auto *base = r ? r->base->as<IntImm>() : nullptr, *stride = r ? r->stride->as<IntImm>() : nullptr;
    if (base && stride) return build.int_imm(base->dtype, base->value + i * stride->value);
    if (stride && i == 0) return r->base;
    if (stride) return build.binary(ExprKind::kAdd, r->base, build.int_imm(r->base->dtype, i * stride->value));
    return build.add(Shuffle{
        {ExprKind::kShuffle, e->dtype.element(), e->span}, legalise::one(build, e), legalise::one(build, build.int_imm(kInt32, i))});
  }

  // The other half of the byte may be another thread's, but not in registers.
  const Stmt* store_one(const Store* s, const Buffer* b, const Expr* index, const Expr* value, const Expr* predicate) {
    bool alone = b->scope().starts_with("local");
    DataType bits{TypeCode::kUInt, 4, 1};
    const Expr* half_byte = value->dtype == bits ? value : reinterpret(bits, value);
    const Expr* byte = build.load(kUInt8, b, legalise::one(build, half(index)));
    std::vector<const Expr*> args = {build.string_imm(alone ? "set_four_bits" : "set_four_bits_atomic"),
                                     build.call(kHandle, Op::tirx_address_of, {byte}), parity(index), build.cast(kUInt32, half_byte)};
    const Stmt* set = build.evaluate(build.call(kVoid, Op::tirx_call_extern, args, s->span), s->span);
    return predicate ? build.add(If{{StmtKind::kIf, s->span}, predicate, set, nullptr}) : set;
  }

  const Expr* address(const Call* c) {
    auto* l = c->args[0]->as<Load>();
    std::vector<const Expr*> args;
    for (const Expr* a : c->args.subspan(1)) args.push_back(expr(a));
    const Expr* index = expr(l->indices[0]);
    Load n = *l;
    n.buffer = buffer(l->buffer);
    if (is_packed(l->buffer->dtype)) n.dtype = kUInt8, index = half(index->as<Ramp>() ? index->as<Ramp>()->base : index);
    n.indices = legalise::one(build, index);
    args.insert(args.begin(), build.add(n));
    Call out = *c;
    out.args = build.list(args);
    return with_byte_pointer(build.add(out));
  }

  // An asynchronous copy counts elements of its destination.
  const Expr* copy(const Call* c) {
    auto* to = c->args.empty() ? nullptr : c->args[0]->as<Call>();
    auto* place = to && is_address(to->op) && !to->args.empty() ? to->args[0]->as<Load>() : nullptr;
    bool packed = place && is_packed(place->buffer->dtype);
    auto* n = expr_children(c)->as<Call>();
    if (!packed) return n;
    Call out = *n;
    std::vector<const Expr*> args(n->args.begin(), n->args.end());
    args[2] = half(args[2]);
    out.args = build.list(args);
    return build.add(out);
  }

  const Expr* with_byte_pointer(const Call* c) {
    if (!c->pointer || c->pointer->element.bits != 4) return c;
    Call n = *c;
    n.pointer = build.pointer(kUInt8, c->pointer->scope);
    return build.add(n);
  }

  std::map<const Var*, const Var*> variables_;
  std::map<const Buffer*, const Buffer*> buffers_;
  std::map<const Var*, const Expr*> values_;  // of bound variables
};

bool has_packed(const Function* f) {
  bool found = false;
  auto pointer = [&](const Var* v) { found |= v->pointer && v->pointer->element.bits == 4; };
  for (const Var* p : f->params) pointer(p);
  visit(
      f->body,
      [&](const Stmt* s) {
        if (auto* a = s->as<AllocBuffer>()) found |= a->buffer->dtype.bits == 4;
        if (auto* st = s->as<Store>()) found |= st->buffer->dtype.bits == 4;
      },
      [&](const Expr* e) {
        visit(e, [&](const Expr* x) {
          if (auto* l = x->as<Load>()) found |= l->buffer->dtype.bits == 4;
          if (auto* v = x->as<Var>()) pointer(v);
        });
      });
  return found;
}

}  // namespace

const Function* pack_elements(Arena& arena, const Function* f) {
  if (!has_packed(f)) return f;
  f = legalise::flatten_indices(arena, f);
  Packing pass(arena);
  Function out = *f;
  std::vector<const Var*> params;
  for (const Var* p : f->params) params.push_back(pass.variable(p));
  out.params = arena.list(params);
  out.body = pass.stmt(f->body);
  return arena.make(out);
}

}  // namespace kiln::intrinsics
