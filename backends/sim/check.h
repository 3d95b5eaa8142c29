// Finds everything that the simulator cannot run, before anything is printed.
#pragma once

#include "ir/ir.h"
#include "kiln/error.h"
#include "kiln/target.h"

namespace kiln::sim {

// The first fault of the module, with its place.
Status check(const ir::Module& module);

// The first operator that the target's architecture (attribute "arch"; absent: any) lacks.
Status check_architecture(const ir::Module& module, const Target& target);

}  // namespace kiln::sim
