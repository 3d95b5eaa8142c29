#include "cases/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace kiln::cases {
namespace {

template <class T>
Array array(std::vector<T> values, char kind = 'f') {
  Array a;
  a.kind = kind;
  a.item_bytes = sizeof(T);
  a.shape = {static_cast<int64_t>(values.size())};
  a.data.resize(values.size() * sizeof(T));
  std::memcpy(a.data.data(), values.data(), a.data.size());
  return a;
}
Param param(const char* dtype, double rtol = 0, double atol = 0) {
  Param p;
  p.dtype = *ir::parse_dtype(dtype);
  p.rtol = rtol, p.atol = atol;
  return p;
}
template <class T>
std::string run(const Param& p, std::vector<T> expected, std::vector<T> got, const Array* mask = nullptr) {
  return compare(p, array(expected), reinterpret_cast<const char*>(got.data()), mask);
}

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(Compare, ToleranceIsAbsolutePlusRelative) {
  Param p = param("float32", 0.01, 0.5);
  EXPECT_EQ(run<float>(p, {100}, {101.5f}), "");  // 0.5 + 0.01 * 100
  EXPECT_EQ(run<float>(p, {100}, {98.5f}), "");
  EXPECT_NE(run<float>(p, {100}, {101.75f}), "");
  EXPECT_NE(run<float>(p, {0}, {0.75f}), "");
}

TEST(Compare, SaysHowManyAndTheFirst) {
  EXPECT_EQ(run<int32_t>(param("int32"), {1, 2, 3, 4}, {1, 5, 3, 6}), "2 of 4 elements differ, the first at [1]: expected 2, got 5");
  EXPECT_EQ(run<float>(param("float32"), {1}, {2}),
            "1 of 1 elements differ, the first at [0]: expected 1 (bits 0x3f800000), got 2 (bits 0x40000000)");
}

TEST(Compare, IntegersAndBoolAreExactWhateverTheTolerance) {
  EXPECT_NE(run<int32_t>(param("int32", 1, 10), {100}, {101}), "");
  EXPECT_NE(run<int64_t>(param("int64"), {9007199254740993}, {9007199254740992}), "");
  EXPECT_NE(run<uint8_t>(param("bool"), {1}, {0}), "");
}

TEST(Compare, NonFiniteValues) {
  Param p = param("float32", 0.1, 0.1);
  EXPECT_EQ(run<float>(p, {kNaN, kInf, -kInf}, {-kNaN, kInf, -kInf}), "");
  EXPECT_NE(run<float>(p, {kNaN}, {1}), "");
  EXPECT_NE(run<float>(p, {1}, {kNaN}), "");
  EXPECT_NE(run<float>(p, {kInf}, {-kInf}), "");
  EXPECT_NE(run<float>(p, {kInf}, {3e38f}), "") << "a relative tolerance of an infinite value is no free pass";
  EXPECT_NE(run<float>(p, {3e38f}, {kInf}), "");
}

TEST(Compare, BitsSeeTheSignOfZeroButNotOfNaN) {
  Param p = param("float32", 1, 1);
  EXPECT_EQ(run<float>(p, {0.0f}, {-0.0f}), "");
  p.compare_bits = true;
  EXPECT_NE(run<float>(p, {0.0f}, {-0.0f}), "");
  EXPECT_NE(run<float>(p, {1.0f}, {std::nextafterf(1, 2)}), "");
  EXPECT_EQ(run<uint32_t>(p, {0x7fc00000u}, {0xffc00001u}), "");
  EXPECT_NE(run<uint32_t>(p, {0x7f800000u}, {0x7f800001u}), "") << "infinity is no NaN";
}

TEST(Compare, SmallFormatsAreDecoded) {
  EXPECT_EQ(run<uint16_t>(param("bfloat16", 0.01), {0x3f80}, {0x3f81}), "");  // 1 and 1 + 2^-7
  EXPECT_NE(run<uint16_t>(param("bfloat16", 0.001), {0x3f80}, {0x3f81}), "");
  EXPECT_EQ(run<uint8_t>(param("float8_e4m3fn"), {0x7f}, {0xff}), "") << "both are NaN";
  EXPECT_NE(run<uint8_t>(param("float8_e4m3fn"), {0x7e}, {0x7f}), "");
  EXPECT_EQ(run<uint8_t>(param("float8_e5m2"), {0x7d}, {0x7f}), "") << "both are NaN";
  EXPECT_NE(run<uint8_t>(param("float8_e5m2"), {0x7c}, {0x7f}), "") << "infinity and NaN";
  EXPECT_EQ(run<uint8_t>(param("float8_e5m2"), {0x00}, {0x80}), "") << "both are zero";
}

TEST(Compare, AMaskLeavesElementsOut) {
  Array mask = array<uint8_t>({0, 1, 0}, 'b');
  EXPECT_EQ(run<int32_t>(param("int32"), {1, 2, 3}, {1, 9, 3}, &mask), "");
  EXPECT_EQ(run<int32_t>(param("int32"), {1, 2, 3}, {1, 9, 4}, &mask), "1 of 3 elements differ, the first at [2]: expected 3, got 4");
  Array other = array<uint8_t>({0, 1}, 'b');
  EXPECT_EQ(run<int32_t>(param("int32"), {1, 2, 3}, {1, 2, 3}, &other), "the mask's shape is not the expected array's");
}

TEST(Compare, AnArrayOfAnotherWidthIsADifference) {
  EXPECT_EQ(run<float>(param("float16"), {1}, {1}), "the expected array has elements of 4 bytes, the parameter is float16");
}

}  // namespace
}  // namespace kiln::cases
