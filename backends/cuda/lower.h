// The backend's own pass after the shared ones: to IR that prints as CUDA C++ one to one.
#pragma once

#include "ir/ir.h"

namespace kiln::cuda {

// Every math operator, cast and reinterpretation becomes a call of a function or helper by name (Op::tirx_call_pure_extern),
// tirx.if_then_else becomes a Select (C++'s is lazy).
const ir::Function* lower(Arena& arena, const ir::Function* f);

}  // namespace kiln::cuda
