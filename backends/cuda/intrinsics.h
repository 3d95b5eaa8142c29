// What the cuda backend can call: tables of operators, built-in functions and helpers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/arch.h"
#include "emit/math_functions.h"
#include "emit/names.h"
#include "intrinsics/functions.h"
#include "ir/ir.h"

namespace kiln::cuda {

using emit::math_function;
using emit::MathFunction;

// Its name for float32 or float64; the hardware's approximation of a fast one.
std::string spelling(const MathFunction& f, ir::DataType t);

// How an operator with effects is printed: as a call of a helper.
struct HelperCall {
  ir::Op op;
  std::string_view function;
  // One letter an argument: v a value; & the address of the element that a load names; p a pointer; t a constant, as template argument;
  // o a value that may be missing; - left out.
  std::string_view args;
  int first_sm = 75;
};
const HelperCall* helper_call(ir::Op op);

// A piece of CUDA C++ that defines helpers.
struct Helper {
  std::string_view stem;  // of the file in device/
  std::string_view text;
  std::vector<std::string_view> names;  // what it defines
  int first_sm = 75, last_sm = 999;     // the architectures that it is for
};
// In an order in which each comes after those it needs.
const std::vector<Helper>& helpers();

// The helper type of a floating format that CUDA C++ lacks without a header: "f16", "bf16", "f8_e4m3", ...
std::string small_float_name(ir::DataType t);

// CUDA C++ type of a scalar.
std::string type_name(ir::DataType t);

// Whether values of this type exist in the printed text. Those of 4 and 6 bits have no place in memory.
bool has_type(ir::DataType t);

// Names that no variable or function of the printed text may take.
const emit::Names& reserved_names();
// Whether a macro of CUDA's headers, some of which NVRTC always includes, may have this name: no declaration can.
bool is_macro_of_cuda(std::string_view name);
// Whether NVRTC's own declarations may have a global name: those of the runtime's API begin alike.
bool is_reserved_to_cuda(std::string_view name);

}  // namespace kiln::cuda
