#include "base/fork_worker.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

namespace kiln {

ForkedWorker fork_worker(const std::function<void(int fd)>& work) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return {};
  std::fflush(stdout);  // else the child writes it once more
  pid_t pid = fork();
  if (pid == 0) {
    close(fds[0]);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    std::thread(work, fds[1]).join();
    std::fflush(stdout);
    _exit(0);
  }
  close(fds[1]);
  if (pid > 0) return {pid, fds[0]};
  close(fds[0]);
  return {};
}

}  // namespace kiln
