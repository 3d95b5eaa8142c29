// What the c backend can call: tables of operators, C library functions and helpers.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/ir.h"

namespace kiln::c {

// A function of values that exists for float32 and float64. Smaller formats are computed in float32.
struct MathFunction {
  ir::Op op;              // kUnknown: reached by its C name only
  std::string_view name;  // in the C library for float64; with an "f" for float32. One that ends in "_" is a helper: <name>f32, <name>f64
  int args;
};

// The function that an operator stands for, or null.
const MathFunction* math_function(ir::Op op);
// The one that a C library name stands for, in any width ("exp", "expf"), or null.
const MathFunction* math_function(std::string_view extern_name);
// Its name for float32 or float64.
std::string spelling(const MathFunction& f, ir::DataType t);

// A piece of C that defines helpers.
struct Helper {
  std::string_view stem;  // of the file in device/
  std::string_view text;
  std::vector<std::string_view> names;     // what it defines
  std::vector<std::string_view> needs;     // stems that come before it
  std::vector<std::string_view> includes;  // headers
};
// In an order in which each comes after those it needs.
const std::vector<Helper>& helpers();

// The helper type of a floating format that C lacks: "f16", "bf16", "f8_e4m3fn", ...
std::string small_float_name(ir::DataType t);

// C type of a scalar.
std::string type_name(ir::DataType t);

// Whether values of this type exist in the printed text: integers of 8 to 64 bits, bool, floating formats of 8 bits and more, handles.
bool has_type(ir::DataType t);

// Names that no variable or function of the printed text may take: keywords of C and C++, macros, what the helpers and headers define.
const std::set<std::string, std::less<>>& reserved_names();

}  // namespace kiln::c
