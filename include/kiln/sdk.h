// For backends outside this repository, in C++: links the static library kiln_sdk, which brings the IR, the legalising passes, the emitters
// and the module around compiled kernels, and talks to Kiln through the C interface (kiln/abi/plugin.h). So a backend works with any Kiln
// of the same ABI version, whatever compiler built it.
//
// Of kiln/device_codegen.h a backend here may call register_device_codegen and register_lazy_device_codegen, while it initialises.
#pragma once

#include "kiln/abi/plugin.h"
#include "kiln/device_codegen.h"

namespace kiln::sdk {

// What kiln_plugin() returns: a plug-in whose initialisation is `init`. One for each library. An exception in `init` or in a codegen
// becomes an error.
//   extern "C" const KilnPlugin* kiln_plugin(void) { return kiln::sdk::plugin(init); }
const KilnPlugin* plugin(Status (*init)());

}  // namespace kiln::sdk
