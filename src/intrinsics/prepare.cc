#include "intrinsics/prepare.h"

#include "intrinsics/arguments.h"
#include "intrinsics/atomic.h"
#include "intrinsics/functions.h"
#include "legalise/rewrite.h"

namespace kiln::intrinsics {
namespace {

using namespace ir;

DataType bits_of(DataType t) { return {TypeCode::kUInt, t.bits, t.lanes}; }
bool is_small_float(DataType t) { return t.is_floating() && t.bits <= 16; }

// 32-bit words of one access by tl.ldg64, tl.sts128, ...; 0 for other operators.
int load_words(Op op) {
  switch (op) {
    case Op::tl_ldg32:
    case Op::tl_lds32: return 1;
    case Op::tl_ldg64:
    case Op::tl_lds64: return 2;
    case Op::tl_ldg128:
    case Op::tl_lds128: return 4;
    case Op::tl_ldg256: return 8;
    default: return 0;
  }
}
// Elements that an update of several takes; 0 for other operators.
int vector_add_lanes(Op op) {
  if (op == Op::tl_atomic_addx2_elem_op || op == Op::tl_atomic_addx2_ret_elem_op) return 2;
  return op == Op::tl_atomic_addx4_elem_op || op == Op::tl_atomic_addx4_ret_elem_op ? 4 : 0;
}
int store_words(Op op) {
  switch (op) {
    case Op::tl_stg32:
    case Op::tl_sts32: return 1;
    case Op::tl_stg64:
    case Op::tl_sts64: return 2;
    case Op::tl_stg128:
    case Op::tl_sts128: return 4;
    case Op::tl_stg256: return 8;
    default: return 0;
  }
}

class Preparation : public Rewriter {
 public:
  Preparation(Arena& arena, const HasVectorAdd& has_vector_add) : Rewriter(arena), has_vector_add_(has_vector_add) {}

