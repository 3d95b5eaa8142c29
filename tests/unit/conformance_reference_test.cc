// The reference evaluator against values worked out by hand or taken from numpy and ml_dtypes.
#include <gmock/gmock.h>

#include <cmath>

#include "base/small_float.h"
#include "conformance/cell.h"
#include "conformance/reference.h"
#include "conformance/scalar_ops.h"
#include "kiln/ir_module.h"

namespace kiln::conformance {
namespace {

using ir::DataType;
using ir::ExprKind;
using ir::Op;
using testing::HasSubstr;

DataType type(const char* name) { return *ir::parse_dtype(name); }
Scalar number(const char* t, double v) {
  return type(t).is_floating() ? make_floating(type(t), v) : make_integer(type(t), static_cast<Integer>(v));
}
uint64_t bits(const char* t, double v) { return to_bits(make_floating(type(t), v)); }

// ---- formats ----------------------------------------------------------------------------------------------------

TEST(ConformanceValue, FormatsRoundAsTheirSpecificationsSay) {
  struct Row {
    const char* dtype;
    double value;
    uint64_t bits;
  };
  for (const Row& r : std::initializer_list<Row>{
           {"float16", 0.1, 0x2e66},
           {"float16", 65519, 0x7bff},  // below the middle between the largest value and the next
           {"float16", 65520, 0x7c00},  // the middle: to even, which is infinity
           {"float16", 0x1p-25, 0},     // half of the smallest: to even
           {"float16", 0x1.8p-24, 2},   // between 1 and 2 units: to even
           {"float16", -0.0, 0x8000},
           {"bfloat16", 0.3, 0x3e9a},
           {"bfloat16", 1 + 0x1p-8, 0x3f80},  // ties to even, down
           {"bfloat16", 1 + 0x3p-8, 0x3f82},  // ties to even, up
           {"bfloat16", 3.4e38, 0x7f80},
           {"float32", 16777217, 0x4b800000},  // 2^24 + 1
           {"float64", 0.1, 0x3fb999999999999a},
           {"float8_e3m4", 0.1, 0x06},
           {"float8_e3m4", 5.5, 0x56},
           {"float8_e4m3fn", 17, 0x58},
           {"float8_e4m3fn", 464, 0x7e},  // saturates
           {"float8_e4m3fn", -1e9, 0xfe},
           {"float8_e4m3fn", 0x1p-10, 0},
           {"float8_e4m3fn", 0x1.8p-9, 2},
           {"float8_e4m3b11fnuz", 0.3, 0x4a},
           {"float8_e4m3b11fnuz", -0.0, 0},  // 0x80 is the NaN
           {"float8_e4m3fnuz", 0.1, 0x25},
           {"float8_e5m2", 5.5, 0x46},
           {"float8_e5m2", HUGE_VAL, 0x7b},  // saturates, although the format has an infinity
           {"float8_e5m2fnuz", 1.0 / 3, 0x39},
           {"float8_e8m0fnu", 0.1, 0x7c},
           {"float8_e8m0fnu", 17, 0x83},
           {"float8_e8m0fnu", 3, 0x80},  // between 2 and 4: the even code
       }) {
    EXPECT_EQ(bits(r.dtype, r.value), r.bits) << r.dtype << " " << r.value;
  }
}

TEST(ConformanceValue, EveryCodeHasTheValueOfItsFormat) {
  struct Row {
    const char* dtype;
    int nans, infinities;
    double sum;  // of all finite magnitudes
  };
  for (const Row& r :
       std::initializer_list<Row>{{"float8_e3m4", 30, 2, 744},
                                  {"float8_e4m3", 2, 0, 10815.75},
                                  {"float8_e4m3fn", 2, 0, 10815.75},
                                  {"float8_e4m3b11fnuz", 1, 0, 735.984375},
                                  {"float8_e4m3fnuz", 1, 0, 5887.875},
                                  {"float8_e5m2", 6, 2, 720895.99951171875},
                                  {"float8_e5m2fnuz", 1, 0, 720895.999755859375},
                                  {"float8_e8m0fnu", 1, 0, 0x1.fffffffffffffp127 + 0x1p74},  // 2^128, less what a double loses
                                  {"float16", 2046, 2, 201261055.875}}) {
    int nans = 0, infinities = 0;
    double sum = 0;
    DataType t = type(r.dtype);
    for (uint64_t code = 0; code < uint64_t{1} << t.bits; ++code) {
      Scalar v = from_bits(t, code);
      nans += std::isnan(v.floating);
      infinities += std::isinf(v.floating);
      if (!std::isfinite(v.floating)) continue;
      sum += std::fabs(v.floating);
      ASSERT_EQ(to_bits(v), code) << r.dtype;
      ASSERT_EQ(decode_float(t, code), v.floating) << r.dtype << " " << code;  // the library's own decoder, written apart
    }
    EXPECT_EQ(nans, r.nans) << r.dtype;
    EXPECT_EQ(infinities, r.infinities) << r.dtype;
    EXPECT_DOUBLE_EQ(sum, r.sum) << r.dtype;
  }
}

TEST(ConformanceValue, DistanceCountsStepsOfTheFormat) {
  DataType t = ir::kFloat32;
  EXPECT_EQ(distance(from_bits(t, 0x3f800000), from_bits(t, 0x3f800003), true), 3u);
  EXPECT_EQ(distance(from_bits(t, 0x80000001), from_bits(t, 0x00000001), true), 2u);
  EXPECT_EQ(distance(number("float32", 0.0), number("float32", -0.0), true), 1u);
  EXPECT_EQ(distance(number("float32", 0.0), number("float32", -0.0), false), 0u);
  EXPECT_EQ(distance(from_bits(t, 0x7fc00000), from_bits(t, 0xffc00001), true), 0u) << "any NaN is a NaN";
  EXPECT_GT(distance(from_bits(t, 0x7fc00000), from_bits(t, 0x7f800000), true), 1000u) << "but no other value is one";
}

// ---- operators --------------------------------------------------------------------------------------------------

double integer_result(ExprKind k, const char* t, double a, double b) {
  Scalar v = evaluate_binary(k, number(t, a), number(t, b));
  return v.defined ? static_cast<double>(v.integer) : NAN;
}

TEST(ConformanceOperators, IntegersWrapAndDivisionsRoundAsNamed) {
  EXPECT_EQ(integer_result(ExprKind::kAdd, "int8", 127, 1), -128);
  EXPECT_EQ(integer_result(ExprKind::kSub, "uint16", 0, 1), 65535);
  EXPECT_EQ(integer_result(ExprKind::kMul, "int16", 300, 300), 24464);
  EXPECT_EQ(integer_result(ExprKind::kDiv, "int32", -7, 2), -3);
  EXPECT_EQ(integer_result(ExprKind::kMod, "int32", -7, 2), -1);
  EXPECT_EQ(integer_result(ExprKind::kFloorDiv, "int32", -7, 2), -4);
  EXPECT_EQ(integer_result(ExprKind::kFloorMod, "int32", -7, 2), 1);
  EXPECT_EQ(integer_result(ExprKind::kFloorMod, "int32", 7, -2), -1);
  EXPECT_TRUE(std::isnan(integer_result(ExprKind::kDiv, "int32", 1, 0))) << "undefined";
  EXPECT_TRUE(std::isnan(integer_result(ExprKind::kDiv, "int8", -128, -1))) << "undefined";
  EXPECT_EQ(integer_result(ExprKind::kShiftRight, "int8", -5, 1), -3);
  EXPECT_EQ(integer_result(ExprKind::kShiftLeft, "int8", 65, 1), -126);
  EXPECT_TRUE(std::isnan(integer_result(ExprKind::kShiftLeft, "int8", 1, 8))) << "undefined";
  EXPECT_EQ(to_bits(evaluate_binary(ExprKind::kShiftLeft, number("uint64", 3), number("uint64", 63))), uint64_t{1} << 63);
}

TEST(ConformanceOperators, FloatsRoundOnceAndMinimumPrefersNumbers) {
  EXPECT_EQ(to_bits(evaluate_binary(ExprKind::kAdd, number("float16", 2048), number("float16", 1))), 0x6800u);
  EXPECT_EQ(evaluate_binary(ExprKind::kAdd, number("float8_e4m3fn", 448), number("float8_e4m3fn", 448)).floating, 448);
  EXPECT_EQ(evaluate_binary(ExprKind::kMin, number("float32", NAN), number("float32", 2)).floating, 2);
  EXPECT_EQ(evaluate_binary(ExprKind::kMax, number("float32", 2), number("float32", NAN)).floating, 2);
  EXPECT_TRUE(std::isnan(evaluate_call(Op::tl_max_nan, ir::kFloat32, {number("float32", 2), number("float32", NAN)}).floating));
  EXPECT_FALSE(evaluate_binary(ExprKind::kEQ, number("float32", NAN), number("float32", NAN)).integer);
  EXPECT_TRUE(evaluate_binary(ExprKind::kNE, number("float32", NAN), number("float32", NAN)).integer);
}

TEST(ConformanceOperators, CastsTruncateWrapAndRound) {
  auto cast = [](const char* to, Scalar v) { return evaluate_cast(type(to), v); };
  EXPECT_EQ(static_cast<int>(cast("int32", number("float32", -2.75)).integer), -2);
  EXPECT_EQ(static_cast<int>(cast("int8", number("int32", 300)).integer), 44);
  EXPECT_EQ(static_cast<int>(cast("uint8", number("int8", -1)).integer), 255);
  EXPECT_FALSE(cast("uint8", number("float32", 256)).defined);
  EXPECT_FALSE(cast("int32", number("float32", NAN)).defined);
  EXPECT_TRUE(cast("bool", number("float32", NAN)).integer);
  EXPECT_EQ(static_cast<int>(cast("int32", cast("bool", number("int64", -1))).integer), 1);
  EXPECT_EQ(to_bits(cast("float16", number("float64", 1 + 0x1p-11 + 0x1p-40))), 0x3c01u) << "through float32 it would be 0x3c00";
  EXPECT_FALSE(cast("float8_e8m0fnu", number("float32", 0)).defined);
}

TEST(ConformanceOperators, FunctionsHaveTheirDocumentedRules) {
  auto of = [](Op op, const char* t, double v) { return evaluate_call(op, type(t), {number(t, v)}); };
  EXPECT_EQ(of(Op::tirx_round, "float32", 2.5).floating, 3);
  EXPECT_EQ(of(Op::tirx_round, "float32", -2.5).floating, -3);
  EXPECT_EQ(of(Op::tirx_nearbyint, "float32", 2.5).floating, 2);
  EXPECT_EQ(static_cast<int>(of(Op::tirx_clz, "int16", 1).integer), 15);
  EXPECT_EQ(static_cast<int>(of(Op::tirx_clz, "uint8", 0).integer), 8);
  EXPECT_EQ(static_cast<int>(of(Op::tirx_popcount, "int8", -1).integer), 8);
  EXPECT_EQ(static_cast<int>(evaluate_call(Op::tl___ffs, ir::kInt32, {number("int32", 8)}).integer), 4);
  EXPECT_EQ(to_bits(of(Op::tirx_exp, "float32", 1)), 0x402df854u);
  EXPECT_EQ(to_bits(of(Op::tirx_sqrt, "float32", 2)), 0x3fb504f3u);
  Scalar nan = number("float32", NAN), zero = number("float32", 0), one = number("float32", 1);
  EXPECT_TRUE(std::isnan(evaluate_call(Op::tl_clamp, ir::kFloat32, {nan, zero, one}).floating));
  EXPECT_EQ(evaluate_call(Op::tl_clamp, ir::kFloat32, {number("float32", 5), zero, one}).floating, 1);
}

// ---- statements -------------------------------------------------------------------------------------------------

struct Ran {
  Result<Outcome> outcome;
  std::vector<int> values;
  std::vector<bool> defined;
};
// Runs k(A: int32[8]) with this body on 0, 1, ..., 7.
Ran run(const std::string& body, const std::string& before = "") {
  std::string text =
      "@I.ir_module\nclass Module:\n" + before +
      "    @T.prim_func\n    def k(a: T.handle(\"int32\", \"global\")):\n        A = T.decl_buffer((8,), \"int32\", data=a)\n" + body;
  auto module = IRModule::parse(text, "test");
  if (!module) return {module.error(), {}, {}};
  Memory m(32);
  for (size_t i = 0; i < 8; ++i) m.bytes[i * 4] = static_cast<uint8_t>(i);
  Ran r{run_reference(module->ir(), "k", {{&m, {}}}), {}, {}};
  for (size_t i = 0; i < 8; ++i) {
    r.values.push_back(
        static_cast<int>(from_bits(ir::kInt32, m.bytes[i * 4] | m.bytes[i * 4 + 1] << 8 | m.bytes[i * 4 + 2] << 16).integer));
    r.defined.push_back(m.defined[i * 4]);
  }
  return r;
}
std::string error_of(const Ran& r) { return r.outcome ? "none" : r.outcome.error().to_string(); }

TEST(ConformanceReference, LoopsBranchesAndCallsRunInOrder) {
  Ran r =
      run("        for i in range(8):\n"
          "            if i == 2:\n"
          "                continue\n"
          "            if i == 5:\n"
          "                break\n"
          "            A[i] = A[i] * 10\n"
          "        while A[7] < 50:\n"
          "            A[7] = A[7] * 2\n"
          "        Module.twice(a, 6)\n",
          "    @T.prim_func(private=True)\n"
          "    def twice(p: T.handle(\"int32\", \"global\"), n: T.int32):\n"
          "        P = T.decl_buffer((4, 2), \"int32\", data=p)\n"
          "        P[n // 2, n % 2] = P[n // 2, n % 2] + P[3, 0]\n");
  ASSERT_EQ(error_of(r), "none");
  EXPECT_THAT(r.values, testing::ElementsAre(0, 10, 2, 30, 40, 5, 12, 56));
}

TEST(ConformanceReference, VectorsPredicatesAndShuffles) {
  Ran r =
      run("        A[0:4] = T.Shuffle([A[0:4], A[4:8]], [7, 0, 6, 1])\n"
          "        T.BufferStore(A, T.Broadcast(9, 4), [T.Ramp(4, 1, 4)], predicate=A[4:8] > T.Broadcast(5, 4))\n");
  ASSERT_EQ(error_of(r), "none");
  EXPECT_THAT(r.values, testing::ElementsAre(7, 0, 6, 1, 4, 5, 9, 9));
}

TEST(ConformanceReference, AssertionsUndefinedValuesAndFaultsAreTold) {
  Ran failed = run("        assert A[1] == 2, (\"ValueError\", [\"not \", \"two\"])\n");
  ASSERT_TRUE(failed.outcome.ok());
  EXPECT_TRUE(failed.outcome->failed);
  EXPECT_EQ(failed.outcome->message, "ValueError: not two");
  Ran open = run("        A[0] = T.Div(A[3], A[0])\n        A[1] = A[3] + A[0]\n        A[2] = A[3]\n");
  EXPECT_THAT(open.defined, testing::ElementsAre(false, false, true, true, true, true, true, true));
  EXPECT_THAT(error_of(run("        A[A[7] + 1] = 0\n")), HasSubstr("out of bounds"));
  EXPECT_THAT(error_of(run("        while A[7] > 0:\n            A[6] = 1\n")), HasSubstr("does not end"));
  EXPECT_THAT(error_of(run("        A[0] = T.call_extern(\"int32\", \"f\", A[1])\n")),
              HasSubstr("no rule for operator 'tirx.call_extern'"));
  Ran lazy = run("        A[0] = T.if_then_else(A[7] < 7, A[100], A[2])\n");
  EXPECT_EQ(error_of(lazy), "none");
  EXPECT_EQ(lazy.values[0], 2);
}

}  // namespace
}  // namespace kiln::conformance
