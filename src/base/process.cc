#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

extern char** environ;

namespace kiln {

namespace {

using Clock = std::chrono::steady_clock;

// Takes what a non-blocking pipe holds now, at most as much as a pipe can hold; false at its end.
bool read_available(int fd, std::string& out) {
  char buffer[4096];
  for (int i = 0; i < 16; ++i) {
    ssize_t n = read(fd, buffer, sizeof buffer);
    if (n == 0) return false;
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    if (out.size() < kMaxOutput) out.append(buffer, std::min(static_cast<size_t>(n), kMaxOutput - out.size()));
  }
  return true;
}

bool has_ended(pid_t pid) {
  siginfo_t info{};
  // Left unreaped, so that the group's number cannot pass to another before the group is killed.
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

// The end of the program counts, not the end of the pipe: it may close its output and go on, or leave a child that holds it open.
void wait_for(pid_t pid, int fd, Clock::time_point deadline, ProcessResult& r) {
  bool open = true;
  while (!has_ended(pid)) {
    if (Clock::now() >= deadline) {
      r.timed_out = true;
      break;
    }
    pollfd p{fd, POLLIN, 0};
    if (open && poll(&p, 1, 20) > 0) open = read_available(fd, r.output);
    if (!open) usleep(200);
  }
  kill(-pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (open) read_available(fd, r.output);
  r.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int spawn(const std::vector<std::string>& argv, const std::string& directory, int output, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawn_file_actions_adddup2(&actions, output, 2);
  if (!directory.empty()) posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, pipe;
  sigemptyset(&none);
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);  // Python ignores it, and an ignored signal would be inherited
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &pipe);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> args;
  for (const std::string& a : argv) args.push_back(const_cast<char*>(a.c_str()));
  args.push_back(nullptr);
  int error = posix_spawnp(&pid, args[0], &actions, &attributes, args.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error;
}

bool is_executable_file(const std::string& path) {
  struct stat s;
  return stat(path.c_str(), &s) == 0 && S_ISREG(s.st_mode) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

Result<ProcessResult> run_process(const std::vector<std::string>& argv, double timeout_seconds, const std::string& directory) {
  if (argv.empty() || argv[0].empty()) return Error{Code::kInvalidArgument, "expected a program to run, got none", "", ""};
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return Error{Code::kIo, std::string("cannot make a pipe: ") + std::strerror(errno), "", ""};
  fcntl(fds[0], F_SETFL, O_NONBLOCK);
  pid_t pid = 0;
  int error = spawn(argv, directory, fds[1], pid);
  close(fds[1]);
  if (error != 0) {
    close(fds[0]);
    return Error{Code::kToolchain, "cannot start '" + argv[0] + "': " + std::strerror(error), "", ""};
  }
  ProcessResult r;
  double seconds = std::clamp(timeout_seconds, 0.0, 1e6);
  wait_for(pid, fds[0], Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000)), r);
  close(fds[0]);
  return r;
}

std::string find_program(const std::string& name) {
  if (name.empty()) return {};
  if (name.find('/') != name.npos) {
    std::error_code ec;
    std::string path = std::filesystem::absolute(name, ec).string();
    return !ec && is_executable_file(path) ? path : std::string();
  }
  const char* path = std::getenv("PATH");
  std::string rest = path ? path : "/usr/local/bin:/usr/bin:/bin";
  for (size_t at = 0; at <= rest.size();) {
    size_t end = std::min(rest.find(':', at), rest.size());
    std::string candidate = rest.substr(at, end - at) + "/" + name;
    if (end > at && is_executable_file(candidate)) return candidate;
    at = end + 1;
  }
  return {};
}

}  // namespace kiln
