// Running other programs, without a shell.
#pragma once

#include <string>
#include <vector>

#include "kiln/error.h"

namespace kiln {

struct ProcessResult {
  int status = 0;      // exit status, or 128 + signal
  std::string output;  // stdout and stderr together, at most kMaxOutput bytes of it
  bool timed_out = false;
};

constexpr size_t kMaxOutput = size_t{1} << 20;

// Runs argv[0] (looked up in PATH when it has no '/') with empty standard input and waits for it. After `timeout_seconds` its process group
// is killed. An Error only when it cannot be started.
Result<ProcessResult> run_process(const std::vector<std::string>& argv, double timeout_seconds);

// Full path of a program in PATH (or of a path to an executable), or empty.
std::string find_program(const std::string& name);

}  // namespace kiln
