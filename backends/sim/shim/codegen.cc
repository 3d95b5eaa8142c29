#include "backends/sim/shim/codegen.h"

#include <algorithm>

#include "backends/sim/device_api.h"
#include "backends/sim/runtime/launch.h"
#include "backends/sim/shim/lanes.h"
#include "backends/sim/shim/rewrite.h"
#include "backends/sim_device.h"
#include "host_c/compiler.h"
#include "runtime/kernel_module.h"
#include "runtime/launch_values.h"

namespace kiln::sim {

namespace {

using runtime::Fault;
using runtime::Slot;

constexpr std::string_view kOwnCodegens[] = {"sim", "cuda_text"};

struct Plan {
  std::string name;
  sim_kernel entry = nullptr;
  std::vector<int> places;  // of the launch values
  bool cooperative = false;
};

class TextLauncher final : public runtime::Launcher {
 public:
  TextLauncher(std::shared_ptr<const runtime::Library> library, std::vector<MatrixForm> forms, std::vector<Plan> plans,
               unsigned static_bytes)
      : library_(std::move(library)), forms_(std::move(forms)), plans_(std::move(plans)), static_bytes_(static_bytes) {}

  int device_type() const override { return device_api().dlpack_type; }
  std::span<const int> reachable_types() const override { return {}; }

  Fault launch(size_t index, void** args, const Slot* values, int) const override {
    const Plan& plan = plans_[index];
    auto v = runtime::launch_values<int64_t>(plan.places, values);
    Launch l;
    l.cluster = {v[0], v[1], v[2]}, l.grid = {v[3], v[4], v[5]}, l.block = {v[6], v[7], v[8]};
    if (l.grid.count() == 0) return {};  // no block, nothing to do
    l.shared_bytes = static_cast<int64_t>(dynamic_shared_offset(static_bytes_)) + v[runtime::kSharedBytes];
    l.args = args;
    TextLaunch text(forms_, plan.cooperative);
    const void* forms[] = {&text};
    Kernel kernel;
    kernel.name = plan.name, kernel.entry = plan.entry, kernel.forms = forms;
    Status s = sim::launch(kernel, l);
    if (s) return {};
    const Error& e = s.error();
    return {e.code == Code::kInvalidArgument ? "ValueError" : "RuntimeError", e.message + (e.hint.empty() ? "" : " (" + e.hint + ")")};
  }

 private:
  std::shared_ptr<const runtime::Library> library_;
  std::vector<MatrixForm> forms_;
  std::vector<Plan> plans_;
  unsigned static_bytes_;
};

// What another codegen prints for the target.
Result<Module> printed(const IRModule& module, const Target& target) {
  Explanation e = explain_device_codegen(target);
  for (const Candidate& c : e.candidates) {
    bool own = std::find(std::begin(kOwnCodegens), std::end(kOwnCodegens), c.name) != std::end(kOwnCodegens);
    if (!own && c.matches && c.codegen->build_without_compile) return c.codegen->build_without_compile(module, target);
  }
  return Error{Code::kNoCodegen, "no codegen prints text for target '" + target.to_string() + "' that could be run", "", ""};
}

}  // namespace

Result<std::shared_ptr<const runtime::Launcher>> make_text_launcher(const Source& source) {
  auto host = rewrite_for_host(source.text, source.kernels);
  if (!host) return host.error();
  Source compiled;
  compiled.text = std::string(device::text_abi) + std::string(device::ptx_sim) + std::string(device::cuda_sim) + host->text;
  auto library = host_c::compile_and_load(compiled, host_c::Language::kCxx);
  if (!library) return library.error();
  auto find = [&](const std::string& symbol) { return (*library)->find(symbol.c_str()); };
  auto** api = static_cast<const kiln_text::Api**>(find("kiln_text_api"));
  auto* run = static_cast<kiln_text::Run*>(find("kiln_text_run"));
  auto static_bytes = reinterpret_cast<unsigned (*)()>(find("kiln_text_static_shared_bytes"));
  if (!api || !run || !static_bytes) return Error{Code::kInternal, "the compiled text lacks its entries", "", ""};
  *api = &text_api();
  *run = run_text_warp;
  std::vector<Plan> plans;
  for (size_t i = 0; i < source.kernels.size(); ++i) {
    const KernelInfo& k = source.kernels[i];
    Plan plan{k.name, reinterpret_cast<sim_kernel>(find("kiln_text_kernel_" + std::to_string(i))), {}, k.cooperative};
    if (!plan.entry) return Error{Code::kInternal, "the compiled text lacks kernel '" + k.name + "'", "", ""};
    auto places = runtime::launch_places(k);
    if (!places) return places.error();
    plan.places = std::move(*places);
    plans.push_back(std::move(plan));
  }
  return std::shared_ptr<const runtime::Launcher>(
      std::make_shared<TextLauncher>(std::move(*library), std::move(host->forms), std::move(plans), static_bytes()));
}

namespace {

Result<Module> build(const IRModule& module, const Target& target) {
  auto text = printed(module, target);
  if (!text) return text;
  const Source* source = runtime::source_of(*text);
  if (!source)
    return Error{Code::kUnsupported, "the codegen of target '" + target.to_string() + "' does not say what its text contains", "", ""};
  auto launcher = make_text_launcher(*source);
  if (!launcher) return launcher.error();
  return runtime::make_launched_module(*source, std::move(*launcher), {});
}

}  // namespace

DeviceCodegen text_codegen() {
  DeviceCodegen codegen;
  codegen.name = "cuda_text";
  codegen.build = build;
  codegen.build_without_compile = printed;
  codegen.supports_target = [](const Target& target) { return target.has_key("sim"); };
  return codegen;
}

}  // namespace kiln::sim
