#include "registry/backend.h"

#include "backends/cuda/arch.h"
#include "backends/cuda/print.h"
#include "backends/cuda/toolchain.h"
#include "backends/cuda_device.h"
#include "kiln/ir_module.h"

namespace kiln::cuda {
namespace {

Result<Module> build_without_compile(const IRModule& module, const Target& target) {
  Result<Options> options = options_of(target, module.ir());
  if (!options) return options.error();
  PrintFor print = [module, comments = options->line_comments, directives = options->line_directives](const Arch& arch) {
    return print_source(module.ir(), arch, {comments, directives});
  };
  Result<Source> source = print(options->arch);
  if (!source) return source.error();
  runtime::Artifacts artifacts = artifacts_of(*source, *options, print);
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

registry::Probe probe_of(const char* name, const Result<Compiler>& compiler) {
  registry::Probe p;
  p.what = name;
  p.found = compiler.ok();
  p.detail = p.found ? compiler->path + ", " + compiler->version : compiler.error().message;
  if (!p.found) p.hint = compiler.error().hint;
  return p;
}

std::vector<registry::Probe> probe() { return {probe_of("NVRTC", nvrtc()), probe_of("nvcc, where NVRTC is not", nvcc())}; }

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
