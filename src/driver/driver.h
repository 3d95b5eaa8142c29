// The whole flow, from a module to an artifact.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kiln/device_codegen.h"

namespace kiln::driver {

struct Timing {
  std::string step;  // "import", "verify", "resolve", "lower", ...
  double milliseconds = 0;
};

struct BuildOptions {
  std::optional<std::string> target;                   // text form; absent: the target attribute of the module's functions
  std::optional<std::string> codegen;                  // name of the entry to use instead of the first that matches
  bool compile = true;                                 // false: source is enough; a codegen that can only compile does so all the same
  std::optional<Target> parsed_target = std::nullopt;  // in place of `target`
  std::vector<std::string> keys = {};                  // added to the target's
};

struct BuildResult {
  Target target;
  std::string codegen;
  Module module;
  std::vector<Timing> timings;
};

// The target attribute of the module's functions; an error when it is absent or they differ.
Result<Target> target_of(const IRModule& module);

// The entry of that name among those that match; without a name the first that matches.
Result<const DeviceCodegen*> choose_device_codegen(const Target& target, const std::optional<std::string>& name);

// verify, resolve, lower. The first fault found by the verifier is the error.
Result<BuildResult> build(const IRModule& module, const BuildOptions& options);

// load(path), then build.
Result<BuildResult> build_file(const std::string& path, const BuildOptions& options);

}  // namespace kiln::driver