  const Expr* expr(const Expr* e) override {
    e = expr_children(e);
    if (auto* b = e->as<Broadcast>()) return drawn_pair(b);
    auto* c = e->as<Call>();
    if (!c) return e;
    if (std::string name = ieee_function(c); !name.empty()) {
      std::vector<const Expr*> args = {build.string_imm(name)};
      for (const Expr* a : c->args) {
        if (!a->as<StringImm>()) args.push_back(a);
      }
      return build.call(c->dtype, Op::tirx_call_pure_extern, args, c->span);
    }
    if (int words = load_words(c->op)) return load(c, words);
    if (vector_add_lanes(c->op) == 0 && atomic_place(c)) return atomic(c);
    switch (c->op) {
      case Op::tl_atomic_addx2_ret_elem_op:
      case Op::tl_atomic_addx4_ret_elem_op: return add_lanes_and_return(c);
      case Op::tl_ballot: return build.call(c->dtype, Op::tl_ballot_sync, {build.int_imm(kUInt32, 0xFFFFFFFF), c->args[0]}, c->span);
      case Op::tirx_cuda__half2float:
      case Op::tirx_cuda__bfloat162float: return build.cast(kFloat32, c->args[0], c->span);
      case Op::tl_ptx_cluster_store: {
        auto* place = c->args[0]->as<Var>();
        return place && place->pointer ? with_argument(c, 1, place->pointer->element.element()) : c;
      }
      case Op::tirx_call_extern:
      case Op::tirx_call_pure_extern:  // a reduction's value and result are of one dtype
        return is_template_call(c) && !c->dtype.is_handle() && !c->dtype.is_void() && !c->dtype.is_bool() ? with_argument(c, 1, c->dtype)
                                                                                                          : c;
      case Op::tirx_dp4a: return dot_of_bytes(c);
      case Op::tl___ffs: {
        DataType t = c->args[0]->dtype, wide = (t.bits == 64 ? kInt64 : kInt32).with_lanes(t.lanes);
        const Expr* x = t == wide ? c->args[0] : build.cast(wide, c->args[0]);
        const Expr* n = named(kInt32.with_lanes(t.lanes), t.bits == 64 ? "__ffsll" : "__ffs", {x}, c->span);
        return n->dtype == c->dtype ? n : build.cast(c->dtype, n);
      }
      case Op::tl___fns: return named(c->dtype, "__fns", {c->args.begin(), c->args.end()}, c->span);
      case Op::tirx_cuda__ffs_u32: return named(c->dtype, "__ffs", {c->args[0]}, c->span);
      case Op::tirx_cuda__float_as_uint: return named(c->dtype, "__float_as_uint", {c->args[0]}, c->span);
      case Op::tirx_cuda__uint_as_float: return named(c->dtype, "__uint_as_float", {c->args[0]}, c->span);
      case Op::tirx_cuda__fdividef: return named(c->dtype, "__fdividef", {c->args[0], c->args[1]}, c->span);
      case Op::tirx_cuda__printf: {
        std::vector<const Expr*> args(c->args.begin(), c->args.end());
        args.insert(args.begin(), build.string_imm("printf"));
        return build.call(kInt32, Op::tirx_call_extern, args, c->span);
      }
      case Op::tl_pack_b8x4: {
        const Expr* word = nullptr;
        for (int i = 0; i < 4; ++i) {
          const Expr* v = c->args[static_cast<size_t>(i)];
          const Expr* byte = build.cast(kUInt32, reinterpret(bits_of(v->dtype), v));
          if (i) byte = build.binary(ExprKind::kShiftLeft, byte, build.int_imm(kUInt32, 8 * i));
          word = word ? build.binary(ExprKind::kBitOr, word, byte) : byte;
        }
        return reinterpret(c->dtype, word);
      }
      case Op::tl_pack_b16: {
        auto half = [&](const Expr* v) { return build.cast(kUInt32, reinterpret(bits_of(v->dtype), v)); };
        const Expr* high = build.binary(ExprKind::kShiftLeft, half(c->args[1]), build.int_imm(kUInt32, 16));
        return reinterpret(c->dtype, build.binary(ExprKind::kBitOr, half(c->args[0]), high));
      }
      case Op::tl_shfl_sync:
      case Op::tl_shfl_xor_sync:
      case Op::tl_shfl_up_sync:
      case Op::tl_shfl_down_sync:
      case Op::tirx_cuda____shfl_sync:
      case Op::tirx_cuda____shfl_xor_sync:
      case Op::tirx_cuda____shfl_up_sync:
      case Op::tirx_cuda____shfl_down_sync:
      case Op::tirx_tvm_warp_shuffle:
      case Op::tirx_tvm_warp_shuffle_xor:
      case Op::tirx_tvm_warp_shuffle_up:
      case Op::tirx_tvm_warp_shuffle_down: return shuffle(c);
      default: return e;
    }
  }

  const Stmt* stmt(const Stmt* s) override {
    s = stmt_children(s);
    auto* e = s->as<Evaluate>();
    auto* c = e ? e->value->as<Call>() : nullptr;
    if (!c) return s;
    if (int words = store_words(c->op)) return store(c, words);
    switch (c->op) {
      case Op::tl_atomic_addx2_elem_op:
      case Op::tl_atomic_addx4_elem_op: return add_lanes(c);
      case Op::tirx_cuda__trap_when_assert_failed:
      case Op::tl_device_assert:
      case Op::tl_device_assert_with_msg: {
        std::string_view message = "device assertion failed";
        if (c->args.size() > 1 && c->args[1]->as<StringImm>()) message = c->args[1]->as<StringImm>()->value;
        return build.add(
            Assert{{StmtKind::kAssert, s->span}, c->args[0], "AssertionError", build.list(std::vector<std::string_view>{message})});
      }
      default: return s;
    }
  }

 private:
  // Each lane of a broadcast draws a random number of its own; two of float64 have more bits (cuRAND's curand_uniform2_double).
  const Expr* drawn_pair(const Broadcast* b) {
    auto* c = b->value->as<Call>();
    bool pair = c && c->op == Op::tl_rng_rand_float && c->dtype == kFloat64 && b->dtype.lanes == 2 && text_arg(c, 0) == "uniform";
    return pair ? build.broadcast(build.call(c->dtype, c->op, {build.string_imm("uniform_pair")}, c->span), 2, b->span) : b;
  }

