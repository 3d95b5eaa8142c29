#include "backends/sim/device_api.h"

#include <cstring>

#include "backends/sim/checker/session.h"
#include "backends/sim/runtime/tensor_map.h"

namespace kiln::sim {

namespace {

Result<std::vector<std::string>> list() { return std::vector<std::string>{"CUDA kernels simulated on this machine's processor"}; }

Status encode(int, const runtime::TensorMap& map, void* out) {
  Result<TensorMap> encoded = encode_tensor_map(map);
  if (!encoded) return encoded.error();
  std::memset(out, 0, runtime::kTensorMapBytes);
  std::memcpy(out, &*encoded, sizeof(TensorMap));
  return Ok{};
}

}  // namespace

const runtime::DeviceApi& device_api() {
  static const runtime::DeviceApi api = [] {
    runtime::DeviceApi a = runtime::cpu_device();  // its memory is the host's, so tensors are those of the CPU
    a.name = "sim";
    a.list = list;
    a.allocate = checker::allocate, a.release = checker::release;
    a.checking = &checker::checking();
    a.encode = encode;
    return a;
  }();
  return api;
}

}  // namespace kiln::sim
