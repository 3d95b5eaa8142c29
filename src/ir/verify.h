// Checks that a module is well formed.
#pragma once

#include <vector>

#include "ir/ir.h"

namespace kiln::ir {

// Every fault with its place, in the order of the text; empty when the module is fine. Checked: undefined or out-of-scope variables,
// operand dtypes and lanes, argument counts of known operators, empty names, duplicate kernels, number of indices against the shape.
// Linear in the size of the printed module. At most `limit` faults.
std::vector<Error> verify(const Module& module, size_t limit = 100);

}  // namespace kiln::ir
