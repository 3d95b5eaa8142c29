#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace kiln {

// The lines of a text, without their ends; views into it.
inline std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace kiln
