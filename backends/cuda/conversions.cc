// Vectors to and from float8: one instruction converts two elements (PTX ISA 9.0, 9.7.9.21, cvt; from sm_89 on).
#include "backends/cuda/intrinsics.h"
#include "backends/cuda/lower.h"
#include "legalise/rewrite.h"

namespace kiln::cuda {
namespace {

using namespace ir;
using legalise::alloc, legalise::local_array, legalise::one;

bool is_format(DataType t, std::string_view name) { return t.is_floating() && small_float_name(t) == name; }
// What every float8 is exact in, or what is exact in float32.
bool is_wider(DataType t) { return t.element() == kFloat32 || t.element() == kFloat16 || t.element() == kBFloat16; }
DataType with_lanes(DataType t, int lanes) { return {t.code, t.bits, static_cast<uint16_t>(lanes)}; }

class Conversions : public Rewriter {
 public:
  using Rewriter::Rewriter;

  const Stmt* stmt(const Stmt* s) override {
    auto* st = s->as<Store>();
    auto* c = st && !st->predicate ? st->value->as<Cast>() : nullptr;
    if (!c || c->dtype.lanes < 2 || c->dtype.lanes % 2) return stmt_children(s);
    DataType to = c->dtype, from = c->value->dtype;
    if ((is_format(to, "f8_e4m3") || is_format(to, "f8_e5m2")) && is_wider(from)) return encode(st, c->value);
    // A float8_e5m2 is the upper byte of a float16: there is nothing to convert.
    return is_format(from, "f8_e4m3") && is_wider(to) ? decode(st, c->value) : s;
  }

 private:
  const Stmt* encode(const Store* s, const Expr* value) {
    DataType to = s->value->dtype;
    int lanes = to.lanes;
    const Buffer *wide = local_array(build, "wide", kFloat32, lanes), *pairs = local_array(build, "pairs", kUInt16, lanes / 2);
    DataType t = with_lanes(kFloat32, lanes);
    const Stmt* widen = build.store(wide, value->dtype == t ? value : build.cast(t, value), all_of(lanes), nullptr, s->span);
    const Stmt* convert = each(pairs, lanes / 2, [&](const Expr* first, const Expr* second) {
      std::string name = "f32x2_to_" + small_float_name(to) + "x2";
      return named(kUInt16, name, {build.load(kFloat32, wide, one(build, first)), build.load(kFloat32, wide, one(build, second))});
    });
    return block(s, {alloc(build, wide), widen, alloc(build, pairs), convert},
                 build.call(to, Op::tirx_reinterpret, {all(pairs, lanes / 2)}));
  }

  const Stmt* decode(const Store* s, const Expr* value) {
    int lanes = value->dtype.lanes;
    const Buffer *codes = local_array(build, "codes", kUInt8, lanes), *pairs = local_array(build, "pairs", kUInt32, lanes / 2);
    const Expr* bits = build.call(with_lanes(kUInt8, lanes), Op::tirx_reinterpret, {value});
    const Stmt* keep = build.store(codes, bits, all_of(lanes), nullptr, s->span);
    const Stmt* convert = each(pairs, lanes / 2, [&](const Expr* first, const Expr* second) {
      return named(kUInt32, "f8_e4m3x2_to_f16x2",
                   {build.load(kUInt8, codes, one(build, first)), build.load(kUInt8, codes, one(build, second))});
    });
    DataType to = s->value->dtype, t = with_lanes(kFloat16, lanes);
    const Expr* halves = build.call(t, Op::tirx_reinterpret, {all(pairs, lanes / 2)});
    return block(s, {alloc(build, codes), keep, alloc(build, pairs), convert}, to == t ? halves : build.cast(to, halves));
  }

  const Expr* named(DataType t, std::string_view name, std::vector<const Expr*> args) {
    args.insert(args.begin(), build.string_imm(name));
    return build.call(t, Op::tirx_call_pure_extern, args);
  }
  const Expr* number(int n) { return build.int_imm(kInt32, n); }
  List<const Expr*> all_of(int lanes) { return one(build, build.ramp(number(0), number(1), static_cast<uint16_t>(lanes))); }
  const Expr* all(const Buffer* b, int size) {
    return size == 1 ? build.load(b->dtype, b, one(build, number(0))) : build.load(with_lanes(b->dtype, size), b, all_of(size));
  }
  // pairs[i] = pair(2 i, 2 i + 1) for every i.
  const Stmt* each(const Buffer* pairs, int size, auto&& pair) {
    if (size == 1) return build.store(pairs, pair(number(0), number(1)), one(build, number(0)));
    const Var* i = build.var("e", kInt32);
    const Expr* first = build.binary(ExprKind::kMul, i, number(2));
    const Stmt* body = build.store(pairs, pair(first, build.binary(ExprKind::kAdd, first, number(1))), one(build, i));
    return build.add(For{{StmtKind::kFor, 0}, i, number(0), number(size), nullptr, ForKind::kUnrolled, {}, nullptr, body});
  }
  // The store of `value` after `before`, in a scope of its own.
  const Stmt* block(const Store* s, std::vector<const Stmt*> before, const Expr* value) {
    Store n = *s;
    n.value = value;
    before.push_back(build.add(n));
    return build.add(Attr{{StmtKind::kAttr, s->span}, {}, "lexical_alloc_scope", number(1), build.seq(before)});
  }
};

}  // namespace

const Function* pair_conversions(Arena& arena, const Function* f, const Arch& arch) {
  if (arch.number < 89) return f;
  Conversions pass(arena);
  return legalise::rewrite_body(arena, f, pass);
}

}  // namespace kiln::cuda
