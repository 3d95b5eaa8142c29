#include "registry/describe.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "registry/needs.h"

namespace kiln::registry {

// A JSON list of what `write` makes of each item.
template <class Items, class Write>
static std::string json_list(const Items& items, Write write) {
  std::string out;
  for (const auto& item : items) out += (out.empty() ? "" : ", ") + write(item);
  return "[" + out + "]";
}

static std::string error_json(const Error& e) {
  return fmt::format("{{\"code\": {}, \"message\": {}, \"place\": {}, \"hint\": {}}}", quote(code_name(e.code)), quote(e.message),
                     quote(e.place), quote(e.hint));
}

std::string probe_json(const Probe& p) {
  return fmt::format("{{\"what\": {}, \"found\": {}, \"detail\": {}, \"hint\": {}}}", quote(p.what), p.found, quote(p.detail),
                     quote(p.hint));
}

std::string manifest_json(const Manifest& m) {
  return fmt::format("{{\"name\": {}, \"kinds\": {}, \"description\": {}, \"source\": {}, \"path\": {}, \"needs\": {}}}", quote(m.name),
                     json_list(m.kinds, quote), quote(m.description), quote(m.source), m.path.empty() ? "null" : quote(m.path),
                     json_list(probe(m), probe_json));
}

std::string fault_json(const ManifestFault& f) {
  return fmt::format("{{\"error\": {}, \"kinds\": {}}}", error_json(f.error), json_list(f.kinds, quote));
}

std::string backends_json() {
  std::vector<std::string> items;
  for (const Manifest& m : manifests()) items.push_back(manifest_json(m));
  for (const ManifestFault& f : manifest_faults()) items.push_back(fault_json(f));
  return json_list(items, [](const std::string& item) { return item; });
}

// ---- explanations ----------------------------------------------------------------------------------------------

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

static std::string backend_json(const KindBackend& b) {
  return fmt::format("{{\"path\": {}, \"origin\": {}, \"source\": {}, \"state\": {}, \"entries\": {}, \"error\": {}}}", quote(b.path),
                     quote(b.origin), b.source.empty() ? "null" : quote(b.source), quote(state_name(b.state)), b.entries,
                     b.error ? error_json(*b.error) : "null");
}

static std::string candidate_json(const Candidate& c) {
  return fmt::format("{{\"name\": {}, \"matches\": {}, \"threw\": {}, \"origin\": {}, \"reason\": {}}}", quote(c.name), c.matches, c.threw,
                     quote(c.origin), quote(c.reason));
}

std::string explanation_json(const Target& target, const Explanation& e) {
  auto matches = std::count_if(e.candidates.begin(), e.candidates.end(), [](const Candidate& c) { return c.matches; });
  return fmt::format(
      "{{\"target\": {}, \"codegen\": {}, \"ambiguous\": {}, \"backends\": {}, \"left_out\": {}, \"candidates\": {}, \"loaded\": {}, "
      "\"load_failures\": {}, \"error\": {}}}",
      target.to_json(), e.chosen && !e.error ? quote(e.chosen->name) : "null", matches > 1, json_list(e.backends, backend_json),
      json_list(e.left_out, error_json), json_list(e.candidates, candidate_json), json_list(e.loaded, quote),
      json_list(e.load_failures, [](const Error& f) { return quote(f.to_string()); }), e.error ? error_json(*e.error) : "null");
}

}  // namespace kiln::registry
