// Runs cells on a device codegen and compares with the reference.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "conformance/cell.h"

namespace kiln::conformance {

struct CellResult {
  enum class State : uint8_t { kPassed, kRefused, kFailed, kSkipped } state = State::kSkipped;
  std::string reason;  // empty when passed
};

struct RunOptions {
  std::string target, codegen;
  std::string device = "cpu";
  uint64_t seed = 0;
  int jobs = 1;
  bool can_run = true;           // else cells are printed only
  bool can_print = true;         // the codegen has build_without_compile
  double timeout_seconds = 120;  // for a batch
};

// All of them, in processes of their own, many to a compilation; where a batch does not build or ends its process, the guilty cell is
// found. After a launch that fails on a device the rest of its batch gets a new process, since a device may be of no use after that. A cell
// is refused when the codegen reports kUnsupported. `progress` gets the number of cells that are done. Results are in the order of the
// cells.
std::vector<CellResult> run_cells(const std::vector<Cell>& cells, const RunOptions& options, const std::function<void(size_t)>& progress);

}  // namespace kiln::conformance
