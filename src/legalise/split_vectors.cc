// Vectors into lanes. The heart is lane(e, i): the scalar expression for lane i of a vector expression, where i is itself an expression, so
// a vector statement becomes one loop whose body is the statement of a single lane, which the C compiler vectorises again.
#include <algorithm>
#include <map>

#include "legalise/legalise.h"
#include "legalise/rewrite.h"

namespace kiln::legalise {
namespace {

using namespace ir;

const IntImm* constant(const Expr* e) { return e->as<IntImm>(); }

class Splitter : public Rewriter {
 public:
  Splitter(Arena& arena, const Function* f) : Rewriter(arena) {
    const Value* noalias = f->attrs ? f->attrs->find("tirx.noalias") : nullptr;
    bool no_alias = noalias && (noalias->boolean || noalias->integer);
    if (no_alias) distinct_.insert(distinct_.end(), f->params.begin(), f->params.end());
    visit(
        f->body,
        [&](const Stmt* s) {
          if (auto* a = s->as<AllocBuffer>()) distinct_.push_back(a->buffer->data);
          // A packed function's tensors and workspaces: TVM takes the buffers of a function to be apart.
          if (auto* b = s->as<Bind>(); b && b->var->dtype.is_handle() && is_fresh_memory(b->value)) distinct_.push_back(b->var);
        },
        [](const Expr*) {});
  }

  const Expr* expr(const Expr* e) override {
    if (e->dtype.lanes > 1) return e;  // only its lanes will be used
    if (auto* s = e->as<Shuffle>()) return pick(s, expr(s->indices[0]));
    if (auto* l = e->as<Let>(); l && l->value->dtype.lanes > 1) {
      lets_[l->var] = l->value;
      return expr(l->body);
    }
    if (auto* load = e->as<Load>()) return scalar_load(load, nullptr);
    if (auto* c = e->as<Call>()) {
      bool half = c->op == Op::tirx_vectorlow || c->op == Op::tirx_vectorhigh;  // of two lanes: one
      if (half || (c->op == Op::tirx_reinterpret && c->args[0]->dtype.lanes > 1)) return call_lane(c, number(0));
      if (address_like(c->op) && c->args[0]->as<Load>()) {
        std::vector<const Expr*> args(c->args.begin(), c->args.end());
        args[0] = lane(args[0], build.int_imm(kInt32, 0));
        Call n = *c;
        n.args = build.list(args);
        return build.add(n);
      }
    }
    return expr_children(e);
  }

  const Stmt* stmt(const Stmt* s) override {
    if (auto* a = s->as<Attr>(); a && a->key == "kiln.vector_access") return s;
    if (auto* store = s->as<Store>()) {
      uint16_t lanes = std::max(store->value->dtype.lanes, store->indices[0]->dtype.lanes);
      lanes = std::max(lanes, static_cast<uint16_t>(store->buffer->dtype.lanes * store->indices[0]->dtype.lanes));
      return lanes > 1 ? vector_store(store, lanes) : scalar_predicate(stmt_children(s));
    }
    if (auto* b = s->as<Bind>(); b && b->value->dtype.lanes > 1) return vector_bind(b);
    if (auto* ev = s->as<Evaluate>(); ev && ev->value->dtype.lanes > 1) return build.seq({});  // pure, as the check saw to it
    return stmt_children(s);
  }

 private:
  static bool address_like(Op op) { return op == Op::tirx_address_of || op == Op::tl_access_ptr; }

  const Expr* binary(ExprKind k, const Expr* a, const Expr* b) {
    auto *x = constant(a), *y = constant(b);
    if (k == ExprKind::kMul && y && y->value == 1) return a;
    if (k == ExprKind::kMul && x && x->value == 1) return b;
    if (k == ExprKind::kAdd && y && y->value == 0) return a;
    if (k == ExprKind::kAdd && x && x->value == 0) return b;
    if (x && y && k == ExprKind::kMul) return build.int_imm(a->dtype, x->value * y->value);
    if (x && y && k == ExprKind::kAdd) return build.int_imm(a->dtype, x->value + y->value);
    if (x && y && k == ExprKind::kDiv) return build.int_imm(a->dtype, x->value / y->value);
    if (x && y && k == ExprKind::kMod) return build.int_imm(a->dtype, x->value % y->value);
    return build.binary(k, a, b);
  }
  const Expr* number(int64_t v) { return build.int_imm(kInt32, v); }
  // `i` in the integer type t.
  const Expr* index_as(DataType t, const Expr* i) {
    if (i->dtype == t) return i;
    return constant(i) ? build.int_imm(t, constant(i)->value) : build.cast(t, i);
  }

