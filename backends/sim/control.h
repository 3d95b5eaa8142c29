// The backend's own passes, around the shared ones.
#pragma once

#include "ir/ir.h"

namespace kiln::sim {

// Before the shared passes: functions of half formats become math operators, queue scopes of asynchronous copies plain operators, operators
// that leave a loop or the kernel statements, thread bindings of loops ThreadExtents.
const ir::Function* plain_control(Arena& arena, const ir::Function* f);

}  // namespace kiln::sim
