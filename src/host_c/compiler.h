// The host's C compiler, and its C++ compiler.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/kernel_info.h"
#include "runtime/kernel_module.h"

namespace kiln::host_c {

enum class Language : uint8_t { kC, kQuickC, kCxx };  // C11; the same, compiled faster to slower code; C++20, compiled fast

// $CC (a program and perhaps flags, split at spaces), else cc, gcc or clang in PATH: the command's words. For C++: $CXX, c++, g++, clang++.
// None: an error that says what to install. Runs nothing.
Result<std::vector<std::string>> find_compiler(Language language = Language::kC);

// "g++ -m64: g++ (Debian 12.2.0-14) 12.2.0": the command and the first line of its --version. Error as find_compiler's.
Result<std::string> describe_compiler(Language language);

// Compiles text and entries to a shared library for this machine's processor, or takes it from the cache (cache/cache.h), and loads it.
// Works in a private folder under TMPDIR that is gone afterwards, save when the compiler failed and KILN_KEEP_TEMPS is set. Stopped after
// KILN_COMPILE_TIMEOUT seconds (default 120). Errors are of code kToolchain with the compiler's first messages and the line of the source
// as place. Safe from any thread.
Result<std::shared_ptr<const runtime::Library>> compile_and_load(const Source& source, Language language = Language::kC);

// Made on demand, from the text without the entries: "so", "obj", "asm", and "ll" (LLVM IR, by clang only). Same text, same bytes.
runtime::Artifacts artifacts_of(const Source& source);

}  // namespace kiln::host_c
