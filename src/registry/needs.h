// What a backend needs, and whether it is here.
#pragma once

#include "registry/backend.h"

namespace kiln::registry {

// What a built-in backend probes itself, the library or Python module that a manifest names, then each of its needs in the manifest's
// order. Looks at files only: no library is opened, no command run for what a manifest names, no Python module imported.
std::vector<Probe> probe(const Manifest& manifest);

}  // namespace kiln::registry
