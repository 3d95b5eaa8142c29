#include "registry/backend.h"

#include "backends/cuda/arch.h"
#include "backends/cuda/device_api.h"
#include "backends/cuda/driver.h"
#include "backends/cuda/launch.h"
#include "backends/cuda/print.h"
#include "backends/cuda/tensor_map.h"
#include "backends/cuda/toolchain.h"
#include "backends/cuda_device.h"
#include "kiln/ir_module.h"

namespace kiln::cuda {
namespace {

// A module's text, and how what is made of it is made.
struct Printed {
  Options options;
  Source source;
  runtime::Artifacts artifacts;
};

Result<Printed> print(const IRModule& module, const Target& target) {
  Result<Options> options = options_of(target, module.ir());
  if (!options) return options.error();
  PrintFor print = [module, comments = options->line_comments, directives = options->line_directives](const Arch& arch) {
    return print_source(module.ir(), arch, {comments, directives});
  };
  Result<Source> source = print(options->arch);
  if (!source) return source.error();
  runtime::Artifacts artifacts = artifacts_of(*source, *options, print);
  return Printed{std::move(*options), std::move(*source), std::move(artifacts)};
}

Result<Module> build_without_compile(const IRModule& module, const Target& target) {
  Result<Printed> p = print(module, target);
  if (!p) return p.error();
  return runtime::make_source_module(std::move(p->source), std::move(p->artifacts));
}

Result<Module> build(const IRModule& module, const Target& target) {
  Result<Printed> p = print(module, target);
  if (!p) return p.error();
  Result<std::string> cubin = p->artifacts["cubin"]();
  if (!cubin) return cubin.error();
  p->artifacts["cubin"] = [made = *cubin] { return Result<std::string>(made); };
  auto launcher = make_launcher(p->source, p->options.arch, std::move(*cubin), p->artifacts["ptx"]);
  if (!launcher) return launcher.error();
  return runtime::make_launched_module(std::move(p->source), std::move(*launcher), std::move(p->artifacts));
}

Status init() {
  register_tensor_map_functions();
  DeviceCodegen codegen;
  codegen.name = "cuda";
  codegen.build = build;
  codegen.build_without_compile = build_without_compile;
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

std::vector<registry::Probe> probe() {
  std::vector<registry::Probe> probes = {probe_of("NVRTC", nvrtc()), probe_of("nvcc (used where NVRTC is not found)", nvcc())};
  Result<std::string> driver = describe_driver();
  probes.push_back({"CUDA driver", driver.ok(), driver ? *driver : driver.error().message, driver ? "" : driver.error().hint});
  return probes;
}

}  // namespace

const registry::Builtin& backend() {
  static const registry::Builtin builtin = {device::manifest_json,
                                            init,
                                            probe,
                                            [](const Target&) { return features(); },
                                            [](const Target& target) {
                                              Result<Arch> arch = arch_of(target);
                                              return arch ? limits(*arch) : Limits{};
                                            },
                                            &device_api()};
  return builtin;
}

}  // namespace kiln::cuda
