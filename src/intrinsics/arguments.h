// Arguments of operators that stand for instructions of a GPU, as their calls have them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/ir.h"

namespace kiln::intrinsics {

// The text of argument i, or empty; its integer, or -1.
std::string_view text_arg(const ir::Call* c, size_t i);
int64_t int_arg(const ir::Call* c, size_t i);

// A pointer and an offset from it, null for none: in elements of its dtype, but of an instruction's format where that is 4 bits wide.
struct Operand {
  const ir::Expr* pointer = nullptr;
  const ir::Expr* offset = nullptr;
};

// The element whose address `e` is (tirx.address_of, tl.access_ptr), or null.
const ir::Load* addressed_element(const ir::Expr* e);

// Whether the arguments are of these kinds, a letter each: s a text, v a number, p a pointer that is not a tensor map or a fragment (m: not
// a fragment), a a barrier, ? a text or a number; a + at the end: ? from there on. What is beyond is a number.
bool has_kinds(const ir::Call* c, std::string_view kinds);
// Whether they are of the kinds that the operator takes; true for operators of which no kinds are known.
bool has_its_kinds(const ir::Call* c);

// Whether the call's annotation says that two blocks of a cluster work together.
bool is_pair(const ir::Call* c);

// tl::AllReduce<...>::run and tl::CumSum2D<...>::run, which modules name as external functions.
bool is_template_call(const ir::Call* c);

// The number after `letter` in a shape as "m16n8k16"; 0 when there is none.
int extent(std::string_view shape, char letter);
// PTX's name of an operand format ("fp16" and "float16": "f16"); empty when it has none.
std::string ptx_type(std::string_view dtype);
// Bits that an element takes as operand of a matrix instruction.
int ptx_bits(std::string_view ptx_type);

}  // namespace kiln::intrinsics
