#include "kiln/error.h"

#include <algorithm>
#include <numeric>

namespace kiln {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::kInvalidArgument: return "invalid_argument";
    case Code::kParse: return "parse";
    case Code::kInvalidIr: return "invalid_ir";
    case Code::kUnsupported: return "unsupported";
    case Code::kUnknownTarget: return "unknown_target";
    case Code::kNoCodegen: return "no_codegen";
    case Code::kToolchain: return "toolchain";
    case Code::kLaunch: return "launch";
    case Code::kIo: return "io";
    case Code::kInternal: return "internal";
  }
  return "internal";
}

std::string Error::to_string() const {
  std::string out;
  if (!place.empty()) out += place + ": ";
  out += message;
  if (!hint.empty()) out += " (" + hint + ")";
  return out;
}

static size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substitute = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

std::string nearest(std::string_view name, const std::vector<std::string>& candidates) {
  if (name.size() > 100) return {};  // hostile input: the distance is quadratic
  size_t best = std::max<size_t>(1, name.size() / 3) + 1;
  std::string result;
  for (const std::string& c : candidates) {
    size_t d = edit_distance(name, c);
    if (d < best) best = d, result = c;
  }
  return result;
}

}  // namespace kiln
