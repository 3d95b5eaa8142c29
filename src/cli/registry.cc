#include <fmt/format.h>

#include "cli/cli.h"
#include "kiln/device_codegen.h"
#include "registry/describe.h"
#include "registry/devices.h"
#include "registry/needs.h"

namespace kiln::cli {

namespace {

using registry::Manifest;
using registry::Probe;

std::string join(const std::vector<std::string>& items) { return fmt::format("{}", fmt::join(items, ", ")); }

// Untrusted text on one line of a terminal: a name or description must not look like a line of ours.
std::string one_line(std::string_view text) {
  std::string out;
  for (char c : printable(text)) out += c == '\n' || c == '\t' ? ' ' : c;
  return out;
}
std::string probe_text(const Probe& p) {
  if (p.found) return one_line(p.what + ": " + p.detail);
  return one_line(p.what + ": not found" + (p.detail.empty() ? "" : " (" + p.detail + ")") + (p.hint.empty() ? "" : "; " + p.hint));
}

}  // namespace

int list(bool json) {
  for (const Manifest& m : registry::manifests()) {
    if (json) {
      fmt::print("{}\n", registry::manifest_json(m));
      continue;
    }
    std::string origin = m.path.empty() ? m.source : m.source + ": " + m.path;
    fmt::print("{}  target kinds: {}  ({})\n", m.name, join(m.kinds), one_line(origin));
    if (!m.description.empty()) fmt::print("  {}\n", one_line(m.description));
    for (const Probe& p : registry::probe(m)) fmt::print("  {}\n", probe_text(p));
  }
  for (const registry::ManifestFault& f : registry::manifest_faults()) {
    if (json) fmt::print("{}\n", registry::fault_json(f));
    std::string text = one_line(f.error.to_string());
    fmt::print(stderr, "kiln: warning: {}\n", text);
  }
  return 0;
}

// ---- resolve ---------------------------------------------------------------------------------------------------

namespace {

bool is_loaded(const KindBackend& b) { return b.state == KindBackend::State::kLoadedNow || b.state == KindBackend::State::kLoadedEarlier; }

std::vector<std::string> matches_of(const Explanation& e) {
  std::vector<std::string> names;
  for (const Candidate& c : e.candidates) {
    if (c.matches) names.push_back(c.name);
  }
  return names;
}

void print_backend(const KindBackend& b) {
  std::string source = b.source.empty() ? "" : fmt::format("  ({})", b.source);
  fmt::print("backend: {}\n", one_line(b.origin + source));
  if (b.error)
    fmt::print("{}\n", one_line(b.error->to_string()));
  else
    fmt::print("{}: {}\n", registry::state_name(b.state), one_line(b.path));
  if (is_loaded(b) && b.entries == 0) fmt::print("registered no codegen for this kind: {}\n", one_line(b.path));
}

void print_text(const Target& target, const Explanation& e) {
  fmt::print("target {} (kind {})\n", one_line(target.to_string()), e.kind);
  for (const KindBackend& b : e.backends) print_backend(b);
  if (e.backends.empty()) fmt::print("no backend is known for this kind\n");
  for (const Error& f : e.left_out) fmt::print("left out: {}\n", one_line(f.to_string()));
  for (const Candidate& c : e.candidates) {
    const char* answer = c.matches ? "matches" : c.threw ? "throws " : "rejects";
    fmt::print("{} {}\n", answer, one_line(c.name + "  from " + c.origin + (c.reason.empty() ? "" : ": " + c.reason)));
  }
  if (e.candidates.empty()) fmt::print("no codegen is registered for this kind\n");
  std::vector<std::string> matches = matches_of(e);
  if (matches.size() > 1) fmt::print("ambiguous: {} match; registration order decides\n", one_line(join(matches)));
  if (!e.error)
    fmt::print("chosen: {}, the first that matches\n", one_line(e.chosen->name));
  else if (e.chosen)
    fmt::print("chosen: none, because of the error; {} is the first that matches\n", one_line(e.chosen->name));
}

// A kind that is not known may be claimed by a manifest that was left out.
Error with_faults(Error error) {
  size_t count = registry::manifest_faults().size();
  if (error.code != Code::kUnknownTarget || count == 0) return error;
  error.hint += fmt::format("{}manifests left out: {}, shown by kiln list", error.hint.empty() ? "" : "; ", count);
  return error;
}

}  // namespace

int resolve(const std::string& text, bool explain, bool json) {
  auto target = Target::parse(text);
  if (!target) return report(with_faults(target.error()), json);
  if (explain) {
    Explanation e = explain_device_codegen(*target);
    if (json)
      fmt::print("{}\n", registry::explanation_json(*target, e));
    else
      print_text(*target, e);
    return e.error ? report(*e.error, false) : 0;
  }
  auto chosen = resolve_device_codegen(*target);
  if (!chosen) return report(chosen.error(), json);
  if (json)
    fmt::print("{{\"target\": {}, \"codegen\": {}}}\n", target->to_json(), quote((*chosen)->name));
  else
    fmt::print("{}\n", one_line((*chosen)->name));
  return 0;
}

int doctor(bool json) {
  size_t missing = 0;
  std::string all, devices;
  for (const Manifest& m : registry::manifests()) {
    for (const Probe& p : registry::probe(m)) {
      missing += !p.found;
      if (json)
        all += fmt::format("{}{{\"backend\": {}, \"probe\": {}}}", all.empty() ? "" : ", ", quote(m.name), registry::probe_json(p));
      else
        fmt::print("{}  {}: {}\n", p.found ? "found  " : "missing", m.name, probe_text(p));
    }
  }
  for (const runtime::DeviceApi* api : registry::device_apis()) {
    for (const registry::ListedDevice& d : registry::list_devices(*api)) {
      if (json)
        devices += fmt::format("{}{{\"name\": {}, \"description\": {}}}", devices.empty() ? "" : ", ", quote(d.name), quote(d.description));
      else
        fmt::print("device   {}\n", one_line(d.name + ": " + d.description));
    }
  }
  if (json)
    fmt::print("{{\"probes\": [{}], \"devices\": [{}], \"missing\": {}}}\n", all, devices, missing);
  else
    fmt::print("{}\n", missing == 0 ? "everything that the backends use is here" : fmt::format("{} missing", missing));
  return 0;
}

}  // namespace kiln::cli
