// How a backend introduces itself: the same record for those built in and those found outside.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kiln/device_codegen.h"
#include "target/features.h"

namespace kiln::registry {

// One thing that a backend needs or can use on this machine, for `kiln doctor` and `kiln list`.
struct Probe {
  std::string what;    // "C compiler"
  bool found = false;
  std::string detail;  // path and version, or where it was looked for
  std::string hint;    // what to install when it is not found
};

// manifest.json: {"name": "c", "kinds": ["c"], "description": "...", "library": "libx.so"}; library is absent for one that is built in.
struct Manifest {
  std::string name, description, library;
  std::vector<std::string> kinds;
  std::string path;  // of the manifest file; empty for one that is built in
};

// A backend that is linked in. Its folder defines `const Builtin& backend()` in namespace kiln::<folder>; CMake writes the table from
// backends/*/manifest.json.
struct Builtin {
  const char* manifest_json;
  Status (*init)();  // registers its codegens; called once, at the first use of one of its kinds
  std::vector<Probe> (*probe)();
  Features (*features)(const Target&);
  Limits (*limits)(const Target&);
};

// The table that CMake generates.
std::span<const Builtin* const> builtin_backends();

// Every manifest known, built-in ones first, sorted by name. Reads files, loads nothing.
const std::vector<Manifest>& manifests();

}  // namespace kiln::registry
