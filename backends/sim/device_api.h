// The device "sim": this machine's memory, and its processor as a GPU.
#pragma once

#include "runtime/device.h"

namespace kiln::sim {

const runtime::DeviceApi& device_api();

}  // namespace kiln::sim
