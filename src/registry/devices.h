// The devices of this build: the CPU, and those that backends bring.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kiln/target.h"
#include "runtime/device.h"

namespace kiln::registry {

// The CPU first, then those of the built-in backends in their order.
std::vector<const runtime::DeviceApi*> device_apis();

struct Device {
  const runtime::DeviceApi* api = nullptr;
  int index = 0;
  std::string_view key;  // that targets need for their code to run there: its backend's; empty: none
};

// "cpu", "cuda:1": what is here of an API's devices, as find_device takes it, with a description. An API that does not work has none.
struct ListedDevice {
  std::string name, description;
};
std::vector<ListedDevice> list_devices(const runtime::DeviceApi& api);

// "cpu", "cuda:1". A name without a number is the first device. What is not here is an error of code kInvalidArgument that lists what is.
Result<Device> find_device(std::string_view name);

// Where a target's modules run: the devices of the built-in backend that serves its kind and key, else the CPU.
const runtime::DeviceApi& device_api_for(const Target& target);
// The names of all devices here that the target's kind runs on, by whichever backend.
std::vector<std::string> devices_for(const Target& target);

}  // namespace kiln::registry
