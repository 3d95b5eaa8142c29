#pragma once

#include <string>
#include <string_view>

namespace kiln {

// Text from outside, fit for a message of one line: control characters, line ends among them, as \x0a.
inline std::string one_line(std::string_view text) {
  std::string out;
  for (char c : text) {
    auto u = static_cast<unsigned char>(c);
    if (u >= 0x20 && u != 0x7f) {
      out += c;
    } else {
      out += "\\x", out += "0123456789abcdef"[u >> 4], out += "0123456789abcdef"[u & 15];
    }
  }
  return out;
}

}  // namespace kiln
