// The registry of device codegens: which code serves a target.
//
// All calls are safe from any thread; reads take no lock. Callbacks may call the registry. An exception that a callback throws passes
// through to the caller as it was and leaves the registry intact.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/ir_module.h"
#include "kiln/module.h"
#include "kiln/target.h"

namespace kiln {

// Lowers a device IRModule to a module with the device code.
using DeviceCodegenFunc = std::function<Result<Module>(const IRModule&, const Target&)>;
using TargetPredicate = std::function<bool(const Target&)>;

// A codegen that looks the tvm-ffi global function up each time it is called, and calls it with the module (a kiln.IRModule object) and the
// target (a kiln.Target object). A missing function is an error that names it.
DeviceCodegenFunc global_func_device_codegen(std::string global_func_name);

// Entry points of one backend variant; all but the name may be absent.
struct DeviceCodegen {
  std::string name;
  DeviceCodegenFunc build;
  DeviceCodegenFunc build_without_compile;
  TargetPredicate supports_target;

  // No predicate: true; else what the predicate says.
  bool matches(const Target& target) const { return !supports_target || supports_target(target); }
  // Calls `build` when `compile_device`, else `build_without_compile`; absent: error kUnsupported.
  Result<Module> lower(const IRModule& mod, const Target& target, bool compile_device) const;
};

// Appends to the kind's list. A name that the kind already has is an error, unless `override`, which removes the old entry and appends the
// new one. The entry returned lives until the process ends, even when it is removed.
Result<const DeviceCodegen*> register_device_codegen(std::string_view target_kind, DeviceCodegen codegen, bool override = false);

// Loads that backend the first time its kind is used, once. `import_path` is a Python module (in a process with Python), a shared library,
// or the name of a backend with a manifest. Registering the same path again lets it load again.
Status register_lazy_device_codegen(std::string_view target_kind, std::string_view import_path);

// Names of the matching entries in registration order; lazy ones are loaded first.
Result<std::vector<std::string>> allowed_device_codegens_for_target(const Target& target);

// The first matching entry; lazy ones are loaded first. None: error kNoCodegen naming the kind and the available names, or <none>.
Result<const DeviceCodegen*> resolve_device_codegen(const Target& target);

// One entry as a resolution saw it.
struct Candidate {
  std::string name;
  bool matches = false;
  std::string origin;  // "manifest c", "library /…", "registered by the program"
  std::string reason;  // why not, when it does not match
  const DeviceCodegen* codegen = nullptr;
  bool threw = false;  // its predicate threw; `reason` says what
};
// A backend that is loaded for the kind.
struct KindBackend {
  enum class State : uint8_t {
    kLoadedNow,      // by this call
    kLoadedEarlier,  // or by another thread meanwhile
    kLoading,        // by this thread, which is in the middle of it
    kFailed,         // not loaded: `error`
    kPending,        // not loaded yet: another thread registered it meanwhile
  };
  std::string path;    // import path: a manifest's name, a shared library, a Python module
  std::string origin;  // as in Candidate
  std::string source;  // where its manifest was found: "built in", "KILN_BACKEND_PATH: /…/manifest.json"; empty without a manifest
  State state = State::kPending;
  size_t entries = 0;          // of the kind, that it registered and that are still there
  std::optional<Error> error;  // for kFailed
};
// What a resolution did, for `kiln resolve --explain`.
struct Explanation {
  std::string kind;
  std::vector<KindBackend> backends;  // in the order of loading
  std::vector<Error> left_out;        // why manifests that claim the kind are not used
  std::vector<Candidate> candidates;  // in registration order
  std::vector<std::string> loaded;    // import paths loaded by this call
  std::vector<Error> load_failures;
  const DeviceCodegen* chosen = nullptr;  // the first that matches; null when none does
  std::optional<Error> error;             // what resolve_device_codegen fails with: a load, a predicate that throws, no match
};
// Resolves without stopping: all backends of the kind are tried, all predicates are asked, and one that throws is a reason.
Explanation explain_device_codegen(const Target& target);

// The only matching entry; several matching ones are an error naming them.
Result<const DeviceCodegen*> resolve_unambiguous_device_codegen(const Target& target);

// Removes its entry when destroyed (if it is still there). Movable.
class ScopedDeviceCodegen {
 public:
  ScopedDeviceCodegen() = default;
  ScopedDeviceCodegen(std::string kind, const DeviceCodegen* entry) : kind_(std::move(kind)), entry_(entry) {}
  ScopedDeviceCodegen(ScopedDeviceCodegen&& other) noexcept : kind_(std::move(other.kind_)), entry_(std::exchange(other.entry_, nullptr)) {}
  ScopedDeviceCodegen& operator=(ScopedDeviceCodegen&& other) noexcept;
  ~ScopedDeviceCodegen();
  const DeviceCodegen* get() const { return entry_; }

 private:
  std::string kind_;
  const DeviceCodegen* entry_ = nullptr;
};
Result<ScopedDeviceCodegen> register_scoped_device_codegen(std::string_view target_kind, DeviceCodegen codegen);

// Removes the entry of that name; false when the kind has none.
bool remove_device_codegen(std::string_view target_kind, std::string_view name);

}  // namespace kiln
