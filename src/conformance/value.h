// Single values of the reference evaluator. It shares nothing with the passes and backends that it judges: what a format can hold is
// written down here once more.
#pragma once

#include <cstdint>

#include "ir/dtype.h"

namespace kiln::conformance {

using Integer = __int128;  // wide enough for any sum, product or shift of 64-bit operands

// One element. Integers, bool and the raw codes of formats below 8 bits are in `integer`; every floating value up to float64 is exact in
// `floating`.
struct Scalar {
  ir::DataType type;  // lanes 1
  Integer integer = 0;
  double floating = 0;
  bool defined = true;  // false: the language leaves the value open (division by zero, a cast out of range); any result is right
};

// Formats of which only the bits are moved: integers and floats of fewer than 8 bits.
bool is_storage_only(ir::DataType t);

Scalar make_integer(ir::DataType t, Integer v);       // wraps around
Scalar make_floating(ir::DataType t, long double v);  // rounds to nearest, ties to even, once
Scalar undefined(ir::DataType t);

// Nearest value of the format. Overflow is infinity for formats of 16 bits and more, the largest finite value for float8 (the rule of Kiln
// and of PTX cvt.satfinite, infinities included).
double round_to(ir::DataType t, long double v);
// Largest finite value, smallest positive normal and subnormal value of a format of 8 bits and more.
struct FloatRange {
  double largest, smallest_normal, smallest;
  int mantissa_bits;
  bool has_infinity, has_negative;
};
FloatRange float_range(ir::DataType t);

// The element's bits in memory and back.
uint64_t to_bits(const Scalar& v);
Scalar from_bits(ir::DataType t, uint64_t bits);

// Distance in steps between neighbouring values of the format; 0 for equal ones (the sign of zero counts when `zero_sign`) and for two
// NaNs. Integers: 0 or 1.
uint64_t distance(const Scalar& a, const Scalar& b, bool zero_sign);

}  // namespace kiln::conformance
