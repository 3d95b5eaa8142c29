#include "backends/cuda/arch.h"

#include <charconv>

#include "base/one_line.h"

namespace kiln::cuda {

Result<Arch> arch_of(const Target& target) { return parse_arch(target.attr("arch", "sm_75"), "arch"); }

Result<Arch> parse_arch(const std::string& text, std::string_view attribute) {
  Arch arch;
  std::string_view rest = text;
  if (rest.starts_with("sm_")) {
    rest.remove_prefix(3);
    bool zero = rest.starts_with('0');
    auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), arch.number);
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    if (rest == "a" || rest == "f") arch.suffix = rest[0], rest = {};
    if (error != std::errc() || zero) rest = text;
  }
  if (!rest.empty()) {
    return Error{Code::kInvalidArgument,
                 "target attribute " + std::string(attribute) + " is '" + one_line(text) + "', expected sm_ and a number, as in sm_90a", "",
                 ""};
  }
  auto none = [&](const std::string& hint) {
    return Error{Code::kUnsupported, "codegen 'cuda' has no architecture '" + text + "'", "", hint};
  };
  if (arch.number < 75 || arch.number > 121) return none("it prints for sm_75 to sm_121");
  bool specific = arch.number == 90 || arch.number >= 100;
  if (arch.suffix == 'a' && !specific)
    return none("the suffix a is of sm_90 and of sm_100 and newer, use sm_" + std::to_string(arch.number));
  if (arch.suffix == 'f' && arch.number < 100) {
    return none("the suffix f is of sm_100 and newer, use sm_" + std::to_string(arch.number) + (specific ? "a" : ""));
  }
  return arch;
}

Limits limits(const Arch& arch) {
  Limits l;
  l.max_threads_per_block = 1024;
  l.max_block_x = 1024, l.max_block_y = 1024, l.max_block_z = 64;
  l.max_static_shared_bytes = 48 * 1024;
  l.max_local_bytes = 512 * 1024;
  l.max_grid_x = 2147483647, l.max_grid_y = 65535, l.max_grid_z = 65535;
  switch (arch.number) {
    case 75: l.max_shared_bytes = 64 * 1024; break;
    case 80:
    case 87: l.max_shared_bytes = 163 * 1024; break;
    case 86:
    case 89:
    case 120:
    case 121: l.max_shared_bytes = 99 * 1024; break;
    default: l.max_shared_bytes = 227 * 1024; break;
  }
  return l;
}

}  // namespace kiln::cuda
