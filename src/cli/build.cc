#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/write_all.h"
#include "cli/cli.h"
#include "driver/driver.h"

namespace kiln::cli {

namespace {

namespace fs = std::filesystem;

Error cannot_write(const std::string& path) { return {Code::kIo, std::string("cannot write: ") + std::strerror(errno), path, ""}; }

// Writes beside the file and renames, so that the file is whole or as it was.
Status write_file(const std::string& path, const std::string& bytes) {
  struct stat info;
  bool exists = stat(path.c_str(), &info) == 0;
  // A device or a pipe cannot be renamed over, and what stands in /dev for an open file must not be.
  if ((exists && !S_ISREG(info.st_mode)) || path.starts_with("/dev/") || path.starts_with("/proc/")) {
    int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    bool fine = fd >= 0 && write_all(fd, bytes);
    Status status = fine ? Status(Ok{}) : cannot_write(path);
    if (fd >= 0) close(fd);
    return status;
  }
  std::error_code ec;
  fs::path target = exists ? fs::canonical(path, ec) : fs::path(path);  // a symbolic link stays one
  if (ec) return cannot_write(path);
  std::string temporary = (target.parent_path() / ".kiln-XXXXXX").string();
  int fd = mkstemp(temporary.data());
  if (fd < 0) return cannot_write(path);
  mode_t mask = umask(0);
  umask(mask);
  bool fine = write_all(fd, bytes) && fchmod(fd, 0666 & ~mask) == 0;
  fine = close(fd) == 0 && fine && rename(temporary.c_str(), target.c_str()) == 0;
  if (fine) return Ok{};
  Error e = cannot_write(path);
  unlink(temporary.c_str());
  return e;
}

// Peak resident memory of this process in kB, from the kernel's count for this program alone; 0 where there is none.
long peak_memory_kb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::atol(line.c_str() + 6);
  }
  return 0;
}

}  // namespace

int build(const BuildArgs& a) {
  driver::BuildOptions options;
  if (!a.target.empty()) options.target = a.target;
  if (!a.codegen.empty()) options.codegen = a.codegen;
  options.compile = false;  // artifacts are made when asked for
  auto built = driver::build_file(a.module, options);
  if (!built) return report(built.error(), a.json);
  auto bytes = built->module.artifact(a.emit);
  if (!bytes) return report(bytes.error(), a.json);
  bool to_stdout = a.output.empty() || a.output == "-" || a.output == "/dev/stdout";
  bool text = a.emit == "source" || a.emit == "ptx" || a.emit == "ll" || a.emit == "asm";
  if (to_stdout && !text && isatty(STDOUT_FILENO)) {
    return report({Code::kInvalidArgument, "a binary artifact is not written to a terminal", "", "pass -o FILE"}, a.json);
  }
  if (!to_stdout) {
    if (auto s = write_file(a.output, *bytes); !s) return report(s.error(), a.json);
  } else if (!a.json) {
    fmt::print("{}", *bytes);
  }
  if (!a.json) return 0;
  std::string kernels, times;
  for (const std::string& k : built->module.functions()) kernels += (kernels.empty() ? "" : ", ") + quote(k);
  for (const driver::Timing& t : built->timings)
    times += fmt::format("{}{}: {:.3f}", times.empty() ? "" : ", ", quote(t.step), t.milliseconds);
  fmt::print("{{\"target\": {}, \"codegen\": {}, \"emit\": {}, \"bytes\": {}, \"kernels\": [{}], \"times\": {{{}}}, \"peak_memory_kb\": {}",
             built->target.to_json(), quote(built->codegen), quote(a.emit), bytes->size(), kernels, times, peak_memory_kb());
  if (to_stdout && text) fmt::print(", \"text\": {}", quote(*bytes));
  if (!to_stdout) fmt::print(", \"output\": {}", quote(a.output));
  fmt::print("}}\n");
  return 0;
}

}  // namespace kiln::cli