  const Expr* named(DataType t, std::string_view function, std::vector<const Expr*> args, SpanId span) {
    args.insert(args.begin(), build.string_imm(function));
    return build.call(t, Op::tirx_call_pure_extern, args, span);
  }

  const Expr* reinterpret(DataType t, const Expr* v) { return v->dtype == t ? v : build.call(t, Op::tirx_reinterpret, {v}, v->span); }

  // The words at an address, as elements of a view of that memory.
  std::pair<const Buffer*, const Expr*> words_at(const Expr* address, int words) {
    auto* place = address->as<Call>()->args[0]->as<Load>();
    Buffer view = *place->buffer;
    int64_t bits = view.dtype.bits;
    view.dtype = kUInt32;
    const Expr* at = place->indices[0];
    if (bits < 32) at = build.binary(ExprKind::kDiv, at, build.int_imm(at->dtype, 32 / bits));
    if (bits > 32) at = build.binary(ExprKind::kMul, at, build.int_imm(at->dtype, bits / 32));
    if (words > 1) at = build.ramp(at, build.int_imm(at->dtype, 1), static_cast<uint16_t>(words));
    return {build.add(view), at};
  }

  const Expr* load(const Call* c, int words) {
    auto [view, at] = words_at(c->args[0], words);
    DataType t = kUInt32.with_lanes(static_cast<uint16_t>(words));
    const Expr* value = build.load(t, view, legalise::one(build, at), nullptr, c->span);
    if (c->args.size() > 1) {  // nothing is read where the condition is false
      const Expr* zero = build.int_imm(kUInt32, 0);
      if (words > 1) zero = build.broadcast(zero, t.lanes);
      value = build.call(t, Op::tirx_if_then_else, {c->args[1], value, zero}, c->span);
    }
    return reinterpret(c->dtype, value);
  }

  const Stmt* store(const Call* c, int words) {
    auto [view, at] = words_at(c->args[0], words);
    const Expr* value = reinterpret(kUInt32.with_lanes(static_cast<uint16_t>(words)), c->args[1]);
    const Stmt* s = build.store(view, value, legalise::one(build, at), nullptr, c->span);
    return c->args.size() > 2 ? build.add(If{{StmtKind::kIf, c->span}, c->args[2], s, nullptr}) : s;
  }

  // The call with argument i, a scalar of another dtype, converted.
  const Expr* with_argument(const Call* c, size_t i, DataType t) {
    const Expr* value = i < c->args.size() ? c->args[i] : nullptr;
    if (!value || value->dtype == t || value->dtype.lanes != 1 || value->dtype.is_handle()) return c;
    Call n = *c;
    std::vector<const Expr*> args(c->args.begin(), c->args.end());
    args[i] = build.cast(t, value, c->span);
    n.args = build.list(args);
    return build.add(n);
  }

  // The values of an atomic in the dtype of the element.
  const Expr* atomic(const Call* c) {
    Atomic kind = atomic_of(c);
    DataType t = atomic_place(c)->buffer->dtype.element();
    const Expr* e = c;
    for (size_t i = kind.first + 1; i <= kind.first + kind.values; ++i) e = with_argument(e->as<Call>(), i, t);
    return e;
  }

  // Element i from an address on.
  const Load* element(const Load* place, int i) {
    Load n = *place;
    if (i > 0)
      n.indices = legalise::one(build, build.binary(ExprKind::kAdd, place->indices[0], build.int_imm(place->indices[0]->dtype, i)));
    return build.add(n);
  }

