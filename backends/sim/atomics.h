// Atomic accesses and updates of one lane.
#pragma once

#include <string>

#include "backends/sim/lane_printer.h"
#include "intrinsics/atomic.h"

namespace kiln::sim {

// The runtime's names of an element type ("SIM_F32") and of an update ("SIM_ADD"); empty when it has none.
std::string runtime_type(ir::DataType t);
std::string runtime_update(std::string_view op);

// The call of a helper, which this adds to the tables.
std::string atomic_call(LanePrinter& p, const ir::Call& c, const intrinsics::Atomic& a);

}  // namespace kiln::sim
