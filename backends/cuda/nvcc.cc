// nvcc, for machines without NVRTC.
#include <cstdlib>

#include "backends/cuda/compilers.h"
#include "backends/cuda/toolkit.h"
#include "base/process.h"
#include "base/temporary_folder.h"

namespace kiln::cuda {

namespace {

constexpr double kTimeoutSeconds = 600;

// Runs in a private folder, so that its path is in neither messages nor artifacts.
Result<Compiled> compile(const Compiler& self, const std::string& text, const std::vector<std::string>& options, Format format) {
  auto folder = TemporaryFolder::make();
  if (!folder) return folder.error();
  if (auto s = (*folder)->write("kernel.cu", text); !s) return s.error();
  std::vector<std::string> argv = {self.path, format == Format::kPtx ? "--ptx" : "--cubin", "kernel.cu", "-o", "out"};
  argv.insert(argv.end(), options.begin(), options.end());
  auto run = run_process(argv, kTimeoutSeconds, (*folder)->path());
  if (!run) return run.error();
  if (run->timed_out)
    return Error{Code::kToolchain, "nvcc did not end within " + std::to_string(static_cast<int>(kTimeoutSeconds)) + " s", self.path, ""};
  Compiled out;
  out.log = run->output;
  if (run->status != 0) return out;
  auto code = (*folder)->read("out");
  if (!code) return code.error();
  out.code = std::move(*code);
  if (out.code.empty()) return Error{Code::kToolchain, "nvcc made no code", self.path, ""};
  return out;
}

Result<Compiler> describe() {
  auto path = find_nvcc();
  if (!path) return path.error();
  auto run = run_process({*path, "--version"}, 30);
  if (!run) return run.error();
  if (run->status != 0) return Error{Code::kToolchain, "nvcc --version fails with status " + std::to_string(run->status), *path, ""};
  // "... \nCuda compilation tools, release 13.0, V13.0.88\nBuild ..."
  size_t at = run->output.find(", V");
  std::string version = at == std::string::npos ? run->output : run->output.substr(at + 3, run->output.find('\n', at) - at - 3);
  version = "nvcc " + version;
  for (const char* variable : {"NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"}) {  // nvcc reads them, so they are part of what it is
    if (const char* flags = std::getenv(variable); flags && *flags) version += std::string(" with ") + variable + "=" + flags;
  }
  return Compiler{"nvcc", *path, version, {}, compile};
}

}  // namespace

const Result<Compiler>& nvcc() {
  static const Result<Compiler> found = describe();
  return found;
}

Result<Compiler> chosen_compiler() {
  const char* given = std::getenv("KILN_CUDA_COMPILER");
  std::string asked = given ? given : "";
  if (asked == "nvrtc") return nvrtc();
  if (asked == "nvcc") return nvcc();
  if (!asked.empty()) {
    return Error{Code::kInvalidArgument, "KILN_CUDA_COMPILER is '" + asked + "', expected nvrtc or nvcc", "", ""};
  }
  if (nvrtc().ok()) return nvrtc();
  if (nvcc().ok()) return nvcc();
  Error error = nvrtc().error();
  error.message += "; " + nvcc().error().message;
  return error;
}

}  // namespace kiln::cuda
