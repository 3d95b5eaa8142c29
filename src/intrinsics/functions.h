// Functions that tile compilers name for GPUs: external calls, and operators that stand for one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "emit/math_functions.h"
#include "ir/ir.h"

namespace kiln::intrinsics {

// The math function that a name stands for, in any width ("exp", "expf", "hexp", "__habs"), or null.
const emit::MathFunction* named_math_function(std::string_view extern_name);
// Number of arguments of a built-in function that is called by its own name ("__expf"), or -1.
int builtin_function(std::string_view name);
// Whether it is one that gives no value ("__syncthreads").
bool is_void_function(std::string_view name);

// The function that an operator of the tl.ieee family stands for ("__fadd_rz"), or empty.
std::string ieee_function(const ir::Call* c);

// The names of all that the two functions above know and C has not.
std::vector<std::string_view> function_names();

}  // namespace kiln::intrinsics
