// Reductions and scans over threads that tile programs name as templates (tl::AllReduce, tl::CumSum1D, ...), as helpers in C.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/ir.h"

namespace kiln::sim {

// A call of a helper name(sim_warp* w, sim_mask m, values..., agreed..., constants..., int32_t site): `values` as arrays with an element
// for each lane, the first of which also takes the result; `agreed` as values that are one for the warp.
struct Reduction {
  std::string name, text;
  std::vector<const ir::Expr*> values, agreed;
  std::string constants;  // ", 128, 1"
  bool has_result = true;
};
// None for a call that names no such template, or one on dtypes that it does not take. `checked`: the helper tells of its accesses.
std::optional<Reduction> reduction_of(const ir::Call* c, bool checked);

}  // namespace kiln::sim
