// Checks of operators that all C-like languages print alike.
#pragma once

#include "check/report.h"
#include "emit/math_functions.h"

namespace kiln::check {

// Whether the call is of one of those operators: control, comparisons with NaN and infinity, bit counts, addresses, reinterpretation,
// pairs, calls of functions of the module. What is wrong with it is reported. Math functions are not among them.
bool common_operator(Report& report, const ir::Call* c);

// Reports a break or continue that is in no loop.
void loop_exits(Report& report, const ir::Function* f);

// A math function whose arguments begin at `first`.
void math(Report& report, const ir::Call* c, const emit::MathFunction& f, size_t first);

// Whether the call has as many arguments as its operator takes at least; if not, that is reported.
bool enough_arguments(Report& report, const ir::Call* c);

}  // namespace kiln::check
