#pragma once

#include <kiln/sdk.h>

#include "runtime/kernel_info.h"

namespace mylang_backend {

// The module's functions as C, with what Kiln needs to call them. The first thing that the language cannot say is an error of code
// kUnsupported with its place.
kiln::Result<kiln::Source> print(const kiln::IRModule& module);

}  // namespace mylang_backend
