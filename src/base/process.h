// Running other programs: no shell, bounded time, bounded output.
#pragma once

#include <string>
#include <vector>

#include "kiln/error.h"

namespace kiln {

struct ProcessResult {
  int status = 0;      // exit status, or 128 + signal
  std::string output;  // stdout and stderr together, at most kMaxOutput bytes of it; the rest is read and dropped
  bool timed_out = false;
};

constexpr size_t kMaxOutput = size_t{1} << 20;

// Runs argv[0] (looked up in PATH when it has no '/') with empty standard input, in `directory` (empty: this process's), and waits for it.
// It gets a process group of its own, which is killed when it ends or after `timeout_seconds`, so nothing that it started is left behind.
// Safe from any thread. An Error (kToolchain) only when it cannot be started.
Result<ProcessResult> run_process(const std::vector<std::string>& argv, double timeout_seconds, const std::string& directory = {});

// Full path of a program in PATH (or of a path to an executable file), or empty.
std::string find_program(const std::string& name);

}  // namespace kiln
