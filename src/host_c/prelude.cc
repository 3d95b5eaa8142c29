#include "host_c/prelude.h"

#include <algorithm>

#include "host_c/intrinsics.h"

namespace kiln::host_c {

Prelude prelude(const emit::Names& used) {
  std::set<std::string_view> stems, includes = {"stdbool.h", "stdint.h"};
  const std::vector<Helper>& all = helpers();
  for (auto h = all.rbegin(); h != all.rend(); ++h) {
    bool named = std::any_of(h->names.begin(), h->names.end(), [&](std::string_view n) { return used.contains(n); });
    if (!named && !stems.contains(h->stem)) continue;
    stems.insert(h->stem);
    stems.insert(h->needs.begin(), h->needs.end());
    includes.insert(h->includes.begin(), h->includes.end());
  }
  for (const std::string& w : used) {
    bool math = math_function(std::string_view(w)) || w == "INFINITY" || w == "NAN" || w == "isnan" || w == "isinf" || w == "isfinite";
    if (math) includes.insert("math.h");
    if (w == "printf") includes.insert("stdio.h");
    if (w == "size_t") includes.insert("stddef.h");
  }
  Prelude out;
  for (std::string_view header : includes) out.includes += "#include <" + std::string(header) + ">\n";
  for (const Helper& h : all) {
    if (stems.contains(h.stem)) out.helpers += std::string(h.text) + "\n";
  }
  return out;
}

}  // namespace kiln::host_c
