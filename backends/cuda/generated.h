// Helpers that stand for one form of an instruction family: made for the call that needs them, in the text once.
#pragma once

#include <string>

#include "backends/cuda/arch.h"
#include "intrinsics/arguments.h"
#include "intrinsics/atomic.h"
#include "ir/ir.h"

namespace kiln::cuda {

struct Generated {
  std::string name;  // what is called
  std::string text;  // its definition; empty for a function of CUDA's own
};

// What writes the helper of one family; null for a call that is not printed as a call of such a helper.
using Generator = Result<Generated> (*)(const Arch& arch, const ir::Call* c);
Generator generator_of(const ir::Call* c);

// The helper for a call, which has its arguments in the order that print_call gives them. A form that the architecture lacks is an error of
// code kUnsupported without a place. Shapes and dtypes are those of the PTX ISA 9.0.
Result<Generated> generate(const Arch& arch, const ir::Call* c);

// mma.sync, ldmatrix, stmatrix (matrix.cc); wgmma (wgmma.cc); TMA (tma.cc); tensor memory (tcgen05.cc); fragments (wmma.cc);
// reductions (reduction.cc); atomics (atomic.cc).
Result<Generated> generate_matrix(const Arch& arch, const ir::Call* c);
Result<Generated> generate_wgmma(const Arch& arch, const ir::Call* c);
Result<Generated> generate_tma(const Arch& arch, const ir::Call* c);
Result<Generated> generate_tcgen05(const Arch& arch, const ir::Call* c);
Result<Generated> generate_wmma(const Arch& arch, const ir::Call* c);
Result<Generated> generate_reduction(const Arch& arch, const ir::Call* c);
Result<Generated> generate_atomic(const Arch& arch, const ir::Call* c);

// Whether one instruction (red) adds `lanes` values to neighbouring elements in the order.
bool has_vector_add(const Arch& arch, const ir::Buffer* b, int lanes, int64_t order);

// "f16", "i32", "bool": in names of helpers.
std::string dtype_name(ir::DataType t);
// `a` and `b` combined: "sum", "max", "min", "and", "or", "xor"; max and min with "_nan" pass NaN on. Empty where the dtype has it not.
std::string combine(std::string_view op, ir::DataType t, const std::string& a, const std::string& b);

// "{%3, %4, %5}", inside a string literal, which it ends and begins anew after each 16.
std::string registers(int first, int count);
// `"+f"(d[0]), "+f"(d[1])`
std::string operands(std::string_view constraint, std::string_view array, int count);
Error unsupported(const Arch& arch, const std::string& what, const std::string& hint = "");

}  // namespace kiln::cuda
