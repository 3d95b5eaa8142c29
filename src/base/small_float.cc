#include "base/small_float.h"

#include <bit>
#include <cmath>

namespace kiln {

namespace {

using ir::TypeCode;

// IEEE-like layouts of at most 16 bits: sign, exponent, mantissa.
// Sources: OCP 8-bit Floating Point Specification 1.0 (e4m3fn, e5m2), OCP Microscaling Formats 1.0 (e8m0, e2m3, e3m2, e2m1), IEEE 754
// (binary16), and for the fnuz variants "8-bit Numerical Formats for Deep Neural Networks" (2022).
struct Layout {
  int exponent_bits, mantissa_bits, bias;
  uint32_t largest;    // code of the largest finite magnitude
  uint32_t infinity;   // code, or 0 when the format has none
  uint32_t nan;        // code, or 0 when the format has none
  bool negative_zero;  // false: the code of -0 is the NaN
};

Layout layout_of(ir::DataType t) {
  switch (t.code) {
    case TypeCode::kFloat: return {5, 10, 15, 0x7bff, 0x7c00, 0x7e00, true};  // 16 bits; wider ones are handled apart
    case TypeCode::kBFloat: return {8, 7, 127, 0x7f7f, 0x7f80, 0x7fc0, true};
    case TypeCode::kFloat8E3M4: return {3, 4, 3, 0x6f, 0x70, 0x78, true};
    // One format under two names in tile programs.
    case TypeCode::kFloat8E4M3:
    case TypeCode::kFloat8E4M3FN: return {4, 3, 7, 0x7e, 0, 0x7f, true};
    case TypeCode::kFloat8E4M3B11FNUZ: return {4, 3, 11, 0x7f, 0, 0x80, false};
    case TypeCode::kFloat8E4M3FNUZ: return {4, 3, 8, 0x7f, 0, 0x80, false};
    case TypeCode::kFloat8E5M2: return {5, 2, 15, 0x7b, 0x7c, 0x7e, true};
    case TypeCode::kFloat8E5M2FNUZ: return {5, 2, 16, 0x7f, 0, 0x80, false};
    case TypeCode::kFloat6E2M3FN: return {2, 3, 1, 0x1f, 0, 0, true};
    case TypeCode::kFloat6E3M2FN: return {3, 2, 3, 0x1f, 0, 0, true};
    case TypeCode::kFloat4E2M1FN: return {2, 1, 1, 0x7, 0, 0, true};
    case TypeCode::kFloat8E8M0FNU:
    case TypeCode::kInt:
    case TypeCode::kUInt:
    case TypeCode::kHandle:
    case TypeCode::kBool: break;
  }
  return {};
}

// Powers of two 2^-127 to 2^127; no sign, no zero.
double decode_e8m0(uint64_t code) { return code == 0xff ? std::nan("") : std::ldexp(1.0, static_cast<int>(code) - 127); }
uint64_t encode_e8m0(double v) {
  if (std::isnan(v)) return 0xff;
  if (v <= 0x1p-127) return 0;
  if (v >= 0x1p127) return 0xfe;
  int e;
  double fraction = std::frexp(v, &e);  // [0.5, 1)
  int code = e - 1 + 127;
  if (fraction > 0.75 || (fraction == 0.75 && (code & 1))) ++code;
  return static_cast<uint64_t>(code);
}

// Code of |v| by rounding to nearest even; past the largest finite value the codes go on.
uint64_t round_magnitude(const Layout& f, double v) {
  if (v == 0) return 0;  // frexp gives zero the exponent of one half
  int e;
  std::frexp(v, &e);
  int lowest = 1 - f.bias;
  int exponent = std::max(e - 1, lowest);
  double units = std::nearbyint(std::ldexp(v, f.mantissa_bits - exponent));  // exact scaling, one rounding
  return static_cast<uint64_t>(exponent - lowest) * (uint64_t{1} << f.mantissa_bits) + static_cast<uint64_t>(units);
}

uint64_t encode(ir::DataType t, double v, bool keep_infinity) {
  if (t == ir::kFloat64) return std::bit_cast<uint64_t>(v);
  if (t.code == TypeCode::kFloat && t.bits == 32) return std::bit_cast<uint32_t>(static_cast<float>(v));
  if (t.code == TypeCode::kFloat8E8M0FNU) return encode_e8m0(v);
  Layout f = layout_of(t);
  uint64_t sign = std::signbit(v) ? uint64_t{1} << (t.bits - 1) : 0;
  if (std::isnan(v)) {
    if (f.nan == 0) return f.largest;
    return f.negative_zero ? sign | f.nan : f.nan;
  }
  bool wide = t.bits >= 16;
  if (std::isinf(v)) return sign | (f.infinity && (wide || keep_infinity) ? f.infinity : f.largest);
  uint64_t code = std::fabs(v) > 1e300 ? uint64_t{f.largest} + 1 : round_magnitude(f, std::fabs(v));
  if (code > f.largest) code = wide ? f.infinity : f.largest;
  return code == 0 && !f.negative_zero ? 0 : sign | code;
}

}  // namespace

double decode_float(ir::DataType t, uint64_t bits) {
  if (t == ir::kFloat64) return std::bit_cast<double>(bits);
  if (t.code == TypeCode::kFloat && t.bits == 32) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (t.code == TypeCode::kFloat8E8M0FNU) return decode_e8m0(bits & 0xff);
  Layout f = layout_of(t);
  uint64_t sign_bit = uint64_t{1} << (t.bits - 1), code = bits & (sign_bit - 1);
  double sign = bits & sign_bit ? -1.0 : 1.0;
  if (!f.negative_zero && (bits & (sign_bit * 2 - 1)) == f.nan) return std::nan("");
  if (f.infinity && code == f.infinity) return sign * HUGE_VAL;
  if (f.negative_zero && f.nan && code > f.largest) return std::nan("");
  uint64_t mantissa = code & ((uint64_t{1} << f.mantissa_bits) - 1), exponent = code >> f.mantissa_bits;
  if (exponent == 0) return sign * std::ldexp(static_cast<double>(mantissa), 1 - f.bias - f.mantissa_bits);
  double one = static_cast<double>(mantissa + (uint64_t{1} << f.mantissa_bits));
  return sign * std::ldexp(one, static_cast<int>(exponent) - f.bias - f.mantissa_bits);
}

uint64_t encode_float(ir::DataType dtype, double value) { return encode(dtype, value, false); }
uint64_t encode_float_literal(ir::DataType dtype, double value) { return encode(dtype, value, true); }

}  // namespace kiln
