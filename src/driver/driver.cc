#include "driver/driver.h"

#include <algorithm>
#include <chrono>

#include "ir/verify.h"
#include "target/from_ir.h"

namespace kiln::driver {

namespace {

class Clock {
 public:
  explicit Clock(std::vector<Timing>& timings) : timings_(timings) {}
  void step(std::string name) {
    auto now = std::chrono::steady_clock::now();
    timings_.push_back({std::move(name), std::chrono::duration<double, std::milli>(now - last_).count()});
    last_ = now;
  }

 private:
  std::vector<Timing>& timings_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

Result<BuildResult> build(const IRModule& module, const BuildOptions& options, std::vector<Timing> timings) {
  Clock clock(timings);
  std::vector<Error> faults = ir::verify(module.ir(), 1);
  if (!faults.empty()) return faults[0];
  clock.step("verify");
  auto target = options.parsed_target ? Result<Target>(*options.parsed_target)
                : options.target      ? Target::parse(*options.target)
                                      : target_of(module);
  if (!target) return target.error();
  for (const std::string& key : options.keys) target = target->with_key(key);
  auto codegen = choose_device_codegen(*target, options.codegen);
  if (!codegen) return codegen.error();
  clock.step("resolve");
  bool compile = options.compile || !(*codegen)->build_without_compile;
  auto lowered = (*codegen)->lower(module, *target, compile);
  if (!lowered) return lowered.error();
  clock.step(compile ? "build" : "print");
  return BuildResult{*target, (*codegen)->name, *lowered, std::move(timings)};
}

}  // namespace

Result<const DeviceCodegen*> choose_device_codegen(const Target& target, const std::optional<std::string>& name) {
  if (!name) return resolve_device_codegen(target);
  Explanation e = explain_device_codegen(target);
  std::string known;
  for (const Candidate& c : e.candidates) {
    if (c.name == *name && c.matches) return c.codegen;
    known += (known.empty() ? "" : ", ") + c.name;
  }
  if (!e.load_failures.empty()) return e.load_failures[0];
  auto there = std::find_if(e.candidates.begin(), e.candidates.end(), [&](const Candidate& c) { return c.name == *name; });
  if (there != e.candidates.end()) {
    return Error{Code::kNoCodegen,
                 "device codegen '" + *name + "' does not serve the target '" + target.to_string() + "'" +
                     (there->reason.empty() ? "" : ": " + there->reason),
                 "", "kiln resolve TARGET --explain says which does"};
  }
  return Error{Code::kNoCodegen, "no device codegen '" + *name + "' for target kind '" + target.kind() + "'", "",
               "available: " + (known.empty() ? "<none>" : known)};
}

Result<Target> target_of(const IRModule& module) {
  std::optional<Target> found;
  for (const ir::Function* f : module.ir().functions) {
    const ir::Value* v = f->attrs ? f->attrs->find("target") : nullptr;
    if (!v) continue;
    auto t = target_from_value(*v);
    if (!t) return t.error();
    if (found && !(*found == *t)) {
      return Error{Code::kInvalidArgument,
                   "the module's functions have different targets: " + found->to_string() + " and " + t->to_string(), "",
                   "pass one target"};
    }
    found = *t;
  }
  if (!found) return Error{Code::kInvalidArgument, "the module's functions name no target", "", "pass one, as in --target c"};
  return *found;
}

Result<BuildResult> build(const IRModule& module, const BuildOptions& options) { return build(module, options, {}); }

Result<BuildResult> build_file(const std::string& path, const BuildOptions& options) {
  std::vector<Timing> timings;
  Clock clock(timings);
  auto module = IRModule::load(path);
  if (!module) return module.error();
  clock.step("import");
  return build(*module, options, std::move(timings));
}

}  // namespace kiln::driver
