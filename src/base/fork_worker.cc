#include "base/fork_worker.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>

namespace kiln {

namespace {

constexpr size_t kStackBytes = size_t{64} << 20;  // as a main thread may have; only what is used of it becomes memory

struct Work {
  const std::function<void(int fd)>& run;
  int fd;
};
void* run(void* argument) {
  auto& work = *static_cast<Work*>(argument);
  work.run(work.fd);
  return nullptr;
}

}  // namespace

ForkedWorker fork_worker(const std::function<void(int fd)>& work) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return {};
  std::fflush(stdout);  // else the child writes it once more
  pid_t pid = fork();
  if (pid == 0) {
    close(fds[0]);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    Work mine{work, fds[1]};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kStackBytes);
    pthread_t thread;
    if (pthread_create(&thread, &attributes, run, &mine) != 0) _exit(1);
    pthread_join(thread, nullptr);
    std::fflush(stdout);
    _exit(0);
  }
  close(fds[1]);
  if (pid > 0) return {pid, fds[0]};
  close(fds[0]);
  return {};
}

}  // namespace kiln
