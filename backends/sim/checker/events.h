// The operations of a checked launch.
#pragma once

#include "backends/sim/runtime/sim.h"

namespace kiln::sim::checker {

// The runtime's operations, each of which tells the warp's group what it does.
const sim_api& checked_api();

}  // namespace kiln::sim::checker
