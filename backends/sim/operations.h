// How the simulator executes an operator: by each lane on its own, or by the warp as one.
#pragma once

#include "ir/ir.h"

namespace kiln::sim {

// Whether the warp executes the call as one: its lanes exchange values, wait together, or the warp may wait for others. Such a call is a
// statement between loops over lanes.
bool is_collective(const ir::Call* c);

// The first architecture, as 90 for sm_90, that has what the operator stands for; 0: all have it.
int first_architecture(ir::Op op);

// Whether the call does nothing here: hints to a GPU's compiler and caches.
bool is_hint(ir::Op op);

// Whether the printers have text for the operator whenever its arguments are of their kinds.
bool is_plain(ir::Op op);

}  // namespace kiln::sim
