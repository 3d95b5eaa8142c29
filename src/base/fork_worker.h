// Work in a process of its own, so that a crash or a hang costs that work alone.
#pragma once

#include <sys/types.h>

#include <functional>

namespace kiln {

struct ForkedWorker {
  pid_t pid = -1;  // -1: it could not be started
  int fd = -1;     // what the worker writes can be read here; the caller closes it, and waits for the process
};

// Forks this process. The child calls `work` with the descriptor to write to, and ends by _exit(0) without exit handlers, which belong to
// the parent; its standard output goes to standard error. `work` must not throw. It runs on a thread that the child starts for it: where
// this process has run OpenMP regions, libgomp keeps their pool of threads by the thread that began them, and a child on that thread would
// wait for threads that a fork does not copy.
ForkedWorker fork_worker(const std::function<void(int fd)>& work);

}  // namespace kiln
