// One launch of a cell's function, compared with the reference.
#pragma once

#include "conformance/cell.h"
#include "kiln/ir_module.h"
#include "kiln/module.h"

namespace kiln::conformance {

// What is wrong: empty when every defined element is within the cell's tolerance, the rest is as it was, and nothing around the tensors
// changed. `source` holds the cell's functions.
std::string launch_and_compare(const Cell& cell, const IRModule& source, const Module& built, uint64_t seed);

}  // namespace kiln::conformance