  // The values that an update of several elements adds: the lanes of a vector, or what lies at an address.
  std::vector<const Expr*> added(const Call* c, DataType t) {
    std::vector<const Expr*> all;
    const Expr* from = c->args[1];
    for (int i = 0; i < vector_add_lanes(c->op); ++i) {
      const Expr* value;
      if (from->dtype.is_handle()) {
        value = element(from->as<Call>()->args[0]->as<Load>(), i);
      } else {
        value = build.add(Shuffle{{ExprKind::kShuffle, from->dtype.element(), c->span},
                                  legalise::one(build, from),
                                  legalise::one(build, build.int_imm(kInt32, i))});
      }
      all.push_back(value->dtype == t ? value : build.cast(t, value));
    }
    return all;
  }
  const Expr* add_one(const Call* c, Op op, DataType result, const Load* place, int i, const Expr* value) {
    std::vector<const Expr*> args = {build.call(kHandle, Op::tirx_address_of, {element(place, i)}), value};
    if (c->args.size() > 2) args.push_back(c->args[2]);
    return build.call(result, op, args, c->span);
  }

  // One operator where the target has it for the dtype, else an update of each element: no more is promised.
  const Stmt* add_lanes(const Call* c) {
    auto* place = c->args[0]->as<Call>()->args[0]->as<Load>();
    std::vector<const Expr*> values = added(c, place->buffer->dtype.element());
    if (has_vector_add_(place->buffer, static_cast<int>(values.size()), c->args.size() > 2 ? int_arg(c, 2) : 0)) {
      values.insert(values.begin(), c->args[0]);
      if (c->args.size() > 2) values.push_back(c->args[2]);
      return build.evaluate(build.call(kHandle, c->op, values, c->span), c->span);
    }
    std::vector<const Stmt*> all;
    for (size_t i = 0; i < values.size(); ++i) {
      all.push_back(build.evaluate(add_one(c, Op::tl_atomic_add_elem_op, kHandle, place, static_cast<int>(i), values[i]), c->span));
    }
    return build.seq(all, c->span);
  }
  const Expr* add_lanes_and_return(const Call* c) {
    auto* place = c->args[0]->as<Call>()->args[0]->as<Load>();
    DataType t = place->buffer->dtype.element();
    std::vector<const Expr*> values = added(c, t), old, lanes;
    for (size_t i = 0; i < values.size(); ++i) {
      old.push_back(add_one(c, Op::tl_atomic_add_ret_elem_op, t, place, static_cast<int>(i), values[i]));
      lanes.push_back(build.int_imm(kInt32, static_cast<int64_t>(i)));
    }
    return build.add(Shuffle{{ExprKind::kShuffle, c->dtype, c->span}, build.list(old), build.list(lanes)});
  }

  // The sum of four products of bytes and a third operand.
  const Expr* dot_of_bytes(const Call* c) {
    bool is_unsigned = c->args[0]->dtype.is_uint();
    DataType t = is_unsigned ? kUInt32 : kInt32;
    std::vector<const Expr*> args = {build.string_imm("__dp4a")};
    for (const Expr* a : c->args) args.push_back(a->dtype.lanes > 1 ? reinterpret(t, a) : a->dtype == t ? a : build.cast(t, a));
    const Expr* sum = build.call(t, Op::tirx_call_pure_extern, args, c->span);
    return c->dtype == t ? sum : build.cast(c->dtype, sum);
  }

  // Small formats travel as bits.
  const Expr* shuffle(const Call* c) {
    DataType t = c->args[1]->dtype;
    if (!is_small_float(t) && !t.is_bool()) return c;
    Call n = *c;
    std::vector<const Expr*> args(c->args.begin(), c->args.end());
    DataType wide = kUInt32.with_lanes(t.lanes);
    args[1] = build.cast(wide, t.is_bool() ? args[1] : reinterpret(bits_of(t), args[1]));
    n.args = build.list(args), n.dtype = wide;
    const Expr* received = build.add(n);
    return t.is_bool() ? build.cast(t, received) : reinterpret(t, build.cast(bits_of(t), received));
  }

  const HasVectorAdd& has_vector_add_;
};

}  // namespace

const Function* prepare(Arena& arena, const Function* f, const HasVectorAdd& has_vector_add) {
  Preparation pass(arena, has_vector_add);
  return legalise::rewrite_body(arena, f, pass);
}

}  // namespace kiln::intrinsics
