// Finds everything that the simulator cannot run, before anything is printed.
#pragma once

#include "ir/ir.h"
#include "kiln/error.h"

namespace kiln::sim {

// The first fault of the module, with its place.
Status check(const ir::Module& module);

}  // namespace kiln::sim
