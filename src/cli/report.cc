#include <fmt/format.h>

#include <cstdio>

#include "cli/cli.h"

namespace kiln::cli {

std::string printable(std::string_view text) {
  std::string out;
  for (char c : text) {
    auto u = static_cast<unsigned char>(c);
    if ((u < 0x20 && c != '\n' && c != '\t') || u == 0x7f)
      out += fmt::format("\\x{:02x}", u);
    else
      out += c;
  }
  return out;
}

int report(const Error& e, bool json) {
  if (json) {
    fmt::print("{{\"error\": {{\"code\": {}, \"message\": {}, \"place\": {}, \"hint\": {}}}}}\n", quote(code_name(e.code)),
               quote(e.message), quote(e.place), quote(e.hint));
  }
  std::string text = printable(e.to_string());
  std::fprintf(stderr, "kiln: error: %s\n", text.c_str());  // never throws, also where nobody can read it
  return 1;
}

}  // namespace kiln::cli
