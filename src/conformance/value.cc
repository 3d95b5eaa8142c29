#include "conformance/value.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kiln::conformance {

namespace {

using ir::DataType;
using ir::TypeCode;

// Sources: IEEE 754-2019 (binary16, 32, 64), OCP 8-bit Floating Point Specification 1.0 (e4m3fn, e5m2), OCP Microscaling Formats 1.0
// (e8m0), ml_dtypes (e3m4, fnuz). float8_e4m3 is e4m3fn under another name in tile programs.
struct Format {
  int mantissa_bits;
  int lowest;          // exponent of the smallest normal value
  double largest;      // finite
  uint64_t nan;        // code of a NaN, without its sign
  uint64_t infinity;   // code, or 0 when the format has none
  bool negative_zero;  // false: that code is the NaN
};

Format format_of(DataType t) {
  switch (t.code) {
    case TypeCode::kFloat:
      if (t.bits == 16) return {10, -14, 65504, 0x7e00, 0x7c00, true};
      if (t.bits == 32) return {23, -126, std::numeric_limits<float>::max(), 0x7fc00000, 0x7f800000, true};
      return {52, -1022, std::numeric_limits<double>::max(), 0x7ff8000000000000, 0x7ff0000000000000, true};
    case TypeCode::kBFloat: return {7, -126, 0x1.fep127, 0x7fc0, 0x7f80, true};
    case TypeCode::kFloat8E3M4: return {4, -2, 15.5, 0x78, 0x70, true};
    case TypeCode::kFloat8E4M3:
    case TypeCode::kFloat8E4M3FN: return {3, -6, 448, 0x7f, 0, true};
    case TypeCode::kFloat8E4M3B11FNUZ: return {3, -10, 30, 0x80, 0, false};
    case TypeCode::kFloat8E4M3FNUZ: return {3, -7, 240, 0x80, 0, false};
    case TypeCode::kFloat8E5M2: return {2, -14, 57344, 0x7e, 0x7c, true};
    case TypeCode::kFloat8E5M2FNUZ: return {2, -15, 57344, 0x80, 0, false};
    case TypeCode::kFloat8E8M0FNU: return {0, -127, 0x1p127, 0xff, 0, false};
    case TypeCode::kFloat6E2M3FN:
    case TypeCode::kFloat6E3M2FN:
    case TypeCode::kFloat4E2M1FN:
    case TypeCode::kInt:
    case TypeCode::kUInt:
    case TypeCode::kHandle:
    case TypeCode::kBool: break;
  }
  return {};
}
bool is_e8m0(DataType t) { return t.code == TypeCode::kFloat8E8M0FNU; }

// Powers of two only; a tie goes to the even code, which is the exponent plus 127.
double round_e8m0(long double v) {
  if (v <= 0x1p-127L) return 0x1p-127;
  if (v >= 0x1p127L) return 0x1p127;
  int e = std::ilogb(v);
  long double fraction = std::scalbn(v, -e);
  if (fraction > 1.5L || (fraction == 1.5L && (e + 127) % 2 != 0)) ++e;
  return std::ldexp(1.0, e);
}

}  // namespace

bool is_storage_only(DataType t) { return t.bits < 8; }

FloatRange float_range(DataType t) {
  if (is_e8m0(t)) return {0x1p127, 0x1p-127, 0x1p-127, 0, false, false};
  Format f = format_of(t);
  return {f.largest, std::ldexp(1.0, f.lowest), std::ldexp(1.0, f.lowest - f.mantissa_bits), f.mantissa_bits, f.infinity != 0, true};
}

double round_to(DataType t, long double v) {
  if (std::isnan(v)) return std::numeric_limits<double>::quiet_NaN();
  if (is_e8m0(t)) return round_e8m0(v);
  Format f = format_of(t);
  bool saturates = t.bits == 8;
  long double a = std::fabs(v), sign = std::signbit(v) ? -1 : 1;
  if (std::isfinite(a) && a != 0) {
    int unit = std::max(std::ilogb(a), f.lowest) - f.mantissa_bits;  // exponent of the distance between neighbours
    a = std::scalbn(std::nearbyint(std::scalbn(a, -unit)), unit);    // scaling is exact: one rounding
  }
  if (a > f.largest) a = saturates ? f.largest : std::numeric_limits<long double>::infinity();
  if (a == 0 && !f.negative_zero) sign = 1;
  return static_cast<double>(sign * a);
}

