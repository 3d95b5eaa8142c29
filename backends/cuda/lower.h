// The backend's own passes, to IR that prints as CUDA C++ one to one.
#pragma once

#include "backends/cuda/arch.h"
#include "ir/ir.h"

namespace kiln::cuda {

// Before the shared passes: operators on two elements (tl.add2, ...) become calls of a helper on the word that both are in, where the
// architecture has an instruction for them.
const ir::Function* pair_operators(Arena& arena, const ir::Function* f, const Arch& arch);

// Before the shared passes too: stores of vectors that are cast to or from float8_e4m3 and to float8_e5m2 convert two elements at a time,
// from sm_89 on. Values are those of one element at a time; an odd number of lanes and a predicated store stay as they are.
const ir::Function* pair_conversions(Arena& arena, const ir::Function* f, const Arch& arch);

// After them: every math operator, cast and reinterpretation becomes a call of a function or helper by name (Op::tirx_call_pure_extern),
// tirx.if_then_else becomes a Select (C++'s is lazy).
const ir::Function* lower(Arena& arena, const ir::Function* f);

}  // namespace kiln::cuda
