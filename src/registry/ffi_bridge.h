// The registry for other languages: the same calls as tvm-ffi global functions.
#pragma once

#include "kiln/error.h"

namespace kiln::registry {

// Registers the functions of docs/ffi.md, under the prefix "kiln.". Their errors arrive as ValueError, with message and hint. Other
// languages call this by the exported symbol __tvm_ffi_kiln_init, which tvm-ffi's loader finds as `kiln_init`. A name that is taken is an
// error: it says which other copy of the library holds it. Done by the first call, never by a static initialiser: a name that is taken is
// an error here, and would end the process there. A name that is taken leaves the others as they were. Later calls do nothing.
Status register_ffi_globals();

}  // namespace kiln::registry
