#include "base/small_float.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace kiln {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

ir::DataType dtype(const char* name) { return *ir::parse_dtype(name); }
uint64_t encode(const char* name, double v) { return encode_float(dtype(name), v); }
double decode(const char* name, uint64_t bits) { return decode_float(dtype(name), bits); }

// Patterns worked out from the definitions of the formats: OCP 8-bit and Microscaling specifications, IEEE 754.
struct Pattern {
  const char* format;
  uint64_t bits;
  double value;
};
constexpr Pattern kPatterns[] = {
    {"float16", 0x3C00, 1.0},
    {"float16", 0x7BFF, 65504},
    {"float16", 0x0001, 0x1p-24},
    {"float16", 0x0400, 0x1p-14},
    {"float16", 0x5140, 42},
    {"float16", 0xC000, -2},
    {"bfloat16", 0x3F80, 1.0},
    {"bfloat16", 0x402E, 2.71875},
    {"bfloat16", 0x3EBC, 0.3671875},
    {"bfloat16", 0x0001, 0x1p-133},
    {"bfloat16", 0x7F7F, 0x1.FEp127},
    {"float32", 0x3F800000, 1.0},
    {"float32", 0x00000001, 0x1p-149},
    {"float32", 0x7F7FFFFF, 0x1.FFFFFEp127},
    {"float64", 0x3FF8000000000000, 1.5},
    {"float8_e4m3fn", 0x38, 1.0},
    {"float8_e4m3fn", 0x7E, 448},
    {"float8_e4m3fn", 0x01, 0x1p-9},
    {"float8_e4m3fn", 0x08, 0x1p-6},
    {"float8_e4m3fn", 0xFE, -448},
    {"float8_e4m3", 0x7E, 448},
    {"float8_e4m3fnuz", 0x40, 1.0},
    {"float8_e4m3fnuz", 0x7F, 240},
    {"float8_e4m3fnuz", 0x01, 0x1p-10},
    {"float8_e4m3b11fnuz", 0x58, 1.0},
    {"float8_e4m3b11fnuz", 0x7F, 30},
    {"float8_e5m2", 0x3C, 1.0},
    {"float8_e5m2", 0x7B, 57344},
    {"float8_e5m2", 0x01, 0x1p-16},
    {"float8_e5m2fnuz", 0x40, 1.0},
    {"float8_e5m2fnuz", 0x7F, 57344},
    {"float8_e5m2fnuz", 0x01, 0x1p-17},
    {"float8_e3m4", 0x30, 1.0},
    {"float8_e3m4", 0x6F, 15.5},
    {"float8_e3m4", 0x01, 0x1p-6},
    {"float8_e8m0fnu", 0x7F, 1.0},
    {"float8_e8m0fnu", 0x00, 0x1p-127},
    {"float8_e8m0fnu", 0xFE, 0x1p127},
    {"float6_e2m3fn", 0x08, 1.0},
    {"float6_e2m3fn", 0x1F, 7.5},
    {"float6_e2m3fn", 0x01, 0.125},
    {"float6_e3m2fn", 0x0C, 1.0},
    {"float6_e3m2fn", 0x1F, 28},
    {"float6_e3m2fn", 0x01, 0.0625},
    {"float6_e3m2fn", 0x3F, -28},
    {"float4_e2m1fn", 0x1, 0.5},
    {"float4_e2m1fn", 0x2, 1.0},
    {"float4_e2m1fn", 0x7, 6},
    {"float4_e2m1fn", 0xF, -6},
};

TEST(SmallFloat, KnownPatternsDecodeAndEncode) {
  for (const Pattern& p : kPatterns) {
    EXPECT_EQ(decode(p.format, p.bits), p.value) << p.format << " " << p.bits;
    EXPECT_EQ(encode(p.format, p.value), p.bits) << p.format << " " << p.value;
    EXPECT_EQ(encode_float_literal(dtype(p.format), p.value), p.bits) << p.format << " " << p.value;
  }
}