  // Lane i (an int32) of `e`; `e` itself when it is a scalar.
  const Expr* lane(const Expr* e, const Expr* i) {
    if (e->dtype.lanes <= 1) return expr(e);
    if (auto* b = e->as<Binary>()) {
      Binary n = *b;
      n.a = lane(b->a, i), n.b = lane(b->b, i), n.dtype = b->dtype.element();
      return build.add(n);
    }
    if (auto* u = e->as<Unary>()) return build.unary(u->kind, lane(u->a, i), u->span);
    if (auto* c = e->as<Cast>()) return build.cast(c->dtype.element(), lane(c->value, i), c->span);
    if (auto* s = e->as<Select>()) {
      return build.select(lane(s->condition, i), lane(s->true_value, i), lane(s->false_value, i), s->span);
    }
    if (auto* r = e->as<Ramp>()) {
      DataType t = r->dtype.element();
      return binary(ExprKind::kAdd, expr(r->base), binary(ExprKind::kMul, index_as(t, i), expr(r->stride)));
    }
    if (auto* b = e->as<Broadcast>())
      return lane(b->value, b->value->dtype.lanes > 1 ? binary(ExprKind::kMod, i, number(b->value->dtype.lanes)) : i);
    if (auto* s = e->as<Shuffle>()) return pick(s, lane_index(s, i));
    if (auto* l = e->as<Let>()) return let_lane(l, i);
    if (auto* l = e->as<Load>()) return scalar_load(l, i);
    if (auto* c = e->as<Call>()) return call_lane(c, i);
    if (auto* v = e->as<Var>()) {
      if (auto it = arrays_.find(v); it != arrays_.end()) return build.load(v->dtype.element(), it->second, one(build, i));
      if (auto it = lets_.find(v); it != lets_.end()) return lane(it->second, i);
    }
    return e;  // not a vector that has a definition: the verifier refuses it
  }

  // A scalar Let inside the lane when the value is a scalar; a vector value is inlined.
  const Expr* let_lane(const Let* l, const Expr* i) {
    if (l->value->dtype.lanes > 1) {
      lets_[l->var] = l->value;
      return lane(l->body, i);
    }
    Let n = *l;
    n.value = expr(l->value), n.body = lane(l->body, i), n.dtype = l->dtype.element();
    return build.add(n);
  }

  const Expr* call_lane(const Call* c, const Expr* i) {
    switch (c->op) {
      case Op::tirx_reinterpret: return reinterpret(c, i);
      case Op::tirx_vectorlow: return lane(c->args[0], i);
      case Op::tirx_vectorhigh: return lane(c->args[0], binary(ExprKind::kAdd, i, number(c->dtype.lanes)));
      case Op::tirx_vectorcombine: return combine(c->args, i, 0);
      default: break;
    }
    Call n = *c;
    std::vector<const Expr*> args;
    for (const Expr* a : c->args) args.push_back(lane(a, i));
    n.args = build.list(args), n.dtype = c->dtype.element();
    return build.add(n);
  }

