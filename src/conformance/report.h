// Results as text.
#pragma once

#include <string>

#include "conformance/run.h"

namespace kiln::conformance {

struct Report {
  std::string codegen, target;
  const std::vector<Cell>* cells;
  const std::vector<CellResult>* results;
};

struct Counts {
  size_t passed = 0, refused = 0, failed = 0, skipped = 0;
};
Counts count(const std::vector<CellResult>& results);

// Rows by columns, a mark for each width; then failures, refusals and skipped cells by reason. No last line.
std::string terminal_text(const Report& report);
// The same as Markdown, for docs/conformance/<codegen>.md. Nothing in it depends on the machine.
std::string markdown_text(const Report& report);

}  // namespace kiln::conformance
