// Math functions that C-like languages name as C does, and the operators that stand for them.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "ir/ir.h"

namespace kiln::emit {

// A function of values that exists for float32 and float64. Smaller formats are computed in float32.
struct MathFunction {
  ir::Op op;              // kUnknown: reached by its name only
  std::string_view name;  // for float64; with an "f" for float32. One that ends in "_" is a helper: <name>f32, <name>f64
  int args;
  bool is_fast = false;  // an approximation will do
};

std::span<const MathFunction> math_functions();

// The function that an operator stands for, or null.
const MathFunction* math_function(ir::Op op);
// The one that a library's name stands for, for float64 or float32 ("exp", "expf"), or null.
const MathFunction* math_function(std::string_view name);
// The one whose `name` this is, or null.
const MathFunction* math_function_of_stem(std::string_view stem);

// Its name for float32 or float64 where the language has the function.
std::string common_spelling(const MathFunction& f, ir::DataType t);

// Whether it has a meaning for integers: the absolute value, or a rounding, which changes nothing.
bool takes_integers(const MathFunction& f);

}  // namespace kiln::emit
