// One launch of a cell's function, compared with the reference.
#pragma once

#include "conformance/cell.h"
#include "kiln/ir_module.h"
#include "kiln/module.h"
#include "registry/devices.h"

namespace kiln::conformance {

struct LaunchOutcome {
  std::string wrong;      // empty when every defined element is within the cell's tolerance, the rest is as it was, and the guards too
  bool reported = false;  // the launch reported an error, asked for or not
};
// `source` holds the cell's functions.
LaunchOutcome launch_and_compare(const Cell& cell, const IRModule& source, const Module& built, uint64_t seed,
                                 const registry::Device& device);

}  // namespace kiln::conformance
