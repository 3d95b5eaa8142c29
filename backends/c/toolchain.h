// The host's C compiler.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/kernel_info.h"
#include "runtime/kernel_module.h"

namespace kiln::c {

// $CC (a program and perhaps flags, split at spaces), else cc, gcc or clang in PATH: the command's words. None: an error that says what to
// install. Runs nothing.
Result<std::vector<std::string>> find_compiler();

// First line of the compiler's --version.
std::string compiler_version(const std::vector<std::string>& compiler);

// Compiles text and entries to a shared library and loads it. No file is left behind. Errors are of code kToolchain with the compiler's
// first messages. Stopped after KILN_COMPILE_TIMEOUT seconds (default 120).
Result<std::shared_ptr<const runtime::Library>> compile_and_load(const Source& source);

// What compile_to makes on demand: "so", "obj" and "asm", without the entries.
runtime::Artifacts artifacts_of(const Source& source);

}  // namespace kiln::c
