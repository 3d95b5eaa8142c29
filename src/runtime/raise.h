// Errors of functions that tvm-ffi calls by its C convention.
#pragma once

#include <string>
#include <string_view>

namespace kiln::runtime {

// Makes "kind: message" this thread's raised error of tvm-ffi and returns -1, for the function to return. Without a backtrace: the message
// says it all, and the first one of a process costs 0.2 s.
int raise(std::string_view kind, const std::string& message);

}  // namespace kiln::runtime
