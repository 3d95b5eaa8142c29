#include "backends/c/toolchain.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/process.h"
#include "import/import.h"

namespace kiln::c {

namespace {

namespace fs = std::filesystem;

// A private folder that goes away with its owner.
class TemporaryFolder {
 public:
  static Result<std::unique_ptr<TemporaryFolder>> make() {
    std::error_code ec;
    std::string pattern = (fs::temp_directory_path(ec) / "kiln-XXXXXX").string();
    if (ec || !mkdtemp(pattern.data()))
      return Error{Code::kIo, "cannot make a temporary folder", pattern, "set TMPDIR to a folder that can be written"};
    return std::unique_ptr<TemporaryFolder>(new TemporaryFolder(pattern));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

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

// The compiler's first errors, without the temporary folder's name, and the line of the source that the first one points at.
std::string first_errors(const std::string& output, const std::string& file, std::string_view source) {
  std::string out;
  int taken = 0, first_line = 0;
  for (size_t at = 0; at < output.size() && taken < 5;) {
    size_t end = std::min(output.find('\n', at), output.size());
    std::string line = output.substr(at, end - at);
    at = end + 1;
    if (line.find("error") == line.npos) continue;
    size_t path = line.find(file);
    if (path != line.npos) line.erase(path, file.size() - std::string_view("source.c").size());
    if (taken++ == 0) {
      size_t number = line.find("source.c:");
      first_line = number == line.npos ? 0 : std::atoi(line.c_str() + number + 9);
    }
    out += (out.empty() ? "" : "; ") + line;
  }
  if (out.empty()) out = output.substr(0, 300);
  size_t at = 0;
  for (int i = 1; i < first_line && at != source.npos; ++i)
    at = source.find('\n', at) == source.npos ? source.npos : source.find('\n', at) + 1;
  if (first_line > 0 && at < source.size()) {
    std::string_view line = source.substr(at, std::min(source.find('\n', at), source.size()) - at);
    out += "; the line is: " + std::string(line.substr(0, 200));
  }
  return out;
}

enum class Output { kLibrary, kObject, kAssembly };

// Flags: wrap-around integers and no strict aliasing are what the printed text relies on; contraction to fma would round once where the
// module rounds twice. Parallel loops carry OpenMP pragmas and run on its pool of threads.
Status compile(std::string_view text, Output output, const TemporaryFolder& folder, const std::string& target) {
  auto compiler = find_compiler();
  if (!compiler) return compiler.error();
  std::string file = folder.file("source.c");
  {
    std::ofstream f(file, std::ios::binary);
    f.write(text.data(), static_cast<std::streamsize>(text.size()));
    if (!f) return Error{Code::kIo, "cannot write the source to compile", file, ""};
  }
  std::vector<std::string> argv = *compiler;
  for (const char* flag : {"-std=gnu11", "-O2", "-ftree-vectorize", "-march=native", "-fwrapv", "-fno-strict-aliasing", "-fno-math-errno",
                           "-ffp-contract=off", "-w", "-fPIC"})
    argv.emplace_back(flag);
  if (text.find("#pragma omp") != text.npos) argv.emplace_back("-fopenmp");
  switch (output) {
    case Output::kLibrary: argv.emplace_back("-shared"); break;
    case Output::kObject: argv.emplace_back("-c"); break;
    case Output::kAssembly: argv.emplace_back("-S"); break;
  }
  argv.insert(argv.end(), {file, "-o", target});
  if (output == Output::kLibrary) argv.emplace_back("-lm");
  auto result = run_process(argv, timeout_seconds());
  if (!result) return result.error();
  if (result->timed_out) {
    return Error{Code::kToolchain,
                 "the compiler '" + argv[0] + "' did not end within " + std::to_string(static_cast<int>(timeout_seconds())) + " s", "",
                 "KILN_COMPILE_TIMEOUT sets another limit"};
  }
  if (result->status != 0) {
    return Error{Code::kToolchain,
                 "the compiler '" + argv[0] + "' failed with status " + std::to_string(result->status) + ": " +
                     first_errors(result->output, file, text),
                 "", ""};
  }
  return Ok{};
}

Result<std::string> compile_to(const std::string& text, Output output) {
  auto folder = TemporaryFolder::make();
  if (!folder) return folder.error();
  std::string target = (*folder)->file("out");
  if (auto s = compile(text, output, **folder, target); !s) return s.error();
  return read_file(target);
}

}  // namespace

Result<std::vector<std::string>> find_compiler() {
  if (const char* cc = std::getenv("CC"); cc && *cc) {
    std::vector<std::string> words = words_of(cc);
    if (!words.empty() && !find_program(words[0]).empty()) return words;
    return Error{Code::kToolchain, "the C compiler '" + std::string(cc) + "' that CC names is not found", "",
                 "unset CC, or name a compiler in PATH"};
  }
  for (const char* name : {"cc", "gcc", "clang"}) {
    if (!find_program(name).empty()) return std::vector<std::string>{name};
  }
  return Error{Code::kToolchain, "no C compiler is found (looked for $CC, cc, gcc and clang in PATH)", "",
               "install one, on Debian: apt install gcc libc6-dev"};
}

std::string compiler_version(const std::vector<std::string>& compiler) {
  auto r = run_process({compiler[0], "--version"}, 10);
  if (!r || r->status != 0) return {};
  return r->output.substr(0, r->output.find('\n'));
}

Result<std::shared_ptr<const runtime::Library>> compile_and_load(const Source& source) {
  auto folder = TemporaryFolder::make();
  if (!folder) return folder.error();
  std::string target = (*folder)->file("kernels.so");
  if (auto s = compile(source.text + source.entry_text, Output::kLibrary, **folder, target); !s) return s.error();
  return runtime::Library::open(target);  // stays mapped after the file is gone
}

runtime::Artifacts artifacts_of(const Source& source) {
  runtime::Artifacts made;
  made["so"] = [text = source.text] { return compile_to(text, Output::kLibrary); };
  made["obj"] = [text = source.text] { return compile_to(text, Output::kObject); };
  made["asm"] = [text = source.text] { return compile_to(text, Output::kAssembly); };
  return made;
}

}  // namespace kiln::c
