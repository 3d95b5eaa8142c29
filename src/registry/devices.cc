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

std::vector<ListedDevice> list_devices(const runtime::DeviceApi& api) {
  std::vector<ListedDevice> out;
  auto devices = api.list();
  for (size_t i = 0; devices && i < devices->size(); ++i) {
    std::string number = &api == &runtime::cpu_device() ? "" : ":" + std::to_string(i);
    out.push_back({api.name + number, std::move((*devices)[i])});
  }
  return out;
}

// The key of the backend that brings the device.
static std::string_view key_of(const runtime::DeviceApi* api) {
  for (const Manifest& m : manifests()) {
    if (m.builtin && m.builtin->device == api) return m.key;
  }
  return {};
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
    if (api->name == type && is_number && static_cast<size_t>(index) < count) return Device{api, index, key_of(api)};
    if (api->name == type && !devices) missing.message += ": " + devices.error().message, advice = "; " + devices.error().hint;
    for (const ListedDevice& d : list_devices(*api)) known += (known.empty() ? "" : ", ") + d.name;
  }
  missing.hint += known + advice;
  return missing;
}

static bool serves(const Manifest& m, const Target& target) {
  return m.builtin && m.builtin->device && std::find(m.kinds.begin(), m.kinds.end(), target.kind()) != m.kinds.end();
}

const runtime::DeviceApi& device_api_for(const Target& target) {
  const runtime::DeviceApi* found = nullptr;
  for (const Manifest& m : manifests()) {
    if (!serves(m, target) || (m.key.empty() ? found != nullptr : !target.has_key(m.key))) continue;
    found = m.builtin->device;
    if (!m.key.empty()) break;
  }
  return found ? *found : runtime::cpu_device();
}

std::vector<std::string> devices_for(const Target& target) {
  std::vector<std::string> out;
  for (const Manifest& m : manifests()) {
    if (!serves(m, target)) continue;
    for (ListedDevice& d : list_devices(*m.builtin->device)) out.push_back(std::move(d.name));
  }
  return out;
}

}  // namespace kiln::registry
