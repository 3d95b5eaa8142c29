#include "cases/run.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "cli/cli.h"
#include "registry/devices.h"

namespace kiln::cli {

namespace {

using cases::Outcome;

std::string times_text(const Outcome& o) {
  std::string s;
  for (const driver::Timing& t : o.times) s += fmt::format("{}{} {:.2f}", s.empty() ? "" : ", ", t.step, t.milliseconds);
  return s;
}
void print_json(const Outcome& o) {
  std::string times;
  for (const driver::Timing& t : o.times) times += fmt::format("{}{}: {:.3f}", times.empty() ? "" : ", ", quote(t.step), t.milliseconds);
  fmt::print("{{\"case\": {}, \"passed\": {}, \"skipped\": {}, \"reason\": {}, \"codegen\": {}, \"times\": {{{}}}}}\n", quote(o.folder),
             o.state == Outcome::State::kPassed, o.state == Outcome::State::kSkipped, quote(o.reason), quote(o.codegen), times);
}

// Reports a device that is not here. Asked in a process of its own, since a driver that has started does not survive a fork.
bool is_available(const std::string& device, bool json) {
  std::fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    auto found = registry::find_device(device);
    int status = found ? 0 : report(found.error(), json);
    std::fflush(stdout);
    _exit(status);
  }
  int status = 0;
  while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

int run(const RunArgs& a) {
  if (a.check) {
    std::string device = a.device.empty() ? "cpu" : a.device;
    return report({Code::kUnsupported, "device '" + device + "' does not check memory accesses", "", "run without --check"}, a.json);
  }
  if (!a.device.empty() && !is_available(a.device, a.json)) return 1;
  std::vector<std::string> folders;
  for (const std::string& path : a.cases) {
    auto found = cases::find_cases(path);
    if (!found) return report(found.error(), a.json);
    folders.insert(folders.end(), found->begin(), found->end());
  }
  cases::RunOptions options;
  if (!a.target.empty()) options.target = a.target;
  if (!a.codegen.empty()) options.codegen = a.codegen;
  if (!a.device.empty()) options.device = a.device;
  options.repeat = a.repeat;
  int jobs = a.jobs > 0 ? a.jobs : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  if (a.repeat > 0) jobs = 1;  // timed launches do not share the machine
  size_t passed = 0, failed = 0, skipped = 0;
  bool progress = !a.json && isatty(STDERR_FILENO);
  cases::run_cases(folders, options, jobs, [&](const Outcome& o) {
    passed += o.state == Outcome::State::kPassed;
    failed += o.state == Outcome::State::kFailed;
    skipped += o.state == Outcome::State::kSkipped;
    if (progress) fmt::print(stderr, "\r{} of {}\x1b[K", passed + failed + skipped, folders.size());
    if (a.json)
      print_json(o);
    else if (o.state == Outcome::State::kFailed)
      fmt::print("{}FAILED {}: {}\n", progress ? "\r\x1b[K" : "", printable(o.folder), printable(o.reason));
    else if (o.state == Outcome::State::kSkipped)
      fmt::print("{}skipped {}: {}\n", progress ? "\r\x1b[K" : "", o.folder, o.reason);
    else if (folders.size() == 1)
      fmt::print("{}passed {} by codegen {}; ms: {}\n", progress ? "\r\x1b[K" : "", o.folder, o.codegen, times_text(o));
    std::fflush(stdout);
  });
  if (progress) fmt::print(stderr, "\r\x1b[K");
  std::string tail = skipped ? fmt::format(", {} skipped", skipped) : "";
  fmt::print(a.json ? stderr : stdout, "{} passed, {} failed{}\n", passed, failed, tail);
  return failed == 0 ? 0 : 1;
}

}  // namespace kiln::cli
