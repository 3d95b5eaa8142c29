// Finds everything that the c backend cannot say, before anything is printed.
#pragma once

#include "ir/ir.h"
#include "kiln/error.h"

namespace kiln::c {

// The first fault of the module: an operator, dtype, external function or launch form that C on a CPU lacks, with its place.
Status check(const ir::Module& module);

}  // namespace kiln::c
