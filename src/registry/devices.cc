#include "registry/devices.h"

#include <algorithm>
#include <charconv>

#include "registry/backend.h"

namespace kiln::registry {

std::vector<const runtime::DeviceApi*> device_apis() {
  std::vector<const runtime::DeviceApi*> apis = {&runtime::cpu_device()};
  for (const Builtin* b : builtin_backends()) {
    if (b->device) apis.push_back(b->device);
  }
  return apis;
}

Result<Device> find_device(std::string_view name) {
  size_t colon = name.find(':');
  std::string_view type = name.substr(0, colon);
  int index = 0;
  bool is_number = true;
  if (colon != name.npos) {
    auto [end, error] = std::from_chars(name.data() + colon + 1, name.data() + name.size(), index);
    is_number = error == std::errc() && end == name.data() + name.size() && index >= 0;
  }
  Error missing{Code::kInvalidArgument, "device '" + std::string(name) + "' is not available", "", "this build runs kernels on: "};
  std::string known, advice;
  for (const runtime::DeviceApi* api : device_apis()) {
    auto devices = api->list();
    size_t count = devices ? devices->size() : 0;
    if (api->name == type && is_number && static_cast<size_t>(index) < count) return Device{api, index};
    if (api->name == type && !devices) missing.message += ": " + devices.error().message, advice = "; " + devices.error().hint;
    for (size_t i = 0; i < count; ++i) {
      std::string number = api == &runtime::cpu_device() ? "" : ":" + std::to_string(i);
      known += (known.empty() ? "" : ", ") + std::string(api->name) + number;
    }
  }
  missing.hint += known + advice;
  return missing;
}

const runtime::DeviceApi& device_api_for(std::string_view kind) {
  for (const Manifest& m : manifests()) {
    if (m.builtin && m.builtin->device && std::find(m.kinds.begin(), m.kinds.end(), kind) != m.kinds.end()) return *m.builtin->device;
  }
  return runtime::cpu_device();
}

}  // namespace kiln::registry
