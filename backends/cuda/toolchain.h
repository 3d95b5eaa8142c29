// From printed text to PTX, cubins and fat binaries.
#pragma once

#include <functional>
#include <string>

#include "backends/cuda/compilers.h"
#include "backends/cuda/options.h"
#include "runtime/kernel_info.h"
#include "runtime/kernel_module.h"

namespace kiln::cuda {

// The code for one architecture, from the cache of compiled code where it is there. An error in the text is one of code kToolchain: the
// compiler's first message, the lines of the text around it, and as place the user's file and line where the text has it.
Result<std::string> compile(const Source& source, const Arch& arch, const std::vector<std::string>& flags, Format format);

// Prints the module anew for another architecture.
using PrintFor = std::function<Result<Source>(const Arch&)>;

// Made on demand: "ptx" (text), "cubin", and "fatbin": a cubin for each of the options' architectures, from a text of its own, and the PTX
// of the last. Same text and options, same bytes. Safe from any thread.
runtime::Artifacts artifacts_of(const Source& source, const Options& options, const PrintFor& print);
// For one architecture, without options.
runtime::Artifacts artifacts_of(const Source& source, const Arch& arch);

}  // namespace kiln::cuda
