// CUDA devices for shared code.
#pragma once

#include "runtime/device.h"

namespace kiln::cuda {

const runtime::DeviceApi& device_api();

}  // namespace kiln::cuda