struct Format {
  const char* name;
  bool has_negative_zero, has_nan, has_infinity;
};
constexpr Format kSmall[] = {
    {"float16", true, true, true},          {"bfloat16", true, true, true},          {"float8_e3m4", true, true, true},
    {"float8_e4m3", true, true, false},     {"float8_e4m3fn", true, true, false},    {"float8_e4m3fnuz", false, true, false},
    {"float8_e5m2", true, true, true},      {"float8_e5m2fnuz", false, true, false}, {"float8_e4m3b11fnuz", false, true, false},
    {"float8_e8m0fnu", false, true, false}, {"float6_e2m3fn", true, false, false},   {"float6_e3m2fn", true, false, false},
    {"float4_e2m1fn", true, false, false}};

TEST(SmallFloat, EveryCodeSurvivesDecodeAndEncode) {
  for (const Format& f : kSmall) {
    ir::DataType t = dtype(f.name);
    for (uint64_t bits = 0; bits < uint64_t{1} << t.bits; ++bits) {
      double v = decode_float(t, bits);
      if (std::isnan(v)) {
        EXPECT_TRUE(f.has_nan) << f.name << " " << bits;
        EXPECT_TRUE(std::isnan(decode_float(t, encode_float(t, v)))) << f.name;
      } else if (std::isinf(v)) {
        EXPECT_TRUE(f.has_infinity) << f.name << " " << bits;
        EXPECT_EQ(encode_float_literal(t, v), bits) << f.name;
      } else {
        EXPECT_EQ(encode_float(t, v), bits) << f.name << " " << v;
      }
    }
  }
}

// Between neighbours a < b: just below the middle is a, just above is b, the middle is the one with the even code.
TEST(SmallFloat, EveryMiddleRoundsToEven) {
  for (const Format& f : kSmall) {
    ir::DataType t = dtype(f.name);
    if (t.code == ir::TypeCode::kFloat8E8M0FNU) continue;
    uint64_t sign = uint64_t{1} << (t.bits - 1);
    for (uint64_t low = 0; low + 1 < sign; ++low) {
      double a = decode_float(t, low), b = decode_float(t, low + 1);
      if (!std::isfinite(a) || !std::isfinite(b)) continue;
      double middle = (a + b) / 2;  // exact: one bit more than the format has
      uint64_t even = low & 1 ? low + 1 : low;
      ASSERT_EQ(encode_float(t, middle), even) << f.name << " " << middle;
      ASSERT_EQ(encode_float(t, std::nextafter(middle, kInf)), low + 1) << f.name << " " << middle;
      ASSERT_EQ(encode_float(t, std::nextafter(middle, 0)), low) << f.name << " " << middle;
      if (even != 0) {
        ASSERT_EQ(encode_float(t, -middle), even | sign) << f.name << " " << -middle;
      }
    }
  }
}

TEST(SmallFloat, NegativeZeroIsKeptWhereTheFormatHasOne) {
  EXPECT_EQ(encode("float16", -0.0), 0x8000u);
  EXPECT_EQ(encode("float8_e4m3fn", -0.0), 0x80u);
  EXPECT_EQ(encode("float4_e2m1fn", -0.0), 0x8u);
  EXPECT_EQ(encode("float8_e4m3fnuz", -0.0), 0u);
  EXPECT_EQ(encode("float8_e4m3fnuz", -1e-30), 0u);
  EXPECT_EQ(encode("float8_e5m2fnuz", -0.0), 0u);
  EXPECT_TRUE(std::signbit(decode("float8_e5m2", 0x80)));
}

