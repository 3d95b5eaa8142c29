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
  std::string what;  // "C compiler"
  bool found = false;
  std::string detail;  // path and version, or where it was looked for
  std::string hint;    // what to install when it is not found
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

// manifest.json: {"name": "x", "kinds": ["x"], "description": "...", "library": "libx.so"}; library is absent for one that is built in.
struct Manifest {
  std::string name, description, library;
  std::vector<std::string> kinds;
  std::string path;                  // of the manifest file; empty for one that is built in
  const Builtin* builtin = nullptr;  // null for one that a file describes
};

// The table that CMake generates.
std::span<const Builtin* const> builtin_backends();

// Every manifest known: built-in ones first, then those in the folders that the environment variable KILN_BACKEND_PATH lists (separated by
// ':'; a manifest.json in the folder itself or one folder below), each group sorted by name. Reads files once, at the first call; loads
// nothing.
const std::vector<Manifest>& manifests();

// What was wrong with manifests that were left out: unreadable, malformed, or of a name already taken.
const std::vector<Error>& manifest_errors();

// Reads one manifest; `place` names it in errors.
Result<Manifest> parse_manifest(std::string_view json, std::string_view place);

}  // namespace kiln::registry
