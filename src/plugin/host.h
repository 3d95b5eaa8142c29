// Kiln's side of the plug-in interface (kiln/abi/plugin.h).
#pragma once

#include <string>

#include "kiln/error.h"

namespace kiln::plugin {

// Loads the library, checks its ABI version and runs its initialisation, which registers its codegens. The library stays loaded. Errors:
// one that the loader cannot open (kIo, the loader's words), one that is no plug-in or of another ABI version (kInvalidArgument), what the
// initialisation returns.
Status load(const std::string& path);

}  // namespace kiln::plugin
