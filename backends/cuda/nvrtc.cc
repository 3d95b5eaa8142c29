// NVRTC and nvFatbin: functions declared here from their documentation.
#include "backends/cuda/compilers.h"
#include "backends/cuda/toolkit.h"

namespace kiln::cuda {

namespace {

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
  int (*arch_count)(int*);
  int (*archs)(int*);
  LoadedLibrary library;
};

constexpr int kCompilationFailed = 6;  // NVRTC_ERROR_COMPILATION

Result<Nvrtc> load_nvrtc() {
  auto library = load_library(
      {{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}, "KILN_NVRTC", "NVRTC", "nvidia-cuda-nvrtc", "nvrtcGetSupportedArchs"});
  if (!library) return library.error();
  const LoadedLibrary& l = *library;
  Nvrtc n{};
  n.library = l;
  bool bound = bind(l, n.version, "nvrtcVersion") && bind(l, n.error_string, "nvrtcGetErrorString") &&
               bind(l, n.create, "nvrtcCreateProgram") && bind(l, n.destroy, "nvrtcDestroyProgram") &&
               bind(l, n.compile, "nvrtcCompileProgram") && bind(l, n.log_size, "nvrtcGetProgramLogSize") &&
               bind(l, n.log, "nvrtcGetProgramLog") && bind(l, n.ptx_size, "nvrtcGetPTXSize") && bind(l, n.ptx, "nvrtcGetPTX") &&
               bind(l, n.cubin_size, "nvrtcGetCUBINSize") && bind(l, n.cubin, "nvrtcGetCUBIN") &&
               bind(l, n.arch_count, "nvrtcGetNumSupportedArchs") && bind(l, n.archs, "nvrtcGetSupportedArchs");
  if (!bound) return Error{Code::kToolchain, "this is not NVRTC 11.2 or newer: it lacks functions", l.path, ""};
  return n;
}

const Result<Nvrtc>& library() {
  static const Result<Nvrtc> loaded = load_nvrtc();
  return loaded;
}

// What a pair of NVRTC's functions gives: size, then bytes.
std::string bytes_of(Nvrtc::Program program, int (*size_of)(Nvrtc::Program, size_t*), int (*get)(Nvrtc::Program, char*)) {
  size_t size = 0;
  if (size_of(program, &size) || size == 0) return {};
  std::string out(size, '\0');
  return get(program, out.data()) ? std::string() : out;
}

void drop_last_zero(std::string& text) {
  if (!text.empty() && text.back() == '\0') text.pop_back();
}

Result<Compiled> compile(const Compiler&, const std::string& text, const std::vector<std::string>& options, Format format) {
  const Nvrtc& n = *library();
  Nvrtc::Program program = nullptr;
  int status = n.create(&program, text.c_str(), "kernel.cu", 0, nullptr, nullptr);
  if (status) return Error{Code::kToolchain, std::string("NVRTC cannot start: ") + n.error_string(status), n.library.path, ""};
  std::vector<const char*> flags;
  for (const std::string& o : options) flags.push_back(o.c_str());
  status = n.compile(program, static_cast<int>(flags.size()), flags.data());
  Compiled out;
  out.log = bytes_of(program, n.log_size, n.log);
  drop_last_zero(out.log);
  if (!status && format == Format::kCubin) out.code = bytes_of(program, n.cubin_size, n.cubin);
  if (!status && format == Format::kPtx) out.code = bytes_of(program, n.ptx_size, n.ptx), drop_last_zero(out.code);
  n.destroy(&program);
  if (status && status != kCompilationFailed) {
    return Error{Code::kToolchain, std::string("NVRTC failed: ") + n.error_string(status) + (out.log.empty() ? "" : "\n" + out.log), "",
                 ""};
  }
  if (!status && out.code.empty()) return Error{Code::kToolchain, "NVRTC made no code", n.library.path, ""};
  return out;
}

Result<Compiler> describe() {
  const Result<Nvrtc>& n = library();
  if (!n) return n.error();
  int major = 0, minor = 0, count = 0;
  n->version(&major, &minor);
  Compiler c{"NVRTC", n->library.path, "", {}, compile};
  c.version = "NVRTC " + std::to_string(major) + "." + std::to_string(minor) + " (" + std::to_string(n->library.bytes) + " bytes)";
  if (n->arch_count(&count) == 0 && count > 0) {
    c.architectures.resize(static_cast<size_t>(count));
    if (n->archs(c.architectures.data())) c.architectures.clear();
  }
  return c;
}

struct NvFatbin {
  using Handle = void*;
  int (*create)(Handle*, const char**, size_t);
  int (*destroy)(Handle*);
  int (*add_ptx)(Handle, const char* code, size_t size, const char* arch, const char* identifier, const char* options);
  int (*add_cubin)(Handle, const void* code, size_t size, const char* arch, const char* identifier);
  int (*size)(Handle, size_t*);
  int (*get)(Handle, void*);
  const char* (*error_string)(int);
};

Result<NvFatbin> load_fatbin() {
  auto library = load_library(
      {{"libnvfatbin.so.13", "libnvfatbin.so.12", "libnvfatbin.so"}, "KILN_NVFATBIN", "nvFatbin", "nvidia-nvfatbin", "nvFatbinCreate"});
  if (!library) return library.error();
  const LoadedLibrary& l = *library;
  NvFatbin f{};
  bool bound = bind(l, f.create, "nvFatbinCreate") && bind(l, f.destroy, "nvFatbinDestroy") && bind(l, f.add_ptx, "nvFatbinAddPTX") &&
               bind(l, f.add_cubin, "nvFatbinAddCubin") && bind(l, f.size, "nvFatbinSize") && bind(l, f.get, "nvFatbinGet") &&
               bind(l, f.error_string, "nvFatbinGetErrorString");
  if (!bound) return Error{Code::kToolchain, "this is not nvFatbin: it lacks functions", l.path, ""};
  return f;
}

}  // namespace

const Result<Compiler>& nvrtc() {
  static const Result<Compiler> found = describe();
  return found;
}

Result<std::string> make_fatbin(const std::vector<FatbinPart>& parts) {
  static const Result<NvFatbin> loaded = load_fatbin();
  if (!loaded) return loaded.error();
  const NvFatbin& f = *loaded;
  NvFatbin::Handle handle = nullptr;
  const char* options[] = {"-64", "-host=linux"};
  int status = f.create(&handle, options, std::size(options));
  for (size_t i = 0; i < parts.size() && !status; ++i) {
    const FatbinPart& p = parts[i];
    // PTX with its terminating zero.
    status = p.format == Format::kPtx ? f.add_ptx(handle, p.bytes.c_str(), p.bytes.size() + 1, p.architecture.c_str(), "kernel", nullptr)
                                      : f.add_cubin(handle, p.bytes.data(), p.bytes.size(), p.architecture.c_str(), "kernel");
  }
  size_t size = 0;
  if (!status) status = f.size(handle, &size);
  std::string out(size, '\0');
  if (!status) status = f.get(handle, out.data());
  if (handle) f.destroy(&handle);
  if (status) return Error{Code::kToolchain, std::string("nvFatbin failed: ") + f.error_string(status), "", ""};
  return out;
}

}  // namespace kiln::cuda
