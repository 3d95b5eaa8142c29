// Which place of the user's program a printed line comes from: as comments, as #line directives, and as data for messages.
#pragma once

#include <string>
#include <vector>

#include "ir/ir.h"
#include "runtime/kernel_info.h"

namespace kiln::emit {

struct PlaceStyle {
  bool comments = false;    // "  // gemm.py:21" after the first line of each place
  bool directives = false;  // #line 21 "gemm.py" before the lines of a place
};

struct Placed {
  std::string text;
  std::vector<LinePlace> places;
};

// `text` in the given style. `spans` has one span for each of its lines, 0 for none; `first_line` is the number that its first line has in
// the whole. Of a path only the file's name is shown, with unsafe characters replaced.
Placed place_lines(const std::string& text, const std::vector<ir::SpanId>& spans, const ir::Module& module, const PlaceStyle& style,
                   int first_line);

}  // namespace kiln::emit
