// Exact encode and decode of the small floating formats, by value. The one place that knows their layouts.
#pragma once

#include <cstdint>

#include "ir/dtype.h"

namespace kiln {

// Value of `bits` in the format of `dtype` (float4 to float64, bfloat16); exact.
double decode_float(ir::DataType dtype, uint64_t bits);

// Nearest value of the format, ties to even, in one rounding; NaN stays NaN. Overflow is infinity for float16 and wider and bfloat16, and
// the largest finite value for float8, float6 and float4 (also for an infinite `value`), as PTX cvt.satfinite does. A format without NaN
// (float6, float4) turns NaN into the largest finite value.
uint64_t encode_float(ir::DataType dtype, double value);

// The bits of a literal: as encode_float, but an infinity stays one where the format has it.
uint64_t encode_float_literal(ir::DataType dtype, double value);

}  // namespace kiln
