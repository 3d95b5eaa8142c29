// The first pass of backends for the operators that tile compilers name for GPUs.
#pragma once

#include <functional>

#include "ir/ir.h"

namespace kiln::intrinsics {

// Whether the target adds `lanes` values to neighbouring elements of `buffer` by one operator (tl.atomic_addx2, tl.atomic_addx4) in the
// order, a number as C++ has it.
using HasVectorAdd = std::function<bool(const ir::Buffer* buffer, int lanes, int64_t order)>;

// Before the shared passes: operators on vectors and on the bits of small formats become plain loads, stores and integer operations
// (tl.ldg128, tl.pack_b16, shuffles of float16), updates of several elements updates of one where `has_vector_add` says no, operators with
// a rounding mode calls of functions ("__fadd_rz"), device assertions Asserts. The operators' arguments have been checked.
const ir::Function* prepare(Arena& arena, const ir::Function* f, const HasVectorAdd& has_vector_add);

}  // namespace kiln::intrinsics
