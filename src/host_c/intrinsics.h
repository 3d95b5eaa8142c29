// What the c backend can call: tables of operators, C library functions and helpers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "emit/math_functions.h"
#include "emit/names.h"
#include "ir/ir.h"

namespace kiln::host_c {

using emit::math_function;
using emit::MathFunction;

// Its name in C for float32 or float64: of the C library or of a helper.
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
const emit::Names& reserved_names();

}  // namespace kiln::host_c
