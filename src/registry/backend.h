// How a backend introduces itself: the same record for those built in and those found outside.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kiln/device_codegen.h"
#include "runtime/device.h"
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
  const runtime::DeviceApi* device = nullptr;  // where its kernels run, when not on the CPU
};

// What a manifest says that its backend needs on this machine.
struct Needs {
  std::vector<std::string> commands;   // programs, looked up in PATH; with '/': paths
  std::vector<std::string> python;     // modules
  std::vector<std::string> files;      // paths
  std::vector<std::string> libraries;  // names of shared libraries, looked up where the loader looks; with '/': paths
};

// manifest.json: {"name": "x", "kinds": ["x"], "key": "y", "description": "...", "library": "libx.so", "needs": {"commands": ["clang"]}}.
// One that is not built in has either `library` or `python`. Relative paths start at the manifest's folder. All of it is untrusted text.
struct Manifest {
  std::string name, description;
  std::vector<std::string> kinds;
  // Its codegens serve only targets with this key, so it is asked before the backends that serve a kind without one. Empty: none.
  std::string key;
  std::string library;  // path of a shared library
  std::string python;   // module path
  Needs needs;
  std::string source;                // "built in", "package", "KILN_BACKEND_PATH", "user folder", or what a ManifestSource said
  std::string path;                  // absolute, of the manifest file; empty for one that is built in
  std::string python_path;           // folder that is put on sys.path while `python` is imported; empty when it is importable as it is
  const Builtin* builtin = nullptr;  // null for one that a file describes
};

// The table that CMake generates.
std::span<const Builtin* const> builtin_backends();

// A manifest that was left out: unreadable, malformed, or of a name already taken.
struct ManifestFault {
  Error error;
  std::vector<std::string> kinds;  // that it claims, as far as they could be read
};
struct ManifestSet {
  std::vector<Manifest> manifests;
  std::vector<ManifestFault> faults;
};

// Looks for manifests, in the order of the sources:
//   built in; the package: kiln/backends/ beside this library; the folders that the environment variable KILN_BACKEND_PATH lists, separated
//   by ':'; the user folder: ${XDG_DATA_HOME:-~/.local/share}/kiln/backends; the ManifestSource.
// A folder's manifests are manifest.json in the folder itself and one folder below, sorted by path. The first one of a name stands. Reads
// files; loads nothing.
ManifestSet find_manifests();

// What the first of these calls found; later ones look no more.
const std::vector<Manifest>& manifests();
const std::vector<ManifestFault>& manifest_faults();

// The folder of this library (or of the program that holds it), absolute; empty when the loader does not say.
std::string library_folder();

// A path of the manifest, made absolute: a relative one starts at the manifest's folder.
std::string beside(const Manifest& manifest, const std::string& path);

// Manifests that come from elsewhere, as from the entry points of Python packages. `place` is the path of the manifest file, where there is
// one: relative paths start at its folder. `source` is as in Manifest.
struct ManifestText {
  std::string json, place, source;
};
using ManifestSource = std::function<std::vector<ManifestText>()>;
// Set before the first use of the registry; later has no effect. Called once by that first use (when several threads race, by each of
// them), with no lock held. It must not use the registry: when it does, that use goes without it. What it throws becomes a manifest fault.
void set_manifest_source(ManifestSource source);

// Reads one manifest's text, of at most 64 KiB; `place` names it in errors. Fields that it does not know are skipped. `claimed`, where
// given, gets the kinds that the text claims, as far as they can be read, also when the rest is faulty.
Result<Manifest> parse_manifest(std::string_view json, std::string_view place, std::vector<std::string>* claimed = nullptr);

}  // namespace kiln::registry
