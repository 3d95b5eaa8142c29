#include "backends/sim/launcher.h"

#include <dlpack/dlpack.h>

#include "backends/sim/checker/session.h"
#include "backends/sim/runtime/launch.h"
#include "backends/sim/runtime/matrix.h"
#include "runtime/launch_values.h"

namespace kiln::sim {

namespace {

using runtime::Fault;
using runtime::Slot;

struct Plan {
  Kernel kernel;
  KernelInfo info;
  std::vector<int> places;  // of the launch values
  int64_t static_bytes = 0;
};

class SimLauncher final : public runtime::Launcher {
 public:
  std::shared_ptr<const runtime::Library> library;
  std::vector<Site> sites;
  std::vector<std::shared_ptr<const void>> kept;  // the forms
  std::vector<const void*> forms;
  std::vector<Plan> plans;

  int device_type() const override { return kDLCPU; }
  std::span<const int> reachable_types() const override { return {}; }

  Fault launch(size_t index, void** args, const Slot* values, int) const override {
    const Plan& plan = plans[index];
    auto v = runtime::launch_values<int64_t>(plan.places, values);
    Launch launch;
    launch.cluster = {v[0], v[1], v[2]};
    launch.grid = {v[3], v[4], v[5]};
    launch.block = {v[6], v[7], v[8]};
    launch.shared_bytes = plan.static_bytes + v[runtime::kSharedBytes];
    launch.args = args;
    if (launch.grid.count() == 0) return {};  // no block, nothing to do
    checker::Checked checked = checker::check_launch(plan.info, plan.kernel.sites, launch.block.count(), args);
    if (checked.checker) launch.checker = checked.checker.get(), launch.seed = checked.seed;
    Status s = sim::launch(plan.kernel, launch);
    if (s) return {};
    const Error& e = s.error();
    bool value = e.code == Code::kInvalidArgument;
    return {value ? "ValueError" : "RuntimeError",
            e.message + (e.place.empty() ? "" : " at " + e.place) + (e.hint.empty() ? "" : " (" + e.hint + ")")};
  }
};

}  // namespace

Result<std::shared_ptr<const runtime::Launcher>> make_launcher(const Printed& printed, std::shared_ptr<const runtime::Library> library) {
  auto out = std::make_shared<SimLauncher>();
  for (const PrintedSite& s : printed.sites) out->sites.push_back({s.place, s.line, s.buffer, s.stretch, s.elements});
  for (const std::string& text : printed.forms) {
    auto form = make_form(text);
    if (!form) return form.error();
    out->forms.push_back(form->get());
    out->kept.push_back(std::move(*form));
  }
  for (size_t i = 0; i < printed.source.kernels.size(); ++i) {
    const KernelInfo& k = printed.source.kernels[i];
    Plan plan;
    plan.kernel.name = k.name;
    plan.info = k;
    plan.kernel.entry = reinterpret_cast<sim_kernel>(library->find(k.symbol.c_str()));
    if (!plan.kernel.entry) return Error{Code::kInternal, "the compiled text has no function '" + k.symbol + "'", "kernel " + k.name, ""};
    plan.kernel.sites = out->sites, plan.kernel.forms = out->forms;
    plan.static_bytes = printed.static_bytes[i];
    auto places = runtime::launch_places(k);
    if (!places) return places.error();
    plan.places = std::move(*places);
    out->plans.push_back(std::move(plan));
  }
  out->library = std::move(library);
  return std::shared_ptr<const runtime::Launcher>(std::move(out));
}

}  // namespace kiln::sim