  // Lane i of the vectors from `first` on, one after the other.
  const Expr* combine(List<const Expr*> vectors, const Expr* i, size_t first) {
    int lanes = vectors[first]->dtype.lanes;
    if (first + 1 == vectors.size()) return lane(vectors[first], i);
    if (auto* k = constant(i)) {
      if (k->value < lanes) return lane(vectors[first], i);
      return combine(vectors, number(k->value - lanes), first + 1);
    }
    return build.call(vectors[first]->dtype.element(), Op::tirx_if_then_else,
                      {build.binary(ExprKind::kLT, i, number(lanes)), lane(vectors[first], i),
                       combine(vectors, build.binary(ExprKind::kSub, i, number(lanes)), first + 1)});
  }
  const Expr* pick(const Shuffle* s, const Expr* index) {
    return combine(s->vectors, index->dtype == kInt32 ? index : index_as(kInt32, index), 0);
  }
  // Which element lane i of a shuffle takes.
  const Expr* lane_index(const Shuffle* s, const Expr* i) {
    if (auto* k = constant(i)) return expr(s->indices[static_cast<size_t>(k->value)]);
    const Expr* at = expr(s->indices.back());
    for (size_t k = s->indices.size() - 1; k-- > 0;) {
      at = build.select(build.binary(ExprKind::kEQ, i, number(static_cast<int64_t>(k))), expr(s->indices[k]), at);
    }
    return at;
  }

  // Lane i of the same bits seen with other lanes, through unsigned integers.
  const Expr* reinterpret(const Call* c, const Expr* i) {
    const Expr* from = c->args[0];
    int to_bits = c->dtype.bits, from_bits = from->dtype.bits;
    auto bits_of = [&](const Expr* at, DataType wide) {
      const Expr* v = lane(from, at);
      DataType raw{TypeCode::kUInt, static_cast<uint8_t>(from_bits), 1};
      if (v->dtype != raw) v = build.call(raw, Op::tirx_reinterpret, {v});
      return raw == wide ? v : build.cast(wide, v);
    };
    DataType raw_to{TypeCode::kUInt, static_cast<uint8_t>(to_bits), 1};
    const Expr* bits;
    if (to_bits == from_bits) {
      bits = bits_of(i, raw_to);
    } else if (to_bits < from_bits) {
      int64_t k = from_bits / to_bits;
      DataType wide{TypeCode::kUInt, static_cast<uint8_t>(from_bits), 1};
      const Expr* shift = binary(ExprKind::kMul, binary(ExprKind::kMod, i, number(k)), number(to_bits));
      const Expr* v = bits_of(binary(ExprKind::kDiv, i, number(k)), wide);
      bits = build.cast(raw_to, build.binary(ExprKind::kShiftRight, v, index_as(wide, shift)));
    } else {
      int64_t k = to_bits / from_bits;
      bits = nullptr;
      for (int64_t j = 0; j < k; ++j) {
        const Expr* part = bits_of(binary(ExprKind::kAdd, binary(ExprKind::kMul, i, number(k)), number(j)), raw_to);
        if (j) part = build.binary(ExprKind::kShiftLeft, part, build.int_imm(raw_to, j * from_bits));
        bits = bits ? build.binary(ExprKind::kBitOr, bits, part) : part;
      }
    }
    DataType to = c->dtype.element();
    return to == raw_to ? bits : build.call(to, Op::tirx_reinterpret, {bits});
  }

  // The element that lane i of `load` reads; i is null for a scalar load.
  const Expr* scalar_load(const Load* load, const Expr* i) {
    Load n = *load;
    n.dtype = load->dtype.element(), n.buffer = element_buffer(load->buffer), n.predicate = nullptr;
    n.indices = one(build, element_index(load->buffer, load->indices[0], i));
    const Expr* e = unchanged(load, n) ? load : static_cast<const Expr*>(build.add(n));
    if (!load->predicate) return e;
    const Expr* p = i ? lane(load->predicate, i) : expr(load->predicate);
    return build.call(n.dtype, Op::tirx_if_then_else, {p, e, zero(n.dtype)});
  }
  static bool unchanged(const Load* a, const Load& b) {
    return a->dtype == b.dtype && a->buffer == b.buffer && a->indices[0] == b.indices[0] && !a->predicate;
  }
  const Expr* zero(DataType t) { return t.is_floating() ? static_cast<const Expr*>(build.float_imm(t, 0)) : build.int_imm(t, 0); }
  // A buffer of vectors is one of their elements, lanes times as long.
  const Expr* element_index(const Buffer* b, const Expr* index, const Expr* i) {
    int per_item = std::max<int>(b->dtype.lanes, 1);
    if (!i) return expr(index);
    if (index->dtype.lanes > 1 && per_item == 1) return lane(index, i);
    const Expr* item = index->dtype.lanes > 1 ? lane(index, binary(ExprKind::kDiv, i, number(per_item))) : expr(index);
    const Expr* within = index->dtype.lanes > 1 ? binary(ExprKind::kMod, i, number(per_item)) : i;
    DataType t = item->dtype;
    return binary(ExprKind::kAdd, binary(ExprKind::kMul, item, build.int_imm(t, per_item)), index_as(t, within));
  }
  const Buffer* element_buffer(const Buffer* b) {
    if (b->dtype.lanes <= 1) return b;
    const Buffer*& known = element_buffers_[b];
    if (!known) {
      Buffer n = *b;
      n.dtype = b->dtype.element();
      known = build.add(n);
    }
    return known;
  }

