#include "backends/cuda/toolchain.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace kiln::cuda {

namespace {

namespace fs = std::filesystem;

// The functions of nvrtc.h that are used, declared from NVRTC's documentation.
struct Nvrtc {
  using Program = void*;
  int (*version)(int*, int*);
  const char* (*error_string)(int);
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*destroy)(Program*);
  int (*compile)(Program, int, const char* const*);
  int (*log_size)(Program, size_t*);
  int (*log)(Program, char*);
  int (*ptx_size)(Program, size_t*);
  int (*ptx)(Program, char*);
  int (*cubin_size)(Program, size_t*);
  int (*cubin)(Program, char*);
  std::string path;
};

constexpr const char* kNames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Folders of a folder, sorted, newest version last.
void add_children(const fs::path& folder, std::string_view prefix, const std::vector<std::string>& below, std::vector<std::string>& out) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().filename().string().starts_with(prefix)) found.push_back(entry.path().string());
  }
  std::sort(found.rbegin(), found.rend());
  for (const std::string& f : found) {
    for (const std::string& b : below) out.push_back(f + b);
  }
}

// Folders that may hold NVRTC: a toolkit's, or those of the PyPI wheel nvidia-cuda-nvrtc.
std::vector<std::string> folders() {
  std::vector<std::string> out;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    std::string root = environment(variable);
    if (!root.empty()) out.insert(out.end(), {root + "/lib64", root + "/lib", root + "/targets/x86_64-linux/lib"});
  }
  auto wheel = [&](const fs::path& site) { add_children(site / "nvidia", "cu", {"/lib"}, out); };
  std::string environment_root = environment("VIRTUAL_ENV");
  if (!environment_root.empty()) {
    std::vector<std::string> sites;
    add_children(fs::path(environment_root) / "lib", "python3", {"/site-packages"}, sites);
    for (const std::string& s : sites) wheel(s);
  }
  Dl_info info;
  static const int here = 0;
  if (dladdr(&here, &info) && info.dli_fname) {
    for (fs::path p = fs::path(info.dli_fname).parent_path(); p.has_relative_path(); p = p.parent_path()) {
      if (p.filename() == "site-packages") wheel(p);
    }
  }
  out.insert(out.end(), {"/usr/local/cuda/lib64", "/usr/local/cuda/lib"});
  add_children("/usr/local", "cuda-", {"/lib64", "/lib"}, out);
  out.insert(out.end(), {"/opt/cuda/lib64"});
  return out;
}

bool bind(void* library, Nvrtc& n) {
  auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  return find(n.version, "nvrtcVersion") && find(n.error_string, "nvrtcGetErrorString") && find(n.create, "nvrtcCreateProgram") &&
         find(n.destroy, "nvrtcDestroyProgram") && find(n.compile, "nvrtcCompileProgram") && find(n.log_size, "nvrtcGetProgramLogSize") &&
         find(n.log, "nvrtcGetProgramLog") && find(n.ptx_size, "nvrtcGetPTXSize") && find(n.ptx, "nvrtcGetPTX") &&
         find(n.cubin_size, "nvrtcGetCUBINSize") && find(n.cubin, "nvrtcGetCUBIN");
}

Result<Nvrtc> load() {
  std::vector<std::string> candidates;
  if (std::string given = environment("KILN_NVRTC"); !given.empty()) candidates.push_back(given);
  for (const std::string& folder : folders()) {
    for (const char* name : kNames) candidates.push_back(folder + "/" + name);
  }
  candidates.insert(candidates.end(), std::begin(kNames), std::end(kNames));
  for (const std::string& path : candidates) {
    std::error_code ignored;
    if (path.find('/') != std::string::npos && !fs::exists(path, ignored)) continue;
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    Nvrtc n{};
    if (!library || !bind(library, n)) continue;
    n.path = path;
    return n;  // stays loaded: its threads may outlive any owner
  }
  std::string looked;
  for (const std::string& folder : folders()) looked += (looked.empty() ? "" : ", ") + folder;
  return Error{Code::kToolchain, "NVRTC is not found; looked in " + looked + " and the loader's folders", "",
               "install the CUDA toolkit or the wheel nvidia-cuda-nvrtc, or set CUDA_HOME or KILN_NVRTC"};
}

const Result<Nvrtc>& nvrtc() {
  static const Result<Nvrtc> loaded = load();
  return loaded;
}

// The first messages of a log, with the lines of the source that they are about.
std::string first_lines(const std::string& log) {
  size_t at = 0;
  for (int line = 0; line < 12 && at < log.size(); ++line) at = std::min(log.find('\n', at), log.size() - 1) + 1;
  return log.substr(0, at);
}

Result<std::string> compile(const std::string& text, const Arch& arch, bool cubin) {
  const Result<Nvrtc>& found = nvrtc();
  if (!found) return found.error();
  const Nvrtc& n = *found;
  Nvrtc::Program program = nullptr;
  int status = n.create(&program, text.c_str(), "kernel.cu", 0, nullptr, nullptr);
  if (status) return Error{Code::kToolchain, std::string("NVRTC cannot start: ") + n.error_string(status), n.path, ""};
  std::string architecture = "--gpu-architecture=" + (cubin ? arch.sm() : arch.compute());
  const char* options[] = {architecture.c_str(), "--std=c++17"};
  status = n.compile(program, 2, options);
  size_t size = 0;
  std::string out;
  if (status) {
    n.log_size(program, &size);
    out.resize(size);
    if (size) n.log(program, out.data());
    n.destroy(&program);
    return Error{Code::kToolchain, std::string("NVRTC failed for ") + arch.sm() + ": " + n.error_string(status) + "\n" + first_lines(out),
                 "", ""};
  }
  status = cubin ? n.cubin_size(program, &size) : n.ptx_size(program, &size);
  out.resize(size);
  if (!status && size) status = cubin ? n.cubin(program, out.data()) : n.ptx(program, out.data());
  n.destroy(&program);
  if (status || out.empty()) return Error{Code::kToolchain, "NVRTC made no code for " + arch.sm(), n.path, ""};
  if (!cubin) out.pop_back();  // a terminating zero
  return out;
}

}  // namespace

Result<std::string> describe_compiler() {
  const Result<Nvrtc>& n = nvrtc();
  if (!n) return n.error();
  int major = 0, minor = 0;
  n->version(&major, &minor);
  return n->path + ", NVRTC " + std::to_string(major) + "." + std::to_string(minor);
}

runtime::Artifacts artifacts_of(const Source& source, const Arch& arch) {
  runtime::Artifacts out;
  out["ptx"] = [text = source.text, arch] { return compile(text, arch, false); };
  out["cubin"] = [text = source.text, arch] { return compile(text, arch, true); };
  return out;
}

}  // namespace kiln::cuda
