#include "host_c/compiler.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/lines.h"
#include "base/process.h"
#include "base/temporary_folder.h"
#include "cache/cache.h"

namespace kiln::host_c {

namespace {

namespace fs = std::filesystem;

double timeout_seconds() {
  const char* text = std::getenv("KILN_COMPILE_TIMEOUT");
  double v = text ? std::strtod(text, nullptr) : 0;
  return v > 0 ? v : 120;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    size_t begin = text.find_first_not_of(" \t", at);
    if (begin == text.npos) break;
    size_t end = std::min(text.find_first_of(" \t", begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    at = end;
  }
  return words;
}

// What is particular to a language.
struct Toolchain {
  const char *language, *variable, *file;  // $CC; what the source is called
  std::vector<const char*> programs, flags;
  const char* package;  // Debian's
};
const Toolchain& toolchain(Language language) {
  static const Toolchain c = {"C", "CC", "source.c", {"cc", "gcc", "clang"}, {"-std=gnu11", "-O2", "-ftree-vectorize"}, "gcc libc6-dev"};
  // Compiled for one run of a test, so compiling fast counts: less than half the time of -O1 for flash attention on the simulator, where a
  // GEMM runs no slower and what is bound by its lanes' arithmetic takes 1.3 times as long.
  static const Toolchain quick_c = {
      "C", "CC", "source.c", {"cc", "gcc", "clang"}, {"-std=gnu11", "-Og", "-fmove-loop-invariants"}, "gcc libc6-dev"};
  static const Toolchain cxx = {
      "C++", "CXX", "source.cc", {"c++", "g++", "clang++"}, {"-std=gnu++20", "-Og", "-fno-exceptions", "-fno-rtti", "-fvisibility=hidden"},
      "g++"};
  switch (language) {
    case Language::kC: return c;
    case Language::kQuickC: return quick_c;
    case Language::kCxx: return cxx;
  }
  return c;
}

// What the compiler complained of: its first error with the lines that quote the source, and where that is ("source.c:3:5").
void explain_failure(std::string_view output, Error& error) {
  constexpr std::string_view kSourceFile = "source.";  // with an extension
  constexpr size_t kMaxLines = 12;
  std::vector<std::string_view> lines = lines_of(output);
  auto is_error = [](std::string_view line) { return line.find("error") != line.npos || line.find("undefined reference") != line.npos; };
  auto first = std::find_if(lines.begin(), lines.end(), is_error);
  if (first == lines.end()) first = lines.begin();
  size_t count = 0;
  for (auto line = first; line != lines.end() && count < kMaxLines; ++line, ++count) {
    std::string_view text = line->substr(0, 300);
    if (count == 0) {
      size_t at = text.find(": error: ");
      if (at == text.npos) at = text.find(": fatal error: ");
      if (at != text.npos && text.starts_with(kSourceFile)) {
        error.place = std::string(text.substr(0, at));
        text.remove_prefix(at + 2);
      }
      error.message += ": " + std::string(text);
    } else {
      error.message += "\n" + std::string(text);
    }
  }
}

enum class Output { kLibrary, kObject, kAssembly, kLlvm };

// A flag that some compilers or processors lack, and words by which they refuse it; the text compiles without it too.
struct OptionalFlag {
  const char* flag;
  std::vector<std::string_view> refusals;

  bool refused_in(std::string_view output) const {
    return std::any_of(refusals.begin(), refusals.end(), [&](std::string_view word) { return output.find(word) != output.npos; });
  }
};

// Wrap-around integers and no strict aliasing are what the printed text relies on; contraction to fma would round once where the module
// rounds twice. -O2 with the vectoriser: -O3 takes twice as long for a GEMM and its code is no faster. Parallel loops carry OpenMP pragmas
// and run on its pool of threads, so Kiln has none of its own; without OpenMP they run on the caller's thread.
std::vector<std::string> command(const Toolchain& tools, const std::vector<std::string>& compiler,
                                 const std::vector<OptionalFlag>& optional, Output output, const std::string& target) {
  std::vector<std::string> argv = compiler;
  argv.insert(argv.end(), tools.flags.begin(), tools.flags.end());
  for (const char* flag : {"-fwrapv", "-fno-strict-aliasing", "-fno-math-errno", "-ffp-contract=off", "-w", "-fPIC"})
    argv.emplace_back(flag);
  for (const OptionalFlag& o : optional) argv.emplace_back(o.flag);
  switch (output) {
    case Output::kLibrary: argv.emplace_back("-shared"); break;
    case Output::kObject: argv.emplace_back("-c"); break;
    case Output::kAssembly: argv.emplace_back("-S"); break;
    case Output::kLlvm: argv.insert(argv.end(), {"-S", "-emit-llvm"}); break;
  }
  argv.insert(argv.end(), {tools.file, "-o", target});
  if (output == Output::kLibrary) argv.emplace_back("-lm");
  return argv;
}

bool has_parallel_loops(std::string_view text) { return text.find("#pragma omp") != text.npos; }

std::vector<OptionalFlag> optional_flags(std::string_view text) {
  std::vector<OptionalFlag> out = {{"-march=native", {"march"}}};
  if (has_parallel_loops(text)) out.push_back({"-fopenmp", {"openmp", "gomp", "iomp"}});
  return out;
}

Error compiler_failed(const Toolchain& tools, const std::string& compiler, const ProcessResult& result, Output output) {
  Error error{Code::kToolchain, "the " + std::string(tools.language) + " compiler '" + compiler + "' ", "", ""};
  if (result.timed_out) {
    error.message += fmt::format("did not end within {} s", timeout_seconds());
    error.hint = "KILN_COMPILE_TIMEOUT sets another limit in seconds";
  } else if (output == Output::kLlvm && result.output.find("emit-llvm") != std::string::npos) {
    error.message += "does not make LLVM IR";
    error.hint = "set CC=clang";
  } else {
    error.message += "failed with status " + std::to_string(result.status);
    explain_failure(result.output, error);
  }
  return error;
}

// Compiles the text in the folder; the output's bytes.
Result<std::string> compile_in(TemporaryFolder& folder, const Toolchain& tools, const std::vector<std::string>& compiler,
                               std::string_view text, Output output) {
  if (auto s = folder.write(tools.file, text); !s) return s.error();
  std::vector<OptionalFlag> optional = optional_flags(text);
  for (;;) {
    // Run in the folder, so that its name is in neither messages nor artifacts.
    auto result = run_process(command(tools, compiler, optional, output, "out"), timeout_seconds(), folder.path());
    if (!result) return result.error();
    if (result->status == 0 && !result->timed_out) {
      auto bytes = folder.read("out");
      if (bytes && !bytes->empty()) return bytes;
      std::string what = std::string(tools.language) + " compiler";
      return Error{Code::kToolchain, "the " + what + " '" + compiler.front() + "' succeeded but wrote no output", "",
                   "is it a " + what + "?"};
    }
    auto refused = std::find_if(optional.begin(), optional.end(), [&](const OptionalFlag& o) { return o.refused_in(result->output); });
    if (result->timed_out || refused == optional.end()) {
      Error error = compiler_failed(tools, compiler.front(), *result, output);
      if (folder.keep_if_asked()) error.hint += (error.hint.empty() ? "" : "; ") + ("the source is kept in " + folder.path());
      return error;
    }
    optional.erase(refused);
  }
}

// What -march=native goes by: the first processor's model and features. Empty where there is no /proc.
const std::string& processor() {
  static const std::string text = [] {
    std::ifstream file("/proc/cpuinfo");
    std::string out;
    for (std::string line; std::getline(file, line) && !line.empty();) {
      for (std::string_view name : {"vendor_id", "cpu family", "model", "stepping", "flags", "CPU ", "Features", "isa", "uarch"}) {
        if (line.starts_with(name)) out += line + '\n';
      }
    }
    return out;
  }();
  return text;
}

// The compiler by its file's name, size and time: asking for its version would start a process each time, and a script that calls another
// compiler has none of its own. Empty when it cannot be known.
std::string identity_of(const std::string& compiler) {
  std::error_code ec;
  fs::path path = fs::canonical(find_program(compiler), ec);
  if (ec) return {};
  auto size = fs::file_size(path, ec);
  auto time = fs::last_write_time(path, ec).time_since_epoch().count();
  return ec ? std::string() : fmt::format("{} {} {}", path.filename().string(), size, time);
}

std::string_view name_of(Output output) {
  switch (output) {
    case Output::kLibrary: return "so";
    case Output::kObject: return "obj";
    case Output::kAssembly: return "asm";
    case Output::kLlvm: return "ll";
  }
  return {};
}

// The bytes of the output, from the cache when they were made before.
Result<std::string> compile(const std::string& text, Output output, Language language = Language::kC) {
  const Toolchain& tools = toolchain(language);
  auto compiler = find_compiler(language);
  if (!compiler) return compiler.error();
  auto make = [&]() -> Result<std::string> {
    auto folder = TemporaryFolder::make();
    if (!folder) return folder.error();
    return compile_in(**folder, tools, *compiler, text, output);
  };
  cache::Key key{std::string(name_of(output)), processor(), identity_of(compiler->front()), "", text};
  if (key.architecture.empty() || key.toolchain.empty()) return make();
  key.options = fmt::format("{}", fmt::join(command(tools, *compiler, optional_flags(text), output, "out"), "\n"));
  for (const char* name :
       {"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX"}) {  // compilers go by them too
    if (const char* value = std::getenv(name)) key.options += fmt::format("\n{}={}", name, value);
  }
  return cache::fetch(key, make);
}

// Idle threads of the OpenMP pool wait inside its library, so it must outlive the kernels that brought it.
void pin_openmp() {
  for (const char* name : {"libgomp.so.1", "libomp.so.5", "libomp.so"}) {
    if (void* handle = dlopen(name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE)) dlclose(handle);
  }
}

}  // namespace

Result<std::vector<std::string>> find_compiler(Language language) {
  const Toolchain& tools = toolchain(language);
  std::string what = std::string(tools.language) + " compiler";
  std::vector<std::string> words;
  if (const char* named = std::getenv(tools.variable)) words = words_of(named);
  if (!words.empty()) {
    std::string path = find_program(words[0]);
    if (path.empty()) {
      return Error{Code::kToolchain, fmt::format("the {} '{}' that {} names is not found", what, words[0], tools.variable), "",
                   fmt::format("unset {}, or name a compiler in PATH", tools.variable)};
    }
    if (words[0].find('/') != std::string::npos) words[0] = path;  // it runs in another folder
    return words;
  }
  for (const char* name : tools.programs) {
    if (!find_program(name).empty()) return std::vector<std::string>{name};
  }
  return Error{Code::kToolchain,
               fmt::format("no {} is found (looked for ${}, {}, {} and {} in PATH)", what, tools.variable, tools.programs[0],
                           tools.programs[1], tools.programs[2]),
               "", fmt::format("install one, on Debian: apt install {}", tools.package)};
}

Result<std::string> describe_compiler(Language language) {
  Result<std::vector<std::string>> compiler = find_compiler(language);
  if (!compiler) return compiler.error();
  std::string text;
  for (const std::string& word : *compiler) text += (text.empty() ? "" : " ") + word;
  auto r = run_process({(*compiler)[0], "--version"}, 10);
  return text + ": " + (r && r->status == 0 ? r->output.substr(0, r->output.find('\n')) : "it does not say its version");
}

Result<std::shared_ptr<const runtime::Library>> compile_and_load(const Source& source, Language language) {
  auto bytes = compile(source.text + source.entry_text, Output::kLibrary, language);
  if (!bytes) return bytes.error();
  auto folder = TemporaryFolder::make();  // the loader takes files only
  if (!folder) return folder.error();
  if (auto s = (*folder)->write("kernels.so", *bytes); !s) return s.error();
  auto library = runtime::Library::open((*folder)->file("kernels.so"));  // stays mapped after the file is gone
  if (library && has_parallel_loops(source.text)) pin_openmp();
  return library;
}

runtime::Artifacts artifacts_of(const Source& source) {
  runtime::Artifacts made;
  made["so"] = [text = source.text] { return compile(text, Output::kLibrary); };
  made["obj"] = [text = source.text] { return compile(text, Output::kObject); };
  made["asm"] = [text = source.text] { return compile(text, Output::kAssembly); };
  made["ll"] = [text = source.text] { return compile(text, Output::kLlvm); };
  return made;
}

}  // namespace kiln::host_c
