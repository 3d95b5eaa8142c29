// The conversion helpers that printed text embeds, against the exact encoder and decoder of the library.
#include <gtest/gtest.h>
#include <math.h>
#include <string.h>

#include <cmath>
#include <cstdint>
#include <random>

#include "base/small_float.h"

namespace kiln::host_c {
namespace {

#include "host_c/device/bits.c"
// needs bits
#include "host_c/device/round_float.c"
// needs round_float
#include "host_c/device/bf16.c"
#include "host_c/device/f16.c"
#include "host_c/device/f8.c"
// needs f8
#include "host_c/device/f8_e3m4.c"
#include "host_c/device/f8_e4m3.c"
#include "host_c/device/f8_e4m3b11fnuz.c"
#include "host_c/device/f8_e4m3fn.c"
#include "host_c/device/f8_e4m3fnuz.c"
#include "host_c/device/f8_e5m2.c"
#include "host_c/device/f8_e5m2fnuz.c"
#include "host_c/device/f8_e8m0fnu.c"
#include "host_c/device/int_to_f64.c"

// Values with every exponent, ties of every format among them.
std::vector<double> samples() {
  std::vector<double> out = {0.0, -0.0, INFINITY, -INFINITY, 1e300, -1e-300, 65520, 65519.99, 464, 480, 61440, 0x1p-9, 0x1p-10, 0x1.8p-10};
  std::mt19937_64 random(1);
  for (int e = -150; e <= 150; ++e) {
    for (int i = 0; i < 200; ++i) {
      double fraction = 1 + static_cast<double>(random() & 0xFFF) / 4096;
      out.push_back(std::ldexp(i & 1 ? -fraction : fraction, e));
      out.push_back(std::nextafter(out.back(), i & 2 ? 1e308 : -1e308));
    }
  }
  return out;
}

template <class Code>
void matches(const char* name, int bits, float (*decode)(Code), Code (*encode32)(float), Code (*encode64)(double)) {
  ir::DataType t = *ir::parse_dtype(name);
  for (uint32_t code = 0; code < 1u << bits; ++code) {
    double expected = decode_float(t, code);
    float got = decode(static_cast<Code>(code));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(got)) << name << " " << code;
    } else {
      ASSERT_EQ(static_cast<double>(got), expected) << name << " " << code;
    }
  }
  for (double x : samples()) {
    ASSERT_EQ(encode64(x), encode_float(t, x)) << name << " " << x;
    auto narrow = static_cast<float>(x);
    ASSERT_EQ(encode32(narrow), encode_float(t, static_cast<double>(narrow))) << name << " " << narrow;
  }
  ASSERT_TRUE(std::isnan(decode(encode32(NAN))) && std::isnan(decode(encode64(NAN)))) << name;
}

TEST(CDevice, FormatsRoundOnce) {
  matches<f16>("float16", 16, f16_to_f32, f32_to_f16, f64_to_f16);
  matches<bf16>("bfloat16", 16, bf16_to_f32, f32_to_bf16, f64_to_bf16);
  matches<uint8_t>("float8_e3m4", 8, f8_e3m4_to_f32, f32_to_f8_e3m4, f64_to_f8_e3m4);
  matches<uint8_t>("float8_e4m3", 8, f8_e4m3_to_f32, f32_to_f8_e4m3, f64_to_f8_e4m3);
  matches<uint8_t>("float8_e4m3fn", 8, f8_e4m3fn_to_f32, f32_to_f8_e4m3fn, f64_to_f8_e4m3fn);
  matches<uint8_t>("float8_e4m3fnuz", 8, f8_e4m3fnuz_to_f32, f32_to_f8_e4m3fnuz, f64_to_f8_e4m3fnuz);
  matches<uint8_t>("float8_e4m3b11fnuz", 8, f8_e4m3b11fnuz_to_f32, f32_to_f8_e4m3b11fnuz, f64_to_f8_e4m3b11fnuz);
  matches<uint8_t>("float8_e5m2", 8, f8_e5m2_to_f32, f32_to_f8_e5m2, f64_to_f8_e5m2);
  matches<uint8_t>("float8_e5m2fnuz", 8, f8_e5m2fnuz_to_f32, f32_to_f8_e5m2fnuz, f64_to_f8_e5m2fnuz);
  matches<uint8_t>("float8_e8m0fnu", 8, f8_e8m0fnu_to_f32, f32_to_f8_e8m0fnu, f64_to_f8_e8m0fnu);
}

// The bits of a float32 NaN that a rounding carry would turn into -0 or infinity.
TEST(CDevice, NanStaysNan) {
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(bits_to_f32(0x7FFF8C22)))));
  EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(bits_to_f32(0x7F800001)))));
}

// 2^62 + 2^54 + 1 is past the tie between two bfloat16 values; as a double it would be the tie itself.
TEST(CDevice, LargeIntegersRoundOnce) {
  EXPECT_EQ(f64_to_bf16(i64_to_f64((int64_t{1} << 62) + (int64_t{1} << 54) + 1)), 0x5E81);
  EXPECT_EQ(f64_to_bf16(i64_to_f64((int64_t{1} << 62) + (int64_t{1} << 54))), 0x5E80);
  EXPECT_EQ(i64_to_f64(INT64_MIN), -0x1p63);
}

}  // namespace
}  // namespace kiln::host_c