TEST(SmallFloat, NanCodes) {
  EXPECT_TRUE(std::isnan(decode("float8_e4m3fn", 0x7F)));
  EXPECT_TRUE(std::isnan(decode("float8_e4m3fn", 0xFF)));
  EXPECT_TRUE(std::isnan(decode("float8_e4m3fnuz", 0x80)));
  EXPECT_TRUE(std::isnan(decode("float8_e5m2fnuz", 0x80)));
  EXPECT_TRUE(std::isnan(decode("float8_e8m0fnu", 0xFF)));
  for (uint64_t bits : {0x7D, 0x7E, 0x7F, 0xFD}) EXPECT_TRUE(std::isnan(decode("float8_e5m2", bits)));
  for (const Format& f : kSmall) {
    uint64_t bits = encode(f.name, kNan);
    EXPECT_EQ(std::isnan(decode(f.name, bits)), f.has_nan) << f.name;
  }
  EXPECT_EQ(decode("float4_e2m1fn", encode("float4_e2m1fn", kNan)), 6);
  EXPECT_EQ(decode("float6_e3m2fn", encode("float6_e3m2fn", kNan)), 28);
}

TEST(SmallFloat, WideFormatsOverflowToInfinity) {
  EXPECT_EQ(encode("float16", 65519.999), 0x7BFFu);
  EXPECT_EQ(encode("float16", 65520), 0x7C00u);
  EXPECT_EQ(encode("float16", -1e300), 0xFC00u);
  EXPECT_EQ(encode("float16", kInf), 0x7C00u);
  EXPECT_EQ(encode("bfloat16", 0x1.FFp127), 0x7F80u);
  EXPECT_EQ(encode("bfloat16", -kInf), 0xFF80u);
  EXPECT_EQ(encode("float32", 1e300), 0x7F800000u);
  EXPECT_EQ(encode("float64", kInf), 0x7FF0000000000000u);
}

TEST(SmallFloat, NarrowFormatsSaturate) {
  EXPECT_EQ(encode("float8_e5m2", 65504), 0x7Bu);
  EXPECT_EQ(encode("float8_e5m2", kInf), 0x7Bu);
  EXPECT_EQ(encode("float8_e5m2", -kInf), 0xFBu);
  EXPECT_EQ(encode("float8_e4m3fn", 1e5), 0x7Eu);
  EXPECT_EQ(encode("float8_e4m3fn", 464), 0x7Eu);
  EXPECT_EQ(encode("float8_e4m3fnuz", -kInf), 0xFFu);
  EXPECT_EQ(encode("float6_e2m3fn", 100), 0x1Fu);
  EXPECT_EQ(encode("float4_e2m1fn", -kInf), 0xFu);
}

TEST(SmallFloat, LiteralInfinitiesStayWhereTheFormatHasThem) {
  EXPECT_EQ(encode_float_literal(dtype("float8_e5m2"), kInf), 0x7Cu);
  EXPECT_EQ(encode_float_literal(dtype("float8_e5m2"), -kInf), 0xFCu);
  EXPECT_EQ(encode_float_literal(dtype("float8_e3m4"), kInf), 0x70u);
  EXPECT_EQ(encode_float_literal(dtype("float8_e5m2"), 1e30), 0x7Bu);
  EXPECT_EQ(encode_float_literal(dtype("float8_e4m3fn"), kInf), 0x7Eu);
}

TEST(SmallFloat, Float32RoundsOnceFromDouble) {
  EXPECT_EQ(encode("float32", 1e-40), 0x000116C2u);
  // Rounding to float32 first would make this the middle between two float16 values, and then the even one below.
  EXPECT_EQ(encode("float16", 1.0 + 0x1p-11 + 0x1p-40), 0x3C01u);
  EXPECT_EQ(encode("bfloat16", 1.0 + 0x1p-8 + 0x1p-40), 0x3F81u);
}

TEST(SmallFloat, ScalesArePowersOfTwo) {
  EXPECT_EQ(encode("float8_e8m0fnu", 1.4), 127u);
  EXPECT_EQ(encode("float8_e8m0fnu", 1.6), 128u);
  EXPECT_EQ(encode("float8_e8m0fnu", 0), 0u);
  EXPECT_EQ(encode("float8_e8m0fnu", 1e300), 0xFEu);
  EXPECT_EQ(encode("float8_e8m0fnu", 0x1p-140), 0u);
}

}  // namespace
}  // namespace kiln
