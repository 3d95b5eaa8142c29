// The registry for other languages: the same calls as tvm-ffi global functions.
#pragma once

#include "kiln/error.h"

namespace kiln::registry {

// Registers, under the prefix "kiln.":
//   parse_target(text) -> Target                     target_to_json(target) -> str
//   load_module(path) -> IRModule                    parse_module(text, file) -> IRModule    module_script(module) -> str
//   register_device_codegen(kind, name, build, build_without_compile, supports_target, override)
//     functions or None; build(module, target) -> Module, supports_target(target) -> bool
//   register_lazy_device_codegen(kind, import_path)  remove_device_codegen(kind, name) -> bool
//   allowed_device_codegens_for_target(target) -> [str]
//   resolve_device_codegen(target) -> str            the entry's name
//   lower(module, target, codegen, compile_device) -> Module    codegen: a name, "" for the one that resolves
// A target is text or a kiln.Target. Errors arrive as ValueError, with message and hint.
// Done by the first call, never by a static initialiser: a name that is taken is an error here, and would end the process there. A name
// that is taken leaves the others as they were. Later calls do nothing.
Status register_ffi_globals();

}  // namespace kiln::registry
