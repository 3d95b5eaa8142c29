#include "cases/expression.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace kiln::cases {
namespace {

const Names kNames = {{"m", int64_t{130}}, {"n", int64_t{-7}}, {"alpha", 0.5}, {"big", int64_t{9007199254740993}}};

int64_t whole(const char* text) {
  auto v = evaluate_integer(text, kNames);
  EXPECT_TRUE(v) << text << ": " << v.error().message;
  return v ? *v : -999999;
}
double real(const char* text) {
  auto v = evaluate(text, kNames);
  EXPECT_TRUE(v) << text << ": " << v.error().message;
  return v && v->index() == 1 ? std::get<1>(*v) : -999999;
}
std::string error_of(std::string_view text) {
  auto v = evaluate(text, kNames);
  return v ? "no error" : v.error().message;
}

TEST(Expression, IntegerArithmeticIsPythons) {
  EXPECT_EQ(whole("(m + 31) // 32 * 2"), 10);
  EXPECT_EQ(whole("2 + 3 * 4 - 1"), 13);
  EXPECT_EQ(whole("10 - 4 - 3"), 3);
  EXPECT_EQ(whole("n // 2"), -4);
  EXPECT_EQ(whole("n % 4"), 1);
  EXPECT_EQ(whole("7 % (0 - 4)"), -1);
  EXPECT_EQ(whole("7 // -4"), -2);
  EXPECT_EQ(whole("-n"), 7);
  EXPECT_EQ(whole("- -3"), 3);
  EXPECT_EQ(whole("+3"), 3);
  EXPECT_EQ(whole("  ( ( 1 ) ) "), 1);
}

TEST(Expression, TdivAndTmodTruncate) {
  EXPECT_EQ(whole("tdiv(n, 2)"), -3);
  EXPECT_EQ(whole("tmod(n, 4)"), -3);
  EXPECT_EQ(whole("tdiv(7, -2)"), -3);
  EXPECT_EQ(whole("tmod(7, -4)"), 3);
}

TEST(Expression, MinAndMaxCompareIntegersExactly) {
  EXPECT_EQ(whole("min(3, n, 9)"), -7);
  EXPECT_EQ(whole("max(m, 9)"), 130);
  EXPECT_EQ(whole("max(big - 1, big)"), 9007199254740993);
  EXPECT_EQ(whole("min(big, big - 1)"), 9007199254740992);
}

TEST(Expression, AFractionMakesADouble) {
  EXPECT_EQ(real("alpha * 3"), 1.5);
  EXPECT_EQ(real("1 / 4"), 0.25);
  EXPECT_EQ(real("1e-05"), 1e-05);
  EXPECT_EQ(real("-2.5e+3"), -2500.0);
  EXPECT_EQ(real("-.5"), -0.5);
  EXPECT_EQ(real("7.5 // 2"), 3.0);
  EXPECT_TRUE(std::isnan(real("NaN")));
  EXPECT_EQ(real("-Infinity"), -HUGE_VAL);
  EXPECT_EQ(whole("m / 2"), 65);
}

TEST(Expression, FaultsAreErrorsThatQuoteTheText) {
  EXPECT_EQ(error_of("k + 1"), "in the expression 'k + 1': 'k' is not known");
  EXPECT_EQ(error_of("m // (n + 7)"), "in the expression 'm // (n + 7)': division by zero");
  EXPECT_EQ(error_of("m % 0"), "in the expression 'm % 0': division by zero");
  EXPECT_EQ(error_of("1 / 0"), "in the expression '1 / 0': division by zero");
  EXPECT_EQ(error_of("1.5 // 0"), "in the expression '1.5 // 0': division by zero");
  EXPECT_EQ(error_of(""), "in the expression '': expected a number or a name");
  EXPECT_EQ(error_of("(m"), "in the expression '(m': expected ')'");
  EXPECT_EQ(error_of("m)"), "in the expression 'm)': unexpected ')'");
  EXPECT_EQ(error_of("2 ** 3"), "in the expression '2 ** 3': expected a number or a name");
  EXPECT_EQ(error_of("tdiv(1)"), "in the expression 'tdiv(1)': tdiv takes two arguments");
  EXPECT_EQ(error_of("min 3"), "in the expression 'min 3': expected '('");
  EXPECT_EQ(error_of("0x10"), "in the expression '0x10': unexpected 'x10'");
  EXPECT_EQ(error_of("m; n"), "in the expression 'm; n': unexpected '; n'");
}

TEST(Expression, IntegersStayWithin64Bits) {
  EXPECT_EQ(whole("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(whole("-9223372036854775807 - 1"), INT64_MIN);
  EXPECT_EQ(whole("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(whole("- 1 * -9223372036854775807"), INT64_MAX);
  EXPECT_EQ(error_of("9223372036854775808"), "in the expression '9223372036854775808': an integer does not fit 64 bits");
  EXPECT_EQ(error_of("9223372036854775807 + 1"), "in the expression '9223372036854775807 + 1': a result does not fit 64 bits");
  EXPECT_EQ(error_of("big * big"), "in the expression 'big * big': a result does not fit 64 bits");
  EXPECT_EQ(error_of("(-9223372036854775807 - 1) // -1"),
            "in the expression '(-9223372036854775807 - 1) // -1': a result does not fit 64 bits");
}

TEST(Expression, ASizeIsWhole) {
  auto v = evaluate_integer("m * alpha / 3", kNames);
  ASSERT_FALSE(v);
  EXPECT_EQ(v.error().message, "expected a whole number from the expression 'm * alpha / 3'");
  EXPECT_FALSE(evaluate_integer("1e30", kNames));
  EXPECT_FALSE(evaluate_integer("NaN", kNames));
}

TEST(Expression, DeepNestingIsAnError) {
  std::string deep = std::string(100000, '(') + "1";
  EXPECT_NE(error_of(deep).find("nested too deeply"), std::string::npos);
  EXPECT_NE(error_of(std::string(100000, '-') + "1").find("nested too deeply"), std::string::npos);
}

}  // namespace
}  // namespace kiln::cases
