#include "registry/describe.h"

#include <fmt/format.h>

#include "base/json.h"
#include "kiln/device_codegen.h"
#include "registry/backend.h"

namespace kiln::registry {

template <class List, class ToJson>
static std::string json_list(const List& items, ToJson to_json) {
  std::string out;
  for (const auto& item : items) out += (out.empty() ? "" : ", ") + to_json(item);
  return "[" + out + "]";
}

std::string explanation_json(const Target& target) {
  Explanation e = explain_device_codegen(target);
  std::string candidates = json_list(e.candidates, [](const Candidate& c) {
    return fmt::format("{{\"name\": {}, \"matches\": {}, \"origin\": {}, \"reason\": {}}}", quote(c.name), c.matches, quote(c.origin),
                       quote(c.reason));
  });
  return fmt::format("{{\"target\": {}, \"codegen\": {}, \"candidates\": {}, \"loaded\": {}, \"load_failures\": {}}}", target.to_json(),
                     e.chosen ? quote(e.chosen->name) : "null", candidates, json_list(e.loaded, quote),
                     json_list(e.load_failures, [](const Error& error) { return quote(error.to_string()); }));
}

std::string backends_json() {
  return json_list(manifests(), [](const Manifest& m) {
    return fmt::format("{{\"name\": {}, \"kinds\": {}, \"description\": {}, \"origin\": {}}}", quote(m.name), json_list(m.kinds, quote),
                       quote(m.description), quote(m.builtin ? m.source : m.source + ": " + m.path));
  });
}

}  // namespace kiln::registry
