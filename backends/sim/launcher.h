// Modules whose kernels run on the simulator.
#pragma once

#include <memory>

#include "backends/sim/print.h"
#include "runtime/kernel_module.h"
#include "runtime/library.h"

namespace kiln::sim {

// `library` is the compiled text. Errors: a matrix instruction that PTX does not have, a launch parameter that is not known.
Result<std::shared_ptr<const runtime::Launcher>> make_launcher(const Printed& printed, std::shared_ptr<const runtime::Library> library);

}  // namespace kiln::sim
