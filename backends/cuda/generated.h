// Helpers that stand for one form of an instruction family: made for the call that needs them, in the text once.
#pragma once

#include <string>

#include "backends/cuda/arch.h"
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

// What an atomic operator or function of CUDA does: arguments are, from `first` on, an address, `values` values and perhaps an order, as
// the number that C++ has for it (relaxed 0, ..., seq_cst 5).
struct Atomic {
  std::string_view op;             // "load", "store", "sum", "sub", "max", "min", "and", "or", "xor", "exch", "inc", "dec", "cas"; or none
  std::string_view scope = "gpu";  // "cta", "gpu", "sys"
  size_t first = 0, values = 1;
  explicit operator bool() const { return !op.empty(); }
};
Atomic atomic_of(const ir::Call* c);
// The element that it updates, or null.
const ir::Load* atomic_place(const ir::Call* c);
// Whether one instruction (red) adds `lanes` values to neighbouring elements in the order.
bool has_vector_add(const Arch& arch, const ir::Buffer* b, int lanes, int64_t order);

// "f16", "i32", "bool": in names of helpers.
std::string dtype_name(ir::DataType t);
// `a` and `b` combined: "sum", "max", "min", "and", "or", "xor"; max and min with "_nan" pass NaN on. Empty where the dtype has it not.
std::string combine(std::string_view op, ir::DataType t, const std::string& a, const std::string& b);

// tl::AllReduce<...>::run and tl::CumSum2D<...>::run, which modules name as external functions.
bool is_template_call(const ir::Call* c);

// The text of argument i, or empty; its integer, or -1.
std::string_view text_arg(const ir::Call* c, size_t i);
int64_t int_arg(const ir::Call* c, size_t i);
// Bytes that tl.ptx_cp_async copies: its argument 2 counts elements of the destination. -1 when the destination is no element's address.
int64_t copied_bytes(const ir::Call* c);
// "{%3, %4, %5}", inside a string literal, which it ends and begins anew after each 16.
std::string registers(int first, int count);
// `"+f"(d[0]), "+f"(d[1])`
std::string operands(std::string_view constraint, std::string_view array, int count);
// The number after `letter` in a shape as "m16n8k16"; 0 when there is none.
int extent(std::string_view shape, char letter);
// Whether the arguments are of these kinds, a letter each: s a text, v a number, p a pointer that is not a tensor map or a fragment (m: not
// a fragment), a a barrier, ? a text or a number; a + at the end: ? from there on. What is beyond is a number.
bool has_kinds(const ir::Call* c, std::string_view kinds);
// Whether the call's annotation says that two blocks of a cluster work together.
bool is_pair(const ir::Call* c);
Error unsupported(const Arch& arch, const std::string& what, const std::string& hint = "");
// PTX's name of an operand format ("fp16" and "float16": "f16"); empty when it has none.
std::string ptx_type(std::string_view dtype);
// Bits that an element takes as operand of a matrix instruction.
int ptx_bits(std::string_view ptx_type);

}  // namespace kiln::cuda
