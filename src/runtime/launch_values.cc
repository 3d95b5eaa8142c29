#include "runtime/launch_values.h"

#include <string_view>

namespace kiln::runtime {

namespace {

// "blockIdx.y": 4; -1 for none. TileLang's names of the cluster begin with "tir.", Apache TVM's with "tirx.".
int place_of(std::string_view name) {
  if (name.ends_with(".use_dyn_shared_memory")) return kSharedBytes;
  if (name.empty() || name.back() < 'x' || name.back() > 'z') return -1;
  int axis = name.back() - 'x';
  name.remove_suffix(1);
  if (name == "blockIdx.") return kGrid + axis;
  if (name == "threadIdx.") return kBlock + axis;
  return name == "tir.cluster_dim_" || name == "tirx.cluster_dim_" ? kCluster + axis : -1;
}

}  // namespace

Result<std::vector<int>> launch_places(const KernelInfo& kernel) {
  std::vector<int> places;
  for (const std::string& name : kernel.launch_params) {
    places.push_back(place_of(name));
    if (places.back() < 0) return Error{Code::kUnsupported, "launch parameter '" + name + "' is not known", "kernel " + kernel.name, ""};
  }
  return places;
}

}  // namespace kiln::runtime
