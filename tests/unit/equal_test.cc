#include "ir/equal.h"

#include <gmock/gmock.h>

#include <bit>
#include <limits>

#include "ir/builder.h"

namespace kiln::ir {
namespace {

using Body = const Stmt* (*)(Builder&, const Var*);

// A module with the function "k"(i) around what `body` makes.
std::shared_ptr<Module> module(Body body, std::string_view name = "i") {
  auto m = std::make_shared<Module>();
  Builder b(m->arena);
  const Var* i = b.var(name, kInt32);
  m->functions.push_back(b.add(Function{b.string("k"), b.list(std::vector<const Var*>{i}), kVoid, nullptr, body(b, i)}));
  return m;
}
// Why two bodies differ, or "" when they are equal; asked both ways round.
std::string why(Body x, Body y) {
  std::string forth, back;
  bool a = equal(*module(x), *module(y), &forth), b = equal(*module(y), *module(x), &back);
  EXPECT_EQ(a, b);
  EXPECT_EQ(a, forth.empty());
  return forth;
}

TEST(Equal, NamesOfVariablesDoNotCount) {
  Body body = [](Builder& b, const Var* i) { return b.evaluate(i); };
  EXPECT_TRUE(equal(*module(body, "i"), *module(body, "another")));
}

TEST(Equal, VariablesPairOneToOne) {
  Body two = [](Builder& b, const Var* i) {
    const Var* j = b.var("i", kInt32);
    return b.seq({b.bind(j, i), b.evaluate(b.binary(ExprKind::kAdd, i, j))});
  };
  Body one = [](Builder& b, const Var* i) {
    const Var* j = b.var("i", kInt32);
    return b.seq({b.bind(j, i), b.evaluate(b.binary(ExprKind::kAdd, i, i))});
  };
  EXPECT_EQ(why(two, two), "");
  EXPECT_EQ(why(one, two), "function 'k': variable ('i', 'i') differs");
}

TEST(Equal, NumbersAreComparedByBits) {
  Body zero = [](Builder& b, const Var*) { return b.evaluate(b.float_imm(kFloat32, 0.0)); };
  Body minus = [](Builder& b, const Var*) { return b.evaluate(b.float_imm(kFloat32, -0.0)); };
  Body nan = [](Builder& b, const Var*) { return b.evaluate(b.float_imm(kFloat32, std::numeric_limits<double>::quiet_NaN())); };
  Body wide = [](Builder& b, const Var*) { return b.evaluate(b.float_imm(kFloat64, 0.0)); };
  EXPECT_EQ(why(nan, nan), "");
  EXPECT_NE(why(zero, minus), "");
  EXPECT_NE(why(zero, nan), "");
  EXPECT_EQ(why(zero, wide), "function 'k': dtype of an expression ('float32', 'float64') differs");
}

TEST(Equal, EveryPartOfALoopCounts) {
  Body plain = [](Builder& b, const Var* i) -> const Stmt* {
    return b.add(For{{StmtKind::kFor}, b.var("j", kInt32), i, i, nullptr, ForKind::kSerial, {}, nullptr, b.seq({})});
  };
  Body unrolled = [](Builder& b, const Var* i) -> const Stmt* {
    return b.add(For{{StmtKind::kFor}, b.var("j", kInt32), i, i, nullptr, ForKind::kUnrolled, {}, nullptr, b.seq({})});
  };
  Body stepped = [](Builder& b, const Var* i) -> const Stmt* {
    return b.add(For{{StmtKind::kFor}, b.var("j", kInt32), i, i, b.int_imm(kInt32, 2), ForKind::kSerial, {}, nullptr, b.seq({})});
  };
  EXPECT_EQ(why(plain, plain), "");
  EXPECT_EQ(why(plain, unrolled), "function 'k': kind of loop differs");
  EXPECT_EQ(why(plain, stepped), "function 'k': presence of an operand differs");
}

Value text(std::string_view s) {
  Value v;
  v.kind = Value::Kind::kString, v.string = s;
  return v;
}
template <bool kSwapped, bool kOther>
const Stmt* annotated(Builder& b, const Var* i) {
  std::vector<KeyValue> items = {{text("x"), text("1")}, {text("y"), text(kOther ? "3" : "2")}};
  if (kSwapped) std::swap(items[0], items[1]);
  Value map;
  map.kind = Value::Kind::kMap, map.map = b.list(items);
  Call call{{ExprKind::kCall, kInt32}, Op::kUnknown, "f", {}, nullptr, b.add(map)};
  (void)i;
  return b.evaluate(b.add(call));
}

TEST(Equal, MapsDoNotCareForOrder) {
  EXPECT_EQ(why(annotated<false, false>, annotated<true, false>), "");
  EXPECT_EQ(why(annotated<false, false>, annotated<true, true>), "function 'k': attribute 'y' differs");
}

TEST(Equal, FunctionsCompareByNameAndNumber) {
  auto a = module([](Builder&b, const Var*) { return b.seq({}); }), b = module([](Builder&b, const Var*) { return b.seq({}); });
  Builder build(b->arena);
  Function f = *b->functions[0];
  f.name = "other";
  b->functions[0] = build.add(f);
  std::string reason;
  EXPECT_FALSE(equal(*a, *b, &reason));
  EXPECT_EQ(reason, "function 'k': name ('k', 'other') differs");
  b->functions.push_back(b->functions[0]);
  EXPECT_FALSE(equal(*a, *b, &reason));
}

TEST(Equal, SharedExpressionsTakeLinearTime) {
  Body bomb = [](Builder& b, const Var* i) {
    const Expr* e = i;
    for (int k = 0; k < 200; ++k) e = b.binary(ExprKind::kAdd, e, e);
    return b.evaluate(e);
  };
  EXPECT_EQ(why(bomb, bomb), "");
}

}  // namespace
}  // namespace kiln::ir
