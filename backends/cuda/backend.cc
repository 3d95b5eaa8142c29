#include "registry/backend.h"

#include "backends/cuda/arch.h"
#include "backends/cuda/print.h"
#include "backends/cuda/toolchain.h"
#include "backends/cuda_device.h"
#include "kiln/ir_module.h"

namespace kiln::cuda {
namespace {

Result<Module> build_without_compile(const IRModule& module, const Target& target) {
  Result<Arch> arch = arch_of(target);
  if (!arch) return arch.error();
  Result<Source> source = print_source(module.ir(), *arch);
  if (!source) return source.error();
  runtime::Artifacts artifacts = artifacts_of(*source, *arch);
  return runtime::make_source_module(std::move(*source), std::move(artifacts));
}

Status init() {
  DeviceCodegen codegen;
  codegen.name = "cuda";
  codegen.build_without_compile = build_without_compile;  // `build` comes with a run time that launches
  auto registered = register_device_codegen("cuda", std::move(codegen));
  if (!registered) return registered.error();
  return Ok{};
}

std::vector<registry::Probe> probe() {
  registry::Probe p;
  p.what = "NVRTC";
  Result<std::string> compiler = describe_compiler();
  p.found = compiler.ok();
  p.detail = p.found ? *compiler : compiler.error().message;
  if (!p.found) p.hint = compiler.error().hint;
  return {p};
}

}  // namespace

const registry::Builtin& backend() {
  static const registry::Builtin builtin = {device::manifest_json, init, probe, [](const Target&) { return features(); },
                                            [](const Target& target) {
                                              Result<Arch> arch = arch_of(target);
                                              return arch ? limits(*arch) : Limits{};
                                            }};
  return builtin;
}

}  // namespace kiln::cuda
