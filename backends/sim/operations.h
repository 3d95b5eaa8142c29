// How the simulator executes an operator: by each lane on its own, or by the warp as one.
#pragma once

#include "ir/ir.h"

namespace kiln::sim {

// Whether the warp executes the call as one: its lanes exchange values, wait together, or the warp may wait for others. Such a call is a
// statement between loops over lanes.
bool is_collective(const ir::Call* c);

// Whether the call does nothing here: hints to a GPU's compiler and caches.
bool is_hint(ir::Op op);

}  // namespace kiln::sim
