#include <fmt/format.h>

#include "cli/cli.h"
#include "kiln/device_codegen.h"
#include "registry/needs.h"

namespace kiln::cli {

namespace {

using registry::Manifest;
using registry::Probe;

std::string join(const std::vector<std::string>& items) { return fmt::format("{}", fmt::join(items, ", ")); }

// A JSON list of what `write` makes of each item.
template <class Items, class Write>
std::string json_list(const Items& items, Write write) {
  std::string out;
  for (const auto& item : items) out += (out.empty() ? "" : ", ") + write(item);
  return "[" + out + "]";
}
std::string error_json(const Error& e) {
  return fmt::format("{{\"code\": {}, \"message\": {}, \"place\": {}, \"hint\": {}}}", quote(code_name(e.code)), quote(e.message),
                     quote(e.place), quote(e.hint));
}
std::string probe_json(const Probe& p) {
  return fmt::format("{{\"what\": {}, \"found\": {}, \"detail\": {}, \"hint\": {}}}", quote(p.what), p.found, quote(p.detail),
                     quote(p.hint));
}

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

std::string manifest_json(const Manifest& m) {
  return fmt::format("{{\"name\": {}, \"kinds\": {}, \"description\": {}, \"source\": {}, \"path\": {}, \"needs\": {}}}", quote(m.name),
                     json_list(m.kinds, quote), quote(m.description), quote(m.source), m.path.empty() ? "null" : quote(m.path),
                     json_list(registry::probe(m), probe_json));
}

}  // namespace

int list(bool json) {
  for (const Manifest& m : registry::manifests()) {
    if (json) {
      fmt::print("{}\n", manifest_json(m));
      continue;
    }
    std::string origin = m.path.empty() ? m.source : m.source + ": " + m.path;
    fmt::print("{}  target kinds: {}  ({})\n", m.name, join(m.kinds), one_line(origin));
    if (!m.description.empty()) fmt::print("  {}\n", one_line(m.description));
    for (const Probe& p : registry::probe(m)) fmt::print("  {}\n", probe_text(p));
  }
  for (const registry::ManifestFault& f : registry::manifest_faults()) {
    if (json) fmt::print("{{\"error\": {}, \"kinds\": {}}}\n", error_json(f.error), json_list(f.kinds, quote));
    std::string text = one_line(f.error.to_string());
    fmt::print(stderr, "kiln: warning: {}\n", text);
  }
  return 0;
}

// ---- resolve ---------------------------------------------------------------------------------------------------

namespace {

const char* state_name(KindBackend::State state) {
  switch (state) {
    case KindBackend::State::kLoadedNow: return "loaded now";
    case KindBackend::State::kLoadedEarlier: return "loaded earlier";
    case KindBackend::State::kLoading: return "loading";
    case KindBackend::State::kFailed: return "did not load";
    case KindBackend::State::kPending: return "not loaded yet";
  }
  return "";
}

bool is_loaded(const KindBackend& b) { return b.state == KindBackend::State::kLoadedNow || b.state == KindBackend::State::kLoadedEarlier; }

std::string backend_json(const KindBackend& b) {
  return fmt::format("{{\"path\": {}, \"origin\": {}, \"source\": {}, \"state\": {}, \"entries\": {}, \"error\": {}}}", quote(b.path),
                     quote(b.origin), b.source.empty() ? "null" : quote(b.source), quote(state_name(b.state)), b.entries,
                     b.error ? error_json(*b.error) : "null");
}

std::string candidate_json(const Candidate& c) {
  return fmt::format("{{\"name\": {}, \"matches\": {}, \"threw\": {}, \"origin\": {}, \"reason\": {}}}", quote(c.name), c.matches, c.threw,
                     quote(c.origin), quote(c.reason));
}

std::vector<std::string> matches_of(const Explanation& e) {
  std::vector<std::string> names;
  for (const Candidate& c : e.candidates) {
    if (c.matches) names.push_back(c.name);
  }
  return names;
}

void print_json(const Target& target, const Explanation& e) {
  fmt::print(
      "{{\"target\": {}, \"codegen\": {}, \"ambiguous\": {}, \"backends\": {}, \"left_out\": {}, \"candidates\": {}, \"loaded\": {}, "
      "\"load_failures\": {}, \"error\": {}}}\n",
      target.to_json(), e.chosen && !e.error ? quote(e.chosen->name) : "null", matches_of(e).size() > 1,
      json_list(e.backends, backend_json), json_list(e.left_out, error_json), json_list(e.candidates, candidate_json),
      json_list(e.loaded, quote), json_list(e.load_failures, [](const Error& f) { return quote(f.to_string()); }),
      e.error ? error_json(*e.error) : "null");
}

void print_backend(const KindBackend& b) {
  std::string source = b.source.empty() ? "" : fmt::format("  ({})", b.source);
  fmt::print("backend: {}\n", one_line(b.origin + source));
  if (b.error)
    fmt::print("{}\n", one_line(b.error->to_string()));
  else
    fmt::print("{}: {}\n", state_name(b.state), one_line(b.path));
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
      print_json(*target, e);
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
  std::string all;
  for (const Manifest& m : registry::manifests()) {
    for (const Probe& p : registry::probe(m)) {
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