Scalar make_integer(DataType t, Integer v) {
  if (t.is_bool()) return {t, v != 0, 0, true};
  auto bits = static_cast<unsigned __int128>(v) & ((static_cast<unsigned __int128>(1) << t.bits) - 1);
  auto wrapped = static_cast<Integer>(bits);
  if (t.is_int() && (bits >> (t.bits - 1)) != 0) wrapped -= static_cast<Integer>(1) << t.bits;
  return {t, wrapped, 0, true};
}
Scalar make_floating(DataType t, long double v) { return {t, 0, round_to(t, v), true}; }
Scalar undefined(DataType t) { return {t, 0, 0, false}; }

uint64_t to_bits(const Scalar& v) {
  DataType t = v.type;
  if (!t.is_floating() || is_storage_only(t)) {
    return static_cast<uint64_t>(v.integer) & (t.bits >= 64 ? ~uint64_t{0} : t.bits < 8 ? 0xff : (uint64_t{1} << t.bits) - 1);
  }
  Format f = format_of(t);
  if (std::isnan(v.floating)) return f.nan;
  if (is_e8m0(t)) return static_cast<uint64_t>(std::ilogb(v.floating) + 127);
  uint64_t sign = std::signbit(v.floating) ? uint64_t{1} << (t.bits - 1) : 0;
  if (std::isinf(v.floating)) return sign | f.infinity;
  double a = std::fabs(v.floating);
  if (a == 0) return sign;
  int e = std::max(std::ilogb(a), f.lowest);
  auto units = static_cast<uint64_t>(std::scalbn(a, f.mantissa_bits - e));  // with the leading one of a normal value
  return sign | ((static_cast<uint64_t>(e - f.lowest) << f.mantissa_bits) + units);
}

Scalar from_bits(DataType t, uint64_t bits) {
  if (is_storage_only(t)) return {t, static_cast<Integer>(bits), 0, true};
  if (!t.is_floating()) return make_integer(t, static_cast<Integer>(bits));
  Format f = format_of(t);
  auto value = [&](double v) { return Scalar{t, 0, v, true}; };
  if (is_e8m0(t)) return value(bits == f.nan ? NAN : std::ldexp(1.0, static_cast<int>(bits) - 127));
  uint64_t top = uint64_t{1} << (t.bits - 1), code = bits & (top - 1);
  double sign = bits & top ? -1 : 1;
  if (!f.negative_zero && bits == f.nan) return value(NAN);
  if (f.infinity && code == f.infinity) return value(sign * INFINITY);
  uint64_t exponent = code >> f.mantissa_bits, mantissa = code & ((uint64_t{1} << f.mantissa_bits) - 1);
  if (exponent > 0) mantissa += uint64_t{1} << f.mantissa_bits;
  int e = f.lowest + std::max(static_cast<int>(exponent), 1) - 1;
  double v = std::scalbn(static_cast<double>(mantissa), e - f.mantissa_bits);
  bool nan = f.negative_zero && (f.infinity ? code > f.infinity : v > f.largest);
  return value(nan ? NAN : sign * v);
}

uint64_t distance(const Scalar& a, const Scalar& b, bool zero_sign) {
  if (!a.type.is_floating() || is_storage_only(a.type)) return a.integer == b.integer ? 0 : 1;
  if (std::isnan(a.floating) || std::isnan(b.floating)) {
    return std::isnan(a.floating) && std::isnan(b.floating) ? 0 : std::numeric_limits<uint64_t>::max();
  }
  if (a.floating == b.floating) return zero_sign && std::signbit(a.floating) != std::signbit(b.floating) ? 1 : 0;
  if (is_e8m0(a.type)) return std::max(to_bits(a), to_bits(b)) - std::min(to_bits(a), to_bits(b));
  uint64_t top = uint64_t{1} << (a.type.bits - 1);
  auto place = [&](const Scalar& v) {  // codes of non-negative values are in order
    auto code = static_cast<int64_t>(to_bits(v) & (top - 1));
    return std::signbit(v.floating) ? -code : code;
  };
  auto d = static_cast<Integer>(place(a)) - place(b);
  return static_cast<uint64_t>(d < 0 ? -d : d);
}

}  // namespace kiln::conformance