  const Stmt* lane_loop(uint16_t lanes, bool unroll, auto&& body) {
    if (unroll) {
      std::vector<const Stmt*> all;
      for (int k = 0; k < lanes; ++k) all.push_back(body(number(k)));
      return build.seq(all);
    }
    const Var* i = build.var("e", kInt32);
    return build.add(For{{StmtKind::kFor, 0}, i, number(0), number(lanes), nullptr, ForKind::kVectorized, {}, nullptr, body(i)});
  }

  const Stmt* vector_store(const Store* s, uint16_t lanes) {
    bool unroll = has_shuffle(s->value);
    auto index = [&](const Expr* i) { return element_index(s->buffer, s->indices[0], i); };
    auto predicate = [&](const Expr* i) { return s->predicate ? lane(s->predicate, i) : nullptr; };
    auto store_lane = [&](const Expr* at, const Expr* value, const Expr* only_if) {
      Store n = *s;
      n.buffer = element_buffer(s->buffer), n.value = value, n.predicate = nullptr, n.indices = one(build, at);
      const Stmt* store = build.add(n);
      if (!only_if) return store;
      return static_cast<const Stmt*>(build.add(If{{StmtKind::kIf, s->span}, only_if, store, nullptr}));
    };
    if (!overlaps(s)) {
      return lane_loop(lanes, unroll, [&](const Expr* i) { return store_lane(index(i), lane(s->value, i), predicate(i)); });
    }
    // All that is read of memory is kept before the first store.
    const Buffer* values = local_array(build, "lanes", s->value->dtype.element(), lanes);
    bool keep_index = reads(s->indices[0]), keep_predicate = s->predicate && reads(s->predicate);
    const Buffer* places = keep_index ? local_array(build, "places", s->indices[0]->dtype.element(), lanes) : nullptr;
    const Buffer* mask = keep_predicate ? local_array(build, "mask", kBool, lanes) : nullptr;
    auto kept = [&](const Buffer* b, const Expr* i) { return build.load(b->dtype, b, one(build, i)); };
    const Stmt* read = lane_loop(lanes, unroll, [&](const Expr* i) {
      std::vector<const Stmt*> all = {build.store(values, lane(s->value, i), one(build, i), nullptr, s->span)};
      if (places) all.push_back(build.store(places, index(i), one(build, i), nullptr, s->span));
      if (mask) all.push_back(build.store(mask, predicate(i), one(build, i), nullptr, s->span));
      return build.seq(all);
    });
    const Stmt* write = lane_loop(lanes, unroll, [&](const Expr* i) {
      return store_lane(places ? kept(places, i) : index(i), kept(values, i), mask ? kept(mask, i) : predicate(i));
    });
    // Inside a block of its own, so that the arrays' scope is the statement.
    std::vector<const Stmt*> parts;
    for (const Buffer* b : {values, places, mask}) {
      if (b) parts.push_back(alloc(build, b));
    }
    parts.insert(parts.end(), {read, write});
    const Stmt* body = build.seq(parts);
    return build.add(Attr{{StmtKind::kAttr, s->span}, {}, "lexical_alloc_scope", number(1), body});
  }

