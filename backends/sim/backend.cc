#include "registry/backend.h"

#include "backends/sim_device.h"
#include "host_c/compiler.h"

namespace kiln::sim {
namespace {

Status init() {
  DeviceCodegen codegen;
  codegen.name = "sim";
  codegen.supports_target = [](const Target& target) { return target.has_key("sim"); };
  auto registered = register_device_codegen("cuda", std::move(codegen));
  if (!registered) return registered.error();
  return Ok{};
}

}  // namespace

const registry::Builtin& backend() {
  static const registry::Builtin builtin = {device::manifest_json, init, [] { return std::vector<registry::Probe>{}; },
                                            [](const Target&) { return Features{}; }, [](const Target&) { return Limits{}; }};
  return builtin;
}

}  // namespace kiln::sim
