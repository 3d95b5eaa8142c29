#include <fmt/format.h>

#include "cli/cli.h"
#include "kiln/device_codegen.h"
#include "registry/backend.h"

namespace kiln::cli {

namespace {

std::string join(const std::vector<std::string>& items) { return fmt::format("{}", fmt::join(items, ", ")); }
std::string quoted_list(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& s : items) out += (out.empty() ? "" : ", ") + quote(s);
  return "[" + out + "]";
}
std::vector<registry::Probe> probes_of(const registry::Manifest& m) {
  return m.builtin && m.builtin->probe ? m.builtin->probe() : std::vector<registry::Probe>();
}
std::string probe_json(const registry::Probe& p) {
  return fmt::format("{{\"what\": {}, \"found\": {}, \"detail\": {}, \"hint\": {}}}", quote(p.what), p.found, quote(p.detail),
                     quote(p.hint));
}
std::string probe_text(const registry::Probe& p) {
  if (p.found) return fmt::format("{}: {}", p.what, p.detail);
  return fmt::format("{}: not found{}{}", p.what, p.detail.empty() ? "" : " (" + p.detail + ")", p.hint.empty() ? "" : "; " + p.hint);
}

}  // namespace

int list(bool json) {
  for (const registry::Manifest& m : registry::manifests()) {
    std::string origin = m.builtin ? "built in" : m.path;
    if (json) {
      std::string probes;
      for (const registry::Probe& p : probes_of(m)) probes += (probes.empty() ? "" : ", ") + probe_json(p);
      fmt::print("{{\"name\": {}, \"kinds\": {}, \"description\": {}, \"origin\": {}, \"needs\": [{}]}}\n", quote(m.name),
                 quoted_list(m.kinds), quote(m.description), quote(origin), probes);
      continue;
    }
    fmt::print("{}  target kinds: {}  ({})\n  {}\n", m.name, join(m.kinds), origin, m.description);
    for (const registry::Probe& p : probes_of(m)) fmt::print("  {}\n", probe_text(p));
  }
  for (const registry::ManifestFault& f : registry::manifest_faults())
    fmt::print(stderr, "kiln: warning: {}\n", printable(f.error.to_string()));
  return 0;
}

int resolve(const std::string& text, bool explain, bool json) {
  auto target = Target::parse(text);
  if (!target) return report(target.error(), json);
  if (!explain) {
    auto chosen = resolve_device_codegen(*target);
    if (!chosen) return report(chosen.error(), json);
    if (json)
      fmt::print("{{\"target\": {}, \"codegen\": {}}}\n", target->to_json(), quote((*chosen)->name));
    else
      fmt::print("{}\n", (*chosen)->name);
    return 0;
  }
  Explanation e = explain_device_codegen(*target);
  if (json) {
    std::string candidates, failures;
    for (const Candidate& c : e.candidates) {
      candidates += fmt::format("{}{{\"name\": {}, \"matches\": {}, \"origin\": {}, \"reason\": {}}}", candidates.empty() ? "" : ", ",
                                quote(c.name), c.matches, quote(c.origin), quote(c.reason));
    }
    for (const Error& f : e.load_failures) failures += (failures.empty() ? "" : ", ") + quote(f.to_string());
    fmt::print("{{\"target\": {}, \"codegen\": {}, \"candidates\": [{}], \"loaded\": {}, \"load_failures\": [{}]}}\n", target->to_json(),
               e.chosen ? quote(e.chosen->name) : "null", candidates, quoted_list(e.loaded), failures);
    return e.chosen ? 0 : 1;
  }
  fmt::print("target {} (kind {})\n", target->to_string(), e.kind);
  for (const std::string& path : e.loaded) fmt::print("loaded now: {}\n", path);
  for (const Error& f : e.load_failures) fmt::print("did not load: {}\n", f.to_string());
  for (const Candidate& c : e.candidates) {
    fmt::print("{} {}  from {}{}\n", c.matches ? "matches" : "rejects", c.name, c.origin,
               c.matches || c.reason.empty() ? "" : ": " + c.reason);
  }
  if (e.candidates.empty()) fmt::print("no codegen is registered for this kind\n");
  if (!e.chosen) {
    auto error = resolve_device_codegen(*target);
    return error ? 1 : report(error.error(), false);
  }
  fmt::print("chosen: {}, the first that matches\n", e.chosen->name);
  return 0;
}

int doctor(bool json) {
  size_t missing = 0;
  std::string all;
  for (const registry::Manifest& m : registry::manifests()) {
    for (const registry::Probe& p : probes_of(m)) {
      missing += !p.found;
      if (json)
        all += fmt::format("{}{{\"backend\": {}, \"probe\": {}}}", all.empty() ? "" : ", ", quote(m.name), probe_json(p));
      else
        fmt::print("{}  {}: {}\n", p.found ? "found  " : "missing", m.name, probe_text(p));
    }
  }
  if (json)
    fmt::print("{{\"probes\": [{}], \"missing\": {}}}\n", all, missing);
  else
    fmt::print("{}\n", missing == 0 ? "everything that the backends use is here" : fmt::format("{} missing", missing));
  return 0;
}

}  // namespace kiln::cli
