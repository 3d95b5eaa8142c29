// From legal IR to IR that prints as C one to one.
#pragma once

#include "ir/ir.h"

namespace kiln::host_c {

// Every operator becomes a call of a C function or helper by name (Op::tirx_call_pure_extern), every cast and reinterpretation that C has
// not becomes one too, tirx.if_then_else becomes a Select (C's is lazy). The function went through legalise() before.
const ir::Function* lower(Arena& arena, const ir::Function* f);

}  // namespace kiln::host_c
