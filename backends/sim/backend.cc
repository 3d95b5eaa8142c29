#include "registry/backend.h"

#include <algorithm>
#include <array>

#include "backends/sim/check.h"
#include "backends/sim/checker/session.h"
#include "backends/sim/device_api.h"
#include "backends/sim/features.h"
#include "backends/sim/launcher.h"
#include "backends/sim/print.h"
#include "backends/sim/shim/codegen.h"
#include "backends/sim_device.h"
#include "emit/functions.h"
#include "host_c/compiler.h"
#include "kiln/ir_module.h"

namespace kiln::sim {
namespace {

Result<Module> build_without_compile(const IRModule& module, const Target& target) {
  Result<Printed> p = print_source(module.ir(), target.has_key(checker::kTargetKey));
  if (!p) return p.error();
  runtime::Artifacts artifacts = host_c::artifacts_of(p->source);
  return runtime::make_source_module(std::move(p->source), std::move(artifacts));
}

Result<Module> build(const IRModule& module, const Target& target) {
  Result<Printed> p = print_source(module.ir(), target.has_key(checker::kTargetKey));
  if (!p) return p.error();
  Result<std::shared_ptr<const runtime::Library>> library = host_c::compile_and_load(p->source, host_c::Language::kQuickC);
  if (!library) return library.error();
  auto launcher = make_launcher(*p, std::move(*library));
  if (!launcher) return launcher.error();
  runtime::Artifacts artifacts = host_c::artifacts_of(p->source);
  return runtime::make_launched_module(std::move(p->source), std::move(*launcher), std::move(artifacts));
}

// A kernel that is CUDA source text runs as text.
bool is_text(const ir::Module& module) { return std::any_of(module.functions.begin(), module.functions.end(), emit::has_imported_body); }

template <Result<Module> (*lower)(const IRModule&, const Target&)>
Result<Module> checked(const IRModule& module, const Target& target) {
  if (is_text(module.ir())) {
    DeviceCodegen text = text_codegen();
    return (lower == build ? text.build : text.build_without_compile)(module, target);
  }
  if (Status s = check_architecture(module.ir(), target); !s) return s.error();
  return lower(module, target);
}

Status init() {
  DeviceCodegen codegen;
  codegen.name = "sim";
  codegen.build = checked<build>;
  codegen.build_without_compile = checked<build_without_compile>;
  codegen.supports_target = [](const Target& target) { return target.has_key("sim"); };
  for (DeviceCodegen& c : std::array{std::move(codegen), text_codegen()}) {
    auto registered = register_device_codegen("cuda", std::move(c));
    if (!registered) return registered.error();
  }
  return Ok{};
}

// Kernels are compiled as C, printed CUDA text as C++.
std::vector<registry::Probe> probe() {
  std::vector<registry::Probe> all;
  for (auto [what, language] :
       {std::pair{"C compiler", host_c::Language::kQuickC}, {"C++ compiler (of cuda_text)", host_c::Language::kCxx}}) {
    Result<std::string> compiler = host_c::describe_compiler(language);
    bool found = compiler.ok();
    all.push_back({what, found, found ? *compiler : compiler.error().message, found ? "" : compiler.error().hint});
  }
  return all;
}

}  // namespace

const registry::Builtin& backend() {
  static const registry::Builtin builtin = {
      device::manifest_json, init, probe, [](const Target&) { return features(); }, [](const Target&) { return Limits{}; }, &device_api()};
  return builtin;
}

}  // namespace kiln::sim
