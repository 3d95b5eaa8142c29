// Finds everything that the cuda backend cannot say for an architecture, before anything is printed.
#pragma once

#include "backends/cuda/arch.h"
#include "ir/ir.h"

namespace kiln::cuda {

// The first fault of the module: an operator, dtype, storage scope, external function or launch form that the architecture or this backend
// lacks, with its place.
Status check(const ir::Module& module, const Arch& arch);

}  // namespace kiln::cuda
