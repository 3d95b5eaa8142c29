// Memory that a module takes to be each thread's own, as the programming model has it.
#pragma once

#include "ir/ir.h"

namespace kiln::intrinsics {

// Modules name a thread's own memory in two ways that memory of the declared kind and size would not serve:
// * A pointer parameter in scope "local", of constant extents. Its contents are a thread's own, undefined before and of no use after, while
//   the caller's memory would be one for all threads. It becomes an array in that scope; the parameter stays, and nothing uses it.
// * An array in scope "local" that an ldmatrix fills past its end: x2, where the rest of the program wants the first register of two alone.
// It
//   gets as many elements as are written.
// Run it before all other passes.
const ir::Function* own_registers(Arena& arena, const ir::Function* f);

}  // namespace kiln::intrinsics
