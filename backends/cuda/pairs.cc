// Operators on two elements side by side (tl.add2, ...): one instruction where the architecture has it, two of one element where not.
#include "backends/cuda/intrinsics.h"
#include "backends/cuda/lower.h"
#include "legalise/rewrite.h"

namespace kiln::cuda {
namespace {

using namespace ir;

// From which architecture on there is an instruction for two float16, bfloat16 and float32 (PTX ISA 9.0, 9.7.3 to 9.7.5); 0: none has it.
// Sums and products of bfloat16 are made of fma before sm_90.
struct PairOperator {
  Op op;
  std::string_view name;
  size_t args;
  int f16, bf16, f32;
};
constexpr PairOperator kPairs[] = {
    {Op::tl_add2, "add", 2, 75, 80, 100}, {Op::tl_sub2, "sub", 2, 75, 80, 100},       {Op::tl_mul2, "mul", 2, 75, 80, 100},
    {Op::tl_fma2, "fma", 3, 75, 80, 100}, {Op::tl_abs2, "abs", 1, 75, 80, 0},         {Op::tl_max2, "max", 2, 80, 80, 0},
    {Op::tl_min2, "min", 2, 80, 80, 0},   {Op::tl_max2_nan, "max_nan", 2, 80, 80, 0}, {Op::tl_min2_nan, "min_nan", 2, 80, 80, 0},
};

class Pairs : public Rewriter {
 public:
  Pairs(Arena& arena, const Arch& arch) : Rewriter(arena), arch_(arch) {}

  const Expr* expr(const Expr* e) override {
    e = expr_children(e);
    auto* c = e->as<Call>();
    const PairOperator* p = c ? operator_of(c) : nullptr;
    if (!p) return e;
    std::vector<const Expr*> args;
    for (const Expr* a : c->args) args.push_back(word_of(a));
    DataType t = c->dtype.element(), word = word_type(t);
    std::string format = t == kFloat32 ? "f32" : small_float_name(t);
    return elements_of(c->dtype, named(word, format + "x2_" + std::string(p->name), args, c->span));
  }

  // The word is kept before its elements are stored.
  const Stmt* stmt(const Stmt* s) override {
    s = stmt_children(s);
    auto* st = s->as<Store>();
    const Expr* word = st ? known_word(st->value) : nullptr;
    if (!word) return s;
    const Var* pair = build.var("pair", word->dtype);
    Store n = *st;
    n.value = elements_of(st->value->dtype, pair);
    const Stmt* body = build.seq({build.bind(pair, word, s->span), build.add(n)});
    return build.add(Attr{{StmtKind::kAttr, s->span}, {}, "lexical_alloc_scope", build.int_imm(kInt32, 1), body});
  }

 private:
  static DataType word_type(DataType element) { return element == kFloat32 ? kUInt64 : kUInt32; }
  static std::string_view first_of(DataType element) { return element == kFloat32 ? "first_float" : "first_half"; }
  static std::string_view second_of(DataType element) { return element == kFloat32 ? "second_float" : "second_half"; }
  const Expr* named(DataType t, std::string_view name, std::vector<const Expr*> args, SpanId span = 0) {
    args.insert(args.begin(), build.string_imm(name));
    return build.call(t, Op::tirx_call_pure_extern, args, span);
  }

  const PairOperator* operator_of(const Call* c) {
    DataType t = c->dtype.element();
    for (const PairOperator& p : kPairs) {
      int first = t == kFloat16 ? p.f16 : t == kBFloat16 ? p.bf16 : t == kFloat32 ? p.f32 : 0;
      if (p.op != c->op || c->dtype.lanes != 2 || c->args.size() != p.args || !first || arch_.number < first) continue;
      for (const Expr* a : c->args) {
        if (a->dtype != c->dtype) return nullptr;
      }
      return &p;
    }
    return nullptr;
  }

  const Expr* shuffle(DataType t, const std::vector<const Expr*>& vectors, const std::vector<int>& lanes) {
    std::vector<const Expr*> indices;
    for (int i : lanes) indices.push_back(build.int_imm(kInt32, i));
    return build.add(Shuffle{{ExprKind::kShuffle, t}, build.list(vectors), build.list(indices)});
  }
  const Expr* elements_of(DataType pair, const Expr* word) {
    DataType t = pair.element();
    auto element = [&](std::string_view name) {  // halves as their bits: they would be widened
      return t == kFloat32 ? named(t, name, {word}) : build.call(t, Op::tirx_reinterpret, {named(kUInt16, name, {word})});
    };
    return shuffle(pair, {element(first_of(t)), element(second_of(t))}, {0, 1});
  }
  // The word of which `e` is the elements, or null.
  const Expr* known_word(const Expr* e) {
    auto* s = e->as<Shuffle>();
    auto* c = s && s->dtype.lanes == 2 && s->vectors.size() == 2 ? s->vectors[0]->as<Call>() : nullptr;
    if (c && c->op == Op::tirx_reinterpret) c = c->args[0]->as<Call>();
    bool first = c && c->op == Op::tirx_call_pure_extern && c->args[0]->as<StringImm>()->value == first_of(e->dtype.element());
    return first ? c->args[1] : nullptr;
  }
  const Expr* word_of(const Expr* e) {
    if (const Expr* word = known_word(e)) return word;
    DataType t = e->dtype.element();
    auto element = [&](int i) {
      const Expr* x = shuffle(t, {e}, {i});
      return t == kFloat32 ? x : build.call(kUInt16, Op::tirx_reinterpret, {x});
    };
    std::string_view name = t == kFloat32 ? "pair_of_floats" : "pair_of_halves";
    return named(word_type(t), name, {element(0), element(1)}, e->span);
  }

  const Arch& arch_;
};

}  // namespace

const Function* pair_operators(Arena& arena, const Function* f, const Arch& arch) {
  Pairs pass(arena, arch);
  return legalise::rewrite_body(arena, f, pass);
}

}  // namespace kiln::cuda
