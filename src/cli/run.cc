#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "cli/run_cases.h"
#include "registry/devices.h"

namespace kiln::cli {

namespace {

using cases::Outcome;

std::string times_text(const Outcome& o) {
  std::string s;
  for (const driver::Timing& t : o.times) s += fmt::format("{}{} {:.2f}", s.empty() ? "" : ", ", t.step, t.milliseconds);
  return s;
}
std::string json_text(const Outcome& o) {
  std::string times;
  for (const driver::Timing& t : o.times) times += fmt::format("{}{}: {:.3f}", times.empty() ? "" : ", ", quote(t.step), t.milliseconds);
  return json_start(o) + fmt::format(", \"times\": {{{}}}}}\n", times);
}
const char* unit_of(const runtime::AccessCount& c) { return c.memory == "shared" ? "wavefronts" : "sectors"; }
std::string counters_json(const Outcome& o) {
  std::string all;
  for (const runtime::AccessCount& c : o.counters)
    all += fmt::format(
        "{}{{\"kernel\": {}, \"place\": {}, \"line\": {}, \"buffer\": {}, \"memory\": {}, \"access\": {}, \"requests\": {}, \"{}\": {}, "
        "\"ideal\": {}}}",
        all.empty() ? "" : ", ", quote(c.kernel), quote(c.place), c.line, quote(c.buffer), quote(c.memory), quote(c.access), c.requests,
        unit_of(c), c.taken, c.ideal);
  return fmt::format(", \"counters\": [{}]", all);
}
std::string counters_text(const Outcome& o) {
  std::string s = o.counters.empty() ? "" : fmt::format("counters of {}\n", printable(o.folder));
  for (const runtime::AccessCount& c : o.counters) {
    std::string place = c.place.empty() ? "" : printable(c.place) + " ",
                buffer = c.buffer.empty() ? "" : " of '" + printable(c.buffer) + "'";
    s += fmt::format("  {}[kernel line {}] {}{} in {} memory: {} requests, {} {}, ideal {}\n", place, c.line, c.access, buffer, c.memory,
                     c.requests, c.taken, unit_of(c), c.ideal);
  }
  return s;
}
// Of a checked run: no times, so that the same seed gives the same bytes.
std::string checked_json(const Outcome& o, bool counters) {
  std::string findings;
  for (const runtime::Finding& f : o.findings)
    findings +=
        fmt::format("{}{{\"kind\": {}, \"kernel\": {}, \"place\": {}, \"line\": {}, \"message\": {}, \"count\": {}}}",
                    findings.empty() ? "" : ", ", quote(f.kind), quote(f.kernel), quote(f.place), f.line, quote(f.message), f.count);
  return json_start(o) + fmt::format(", \"findings\": [{}]{}}}\n", findings, counters ? counters_json(o) : "");
}
std::string findings_text(const Outcome& o) {
  std::string s;
  for (const runtime::Finding& f : o.findings)
    s += fmt::format("  {} in kernel '{}'{}{}{}: {}\n", f.kind, printable(f.kernel), f.place.empty() ? "" : " at ", printable(f.place),
                     f.count > 1 ? fmt::format(", {} times", f.count) : "", printable(f.message));
  return s;
}

}  // namespace

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

int run_cases(const CaseArgs& a, cases::RunOptions options, int jobs, const ShowOutcome& show) {
  if (!a.device.empty() && !is_available(a.device, a.json)) return 1;
  std::vector<std::string> folders;
  for (const std::string& path : a.cases) {
    auto found = cases::find_cases(path);
    if (!found) return report(found.error(), a.json);
    folders.insert(folders.end(), found->begin(), found->end());
  }
  if (!a.target.empty()) options.target = a.target;
  if (!a.codegen.empty()) options.codegen = a.codegen;
  if (!a.device.empty()) options.device = a.device;
  options.repeat = a.repeat;
  size_t passed = 0, failed = 0, skipped = 0;
  bool progress = !a.json && isatty(STDERR_FILENO);
  cases::run_cases(folders, options, jobs, [&](const Outcome& o) {
    passed += o.state == Outcome::State::kPassed;
    failed += o.state == Outcome::State::kFailed;
    skipped += o.state == Outcome::State::kSkipped;
    if (progress) fmt::print(stderr, "\r{} of {}\x1b[K", passed + failed + skipped, folders.size());
    std::string_view clear = progress ? "\r\x1b[K" : "";
    if (!a.json && o.state == Outcome::State::kFailed)
      fmt::print("{}FAILED {}: {}\n{}{}", clear, printable(o.folder), printable(o.reason), findings_text(o), counters_text(o));
    else if (!a.json && o.state == Outcome::State::kSkipped)
      fmt::print("{}skipped {}: {}\n", clear, printable(o.folder), printable(o.reason));
    else
      fmt::print("{}{}", clear, show(o, folders.size()));
    std::fflush(stdout);
  });
  if (progress) fmt::print(stderr, "\r\x1b[K");
  std::string tail = skipped ? fmt::format(", {} skipped", skipped) : "";
  fmt::print(a.json ? stderr : stdout, "{} passed, {} failed{}\n", passed, failed, tail);
  return failed == 0 ? 0 : 1;
}

std::string json_start(const Outcome& o) {
  return fmt::format("{{\"case\": {}, \"passed\": {}, \"skipped\": {}, \"reason\": {}, \"codegen\": {}", quote(o.folder),
                     o.state == Outcome::State::kPassed, o.state == Outcome::State::kSkipped, quote(o.reason), quote(o.codegen));
}

int run(const RunArgs& a) {
  cases::RunOptions options;
  if (a.check) options.check = cases::CheckOptions{a.seed, a.schedules, a.counters};
  int jobs = a.jobs > 0 ? a.jobs : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  if (a.repeat > 0) jobs = 1;  // timed launches do not share the machine
  return run_cases(a, options, jobs, [&](const Outcome& o, size_t cases) -> std::string {
    if (a.json) return a.check ? checked_json(o, a.counters) : json_text(o);
    if (a.check) return counters_text(o);
    if (cases != 1) return "";
    return fmt::format("passed {} by codegen {}; ms: {}\n", printable(o.folder), o.codegen, times_text(o));
  });
}

}  // namespace kiln::cli
