// The registry's state as JSON: what `--json` prints and other languages get.
#pragma once

#include <string>

#include "kiln/device_codegen.h"
#include "registry/backend.h"

namespace kiln::registry {

// {"what", "found", "detail", "hint"}
std::string probe_json(const Probe& probe);
// {"name", "kinds", "description", "source", "path" or null, "needs": [probe]}
std::string manifest_json(const Manifest& manifest);
// {"error": {"code", "message", "place", "hint"}, "kinds"}
std::string fault_json(const ManifestFault& fault);
// A list of every manifest_json and fault_json. Looks at files, loads nothing.
std::string backends_json();

// "loaded now", "did not load", ...
const char* state_name(KindBackend::State state);
// {"target": {...}, "codegen": name or null, "ambiguous", "backends": [{"path", "origin", "source", "state", "entries", "error"}],
//  "left_out": [error], "candidates": [{"name", "matches", "threw", "origin", "reason"}], "loaded": [path], "load_failures": [text],
//  "error": error or null}
std::string explanation_json(const Target& target, const Explanation& explanation);

}  // namespace kiln::registry