  static bool reads(const Expr* e) {
    bool found = false;
    visit(e, [&](const Expr* x) { found |= x->kind == ExprKind::kLoad || x->kind == ExprKind::kCall; });
    return found;
  }

  static bool is_fresh_memory(const Expr* e) {
    auto* c = e->as<Call>();
    if (c && c->op == Op::tirx_reinterpret) return is_fresh_memory(c->args[0]);
    return c && (c->op == Op::tirx_tvm_struct_get || c->op == Op::tirx_TVMBackendAllocWorkspace);
  }

  static bool has_shuffle(const Expr* e) {
    bool found = false;
    visit(e, [&](const Expr* x) { found |= x->kind == ExprKind::kShuffle && x->dtype.lanes > 1; });
    return found;
  }

  const Stmt* vector_bind(const Bind* b) {
    uint16_t lanes = b->value->dtype.lanes;
    const Buffer* all = local_array(build, b->var->name, b->value->dtype.element(), lanes);
    const Stmt* fill = lane_loop(lanes, has_shuffle(b->value),
                                 [&](const Expr* i) { return build.store(all, lane(b->value, i), one(build, i), nullptr, b->span); });
    arrays_[b->var] = all;
    return build.seq({alloc(build, all), fill}, b->span);
  }

  const Stmt* scalar_predicate(const Stmt* s) {
    auto* store = s->as<Store>();
    if (!store->predicate) return s;
    Store n = *store;
    n.predicate = nullptr;
    return build.add(If{{StmtKind::kIf, s->span}, store->predicate, build.add(n), nullptr});
  }

  // Whether a lane of the value may read what another lane has written. Reading exactly the element that is written does no harm.
  bool overlaps(const Store* s) {
    bool found = false;
    auto check = [&](const Expr* x) {
      if (auto* l = x->as<Load>()) {
        if (l->buffer->data == s->buffer->data) {
          found |= l->buffer->dtype != s->buffer->dtype || !one_element_a_lane(s->indices[0]) || !same(l->indices[0], s->indices[0]);
        } else {
          found |= !is_distinct(l->buffer->data) || !is_distinct(s->buffer->data);
        }
      }
      if (auto* c = x->as<Call>()) found |= op_info(c->op).effect != Effect::kPure;
    };
    visit(s->value, check);
    visit(s->indices[0], check);
    if (s->predicate) visit(s->predicate, check);
    return found;
  }
  // Whether no two lanes have the same index; a scalar index is that of a whole item.
  static bool one_element_a_lane(const Expr* index) {
    if (index->dtype.lanes <= 1) return true;
    auto* r = index->as<Ramp>();
    return r && constant(r->stride) && constant(r->stride)->value != 0 && r->base->dtype.lanes <= 1;
  }
  bool is_distinct(const Var* v) const { return std::find(distinct_.begin(), distinct_.end(), v) != distinct_.end(); }
  static bool same(const Expr* a, const Expr* b) {
    if (a == b) return true;
    if (a->kind != b->kind || a->dtype != b->dtype) return false;
    if (auto* x = constant(a)) return x->value == constant(b)->value;
    if (auto* x = a->as<Binary>()) return same(x->a, b->as<Binary>()->a) && same(x->b, b->as<Binary>()->b);
    if (auto* x = a->as<Ramp>()) return same(x->base, b->as<Ramp>()->base) && same(x->stride, b->as<Ramp>()->stride);
    if (auto* x = a->as<Cast>()) return same(x->value, b->as<Cast>()->value);
    return false;
  }

  std::vector<const Var*> distinct_;  // data pointers that share no memory with each other
  std::map<const Var*, const Buffer*> arrays_;
  std::map<const Var*, const Expr*> lets_;
  std::map<const Buffer*, const Buffer*> element_buffers_;
};

}  // namespace

const Function* split_vectors(Arena& arena, const Function* f) {
  Splitter pass(arena, f);
  return rewrite_body(arena, f, pass);
}

}  // namespace kiln::legalise
