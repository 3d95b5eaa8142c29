// A text of CUDA C++ for the host's C++ compiler.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/sim/shim/translate.h"
#include "runtime/kernel_info.h"

namespace kiln::sim {

struct HostText {
  std::string text;               // what is compiled, after device/text_abi.h, ptx_sim.h and cuda_sim.h
  std::vector<MatrixForm> forms;  // its matrix instructions
};

// Replaces what only a device compiler understands: inline assembly by C++ that does the same, variables in shared memory by places in the
// block's memory. Lines keep their numbers ("source.cu:12" in the compiler's messages). For each kernel the text then defines
//   void kiln_text_kernel_<index>(void* warp, void* const* args)
// and once `unsigned kiln_text_static_shared_bytes()`. Error (kUnsupported, with the line as place): what the shim does not know.
Result<HostText> rewrite_for_host(std::string_view text, const std::vector<KernelInfo>& kernels);

}  // namespace kiln::sim
