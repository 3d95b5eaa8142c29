// Codegen `cuda_text`: runs the text that another codegen of the target's kind prints.
#pragma once

#include <memory>

#include "kiln/device_codegen.h"
#include "runtime/kernel_module.h"

namespace kiln::sim {

DeviceCodegen text_codegen();

// Compiles a text of CUDA C++ by the host's compiler, or takes it from the cache. Launches run all threads of a block on one thread of the
// host, with the simulator's memory, barriers and asynchronous copies; tensors lie in the host's memory. Errors: kUnsupported, with the
// line as place, for what the shim does not know; kToolchain from the compiler.
Result<std::shared_ptr<const runtime::Launcher>> make_text_launcher(const Source& source);

}  // namespace kiln::sim
