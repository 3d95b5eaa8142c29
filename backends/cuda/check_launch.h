// Checks of what a kernel is launched with, as far as it is constant.
#pragma once

#include "backends/cuda/arch.h"
#include "check/report.h"

namespace kiln::cuda {

// Reports extents of blocks, grids and clusters beyond limits(arch), a number of blocks a multiprocessor that none has, and memory that no
// block or thread gets: shared memory in sum, local memory by buffer. `f` is in the report already.
void check_launch(check::Report& report, const ir::Function* f, const Arch& arch);

}  // namespace kiln::cuda
