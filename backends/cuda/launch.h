// Launches the kernels of a compiled module.
#pragma once

#include <memory>

#include "backends/cuda/arch.h"
#include "runtime/kernel_module.h"

namespace kiln::cuda {

// `cubin` is compiled for `arch`; `ptx` is asked for once when a device cannot run that and may run what the driver makes of it. A module
// is loaded into a device's primary context at the first launch there and stays as long as the launcher. Work goes to the stream that
// tvm-ffi's environment holds for the device. Launch parameters may be blockIdx.*, threadIdx.*, tir.cluster_dim_* and
// tirx.use_dyn_shared_memory (bytes); another one is an error of code kUnsupported.
Result<std::shared_ptr<const runtime::Launcher>> make_launcher(const Source& source, const Arch& arch, std::string cubin,
                                                               runtime::ArtifactFn ptx);

}  // namespace kiln::cuda
