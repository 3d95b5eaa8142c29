// NVRTC, NVIDIA's compiler as a library, loaded when it is first needed.
#pragma once

#include "backends/cuda/arch.h"
#include "runtime/kernel_info.h"
#include "runtime/kernel_module.h"

namespace kiln::cuda {

// Where NVRTC was found and its version ("/usr/local/cuda/lib64/libnvrtc.so.13, NVRTC 13.0"); none: an error of code kToolchain that names
// every place looked in. Looks once.
Result<std::string> describe_compiler();

// Made on demand from the text: "ptx" (text) and "cubin". Errors are of code kToolchain with the compiler's first messages. Safe from any
// thread.
runtime::Artifacts artifacts_of(const Source& source, const Arch& arch);

}  // namespace kiln::cuda
