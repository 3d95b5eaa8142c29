// What each operator means for one lane: the reference semantics, from the documentation of TVM and TileLang, IEEE 754 and C.
#pragma once

#include <vector>

#include "conformance/value.h"
#include "ir/ir.h"

namespace kiln::conformance {

// Integers wrap around; division by zero, the lowest integer divided by -1 and shifts outside [0, bits) are undefined. Minimum and maximum
// give the other operand when one is NaN. kDiv and kMod truncate, kFloorDiv and kFloorMod floor; % of floats is exact.
Scalar evaluate_binary(ir::ExprKind kind, const Scalar& a, const Scalar& b);
Scalar evaluate_unary(ir::ExprKind kind, const Scalar& a);
// Integers wrap around, a float goes to an integer by truncation (undefined out of range), anything to bool by != 0 (NaN is true).
Scalar evaluate_cast(ir::DataType to, const Scalar& v);

// Whether `op` is a function of values, lane by lane, that evaluate_call knows.
bool is_scalar_function(ir::Op op);
Scalar evaluate_call(ir::Op op, ir::DataType result, const std::vector<Scalar>& args);

}  // namespace kiln::conformance
