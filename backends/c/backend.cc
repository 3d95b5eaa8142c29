#include "registry/backend.h"

#include "backends/c/features.h"
#include "backends/c/print.h"
#include "backends/c_device.h"
#include "host_c/compiler.h"
#include "kiln/ir_module.h"

namespace kiln::c {

using namespace host_c;

namespace {

Result<Module> build_without_compile(const IRModule& module, const Target& target) {
  Result<Source> source = print_source(module.ir(), target);
  if (!source) return source.error();
  runtime::Artifacts artifacts = artifacts_of(*source);
  return runtime::make_source_module(std::move(*source), std::move(artifacts));
}

Result<Module> build(const IRModule& module, const Target& target) {
  Result<Source> source = print_source(module.ir(), target);
  if (!source) return source.error();
  Result<std::shared_ptr<const runtime::Library>> library = compile_and_load(*source);
  if (!library) return library.error();
  runtime::Artifacts artifacts = artifacts_of(*source);
  return runtime::make_compiled_module(std::move(*source), std::move(*library), std::move(artifacts));
}

Status init() {
  DeviceCodegen codegen;
  codegen.name = "c";
  codegen.build = build;
  codegen.build_without_compile = build_without_compile;
  auto registered = register_device_codegen("c", std::move(codegen));
  if (!registered) return registered.error();
  return Ok{};
}

std::vector<registry::Probe> probe() {
  registry::Probe p;
  p.what = "C compiler";
  Result<std::string> compiler = describe_compiler(Language::kC);
  p.found = compiler.ok();
  p.detail = p.found ? *compiler : compiler.error().message;
  p.hint = p.found ? "" : compiler.error().hint;
  return {p};
}

}  // namespace

const registry::Builtin& backend() {
  static const registry::Builtin builtin = {device::manifest_json, init, probe, [](const Target&) { return features(); },
                                            [](const Target&) { return Limits{}; }};
  return builtin;
}

}  // namespace kiln::c
