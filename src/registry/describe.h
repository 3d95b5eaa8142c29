// The registry's state as JSON.
#pragma once

#include <string>

#include "kiln/target.h"

namespace kiln::registry {

// {"target": {...}, "codegen": name or null, "candidates": [{"name", "matches", "origin", "reason"}], "loaded": [path],
//  "load_failures": [text]}; pending backends of the kind are loaded first.
std::string explanation_json(const Target& target);

// [{"name", "kinds", "description", "origin"}], in the order of manifests(); loads nothing.
std::string backends_json();

}  // namespace kiln::registry
