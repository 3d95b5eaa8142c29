// The backend's own passes: around the shared ones, from the module's IR to IR that prints as CUDA C++ one to one.
#pragma once

#include "backends/cuda/arch.h"
#include "ir/ir.h"

namespace kiln::cuda {

// Before the shared passes: operators on vectors and on the bits of small formats become plain loads, stores and integer operations
// (tl.ldg128, tl.atomic_addx4, tl.pack_b16, shuffles of float16), operators with a rounding mode become calls of CUDA's functions.
const ir::Function* prepare(Arena& arena, const ir::Function* f, const Arch& arch);

// After them: every math operator, cast and reinterpretation becomes a call of a function or helper by name (Op::tirx_call_pure_extern),
// tirx.if_then_else becomes a Select (C++'s is lazy).
const ir::Function* lower(Arena& arena, const ir::Function* f);

// The function that an operator of the tl.ieee family stands for ("__fadd_rz"), or empty.
std::string ieee_function(const ir::Call* c);

// Matrix fragments (storage scopes wmma.*) become arrays of registers, and operators on them name their shape, layouts and formats. A
// fragment of which its loads do not tell these stays as it is.
const ir::Function* lower_fragments(Arena& arena, const ir::Function* f);

}  // namespace kiln::cuda
