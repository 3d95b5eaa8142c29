#include "backends/cuda/toolchain.h"

#include <algorithm>
#include <optional>

#include "backends/cuda/toolkit.h"
#include "base/lines.h"
#include "cache/cache.h"

namespace kiln::cuda {

namespace {

// Fit for a terminal.
std::string printable(std::string_view text) {
  std::string out(text.substr(0, 200));
  for (char& c : out) {
    if ((static_cast<unsigned char>(c) < 32 && c != '\t') || c == 127) c = '?';
  }
  return out;
}

struct Message {
  std::string file;  // "kernel.cu", or the user's where the text has #line directives
  int line = 0;
  std::string text;
  size_t index = 0;  // of its line in the log
};

// "kernel.cu(12): error: identifier "x" is undefined"
std::optional<Message> message_of(std::string_view line) {
  size_t error = line.find("): error");
  if (error == line.npos) error = line.find("): catastrophic error");
  size_t open = error == line.npos ? line.npos : line.rfind('(', error);
  size_t colon = error == line.npos ? line.npos : line.find(": ", error + 2);
  if (open == line.npos || colon == line.npos) return std::nullopt;
  Message m;
  m.file = line.substr(0, open);
  m.line = std::atoi(std::string(line.substr(open + 1, error - open - 1)).c_str());
  m.text = line.substr(colon + 2);
  return m;
}

// The column, from 0, that the compiler's caret points at below its quote of `line`; npos for none.
size_t caret_column(const std::vector<std::string_view>& log, size_t message, std::string_view line) {
  if (message + 2 >= log.size()) return std::string::npos;
  size_t caret = log[message + 2].find('^');
  size_t quoted = log[message + 1].find_first_not_of(" \t"), own = line.find_first_not_of(" \t");
  if (caret == std::string::npos || quoted == std::string::npos || own == std::string::npos || caret < quoted) return std::string::npos;
  return caret - quoted + own;
}

// The line with two before and after it, and a caret.
std::string excerpt(const std::vector<std::string_view>& text, int line, size_t caret) {
  std::string out;
  int first = std::max(1, line - 2), last = std::min(static_cast<int>(text.size()), line + 2);
  size_t width = std::to_string(last).size();
  for (int i = first; i <= last; ++i) {
    std::string number = std::to_string(i);
    out += "\n" + std::string(i == line ? "> " : "  ") + std::string(width - number.size(), ' ') + number + " | " +
           printable(text[static_cast<size_t>(i) - 1]);
    if (i == line && caret < 200) out += "\n  " + std::string(width, ' ') + " | " + std::string(caret, ' ') + "^";
  }
  return out;
}

// The user's place of a line of the text.
std::string user_place(const Source& source, int line) {
  auto after = std::upper_bound(source.places.begin(), source.places.end(), line, [](int l, const LinePlace& p) { return l < p.line; });
  return after == source.places.begin() ? std::string() : std::prev(after)->place;
}

Error text_error(const Compiler& compiler, const Source& source, const Arch& arch, const std::string& log) {
  Error error{Code::kToolchain, compiler.name + " failed for " + arch.sm() + ": ", "", ""};
  std::vector<std::string_view> lines = lines_of(log), text = lines_of(source.text);
  std::optional<Message> first;
  size_t count = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::optional<Message> m = message_of(lines[i]);
    if (m && !first) first = m, first->index = i;
    count += m.has_value();
  }
  if (!first) {  // ptxas, or a flag
    for (size_t i = 0; i < std::min<size_t>(lines.size(), 12); ++i) error.message += (i ? "\n" : "") + printable(lines[i]);
    return error;
  }
  error.message += printable(first->text);
  bool in_text = first->file == "kernel.cu" && first->line > 0 && first->line <= static_cast<int>(text.size());
  if (in_text) {
    error.place = user_place(source, first->line);
    if (error.place.empty()) error.place = "line " + std::to_string(first->line) + " of the printed source";
    error.message += excerpt(text, first->line, caret_column(lines, first->index, text[static_cast<size_t>(first->line) - 1]));
  } else {
    error.place = printable(first->file) + ":" + std::to_string(first->line);
  }
  if (count > 1) error.message += "\nand " + std::to_string(count - 1) + " more";
  return error;
}

// What a text includes: Kiln's own nothing, imported text perhaps CUDA's headers, or files of the user's, which the text says nothing
// about.
struct Includes {
  bool any = false, users = false;
};

Includes includes_of(std::string_view text) {
  Includes out;
  for (size_t at = 0; (at = text.find("include", at)) != text.npos; at += 7) {
    size_t hash = text.find_last_not_of(" \t", at - 1), next = text.find_first_not_of(" \t", at + 7);
    if (at == 0 || hash == text.npos || text[hash] != '#') continue;
    out.any = true;
    out.users |= next == text.npos || text[next] != '<';
  }
  return out;
}

Status check_architecture(const Compiler& compiler, const Arch& arch) {
  const std::vector<int>& known = compiler.architectures;
  if (known.empty() || std::find(known.begin(), known.end(), arch.number) != known.end()) return Ok{};
  std::string list;
  for (int a : known) list += (list.empty() ? "sm_" : ", sm_") + std::to_string(a);
  return Error{Code::kToolchain, compiler.version + " makes no code for " + arch.sm() + "; it knows " + list, compiler.path,
               "install a newer CUDA toolkit or wheel nvidia-cuda-nvrtc"};
}

}  // namespace

Result<std::string> compile(const Source& source, const Arch& arch, const std::vector<std::string>& flags, Format format) {
  auto found = chosen_compiler();
  if (!found) return found.error();
  const Compiler& compiler = *found;
  if (auto known = check_architecture(compiler, arch); !known) return known.error();
  std::vector<std::string> options = {"--gpu-architecture=" + (format == Format::kCubin ? arch.sm() : arch.compute())};
  bool has_standard = std::any_of(flags.begin(), flags.end(), [](const std::string& f) { return f.find("-std=") != std::string::npos; });
  if (!has_standard) options.emplace_back("--std=c++17");
  options.insert(options.end(), flags.begin(), flags.end());

  cache::Key key{format == Format::kCubin ? "cubin" : "ptx", arch.sm(), compiler.version, "", source.text};
  for (const std::string& o : options) key.options += o + "\n";
  Includes includes = includes_of(source.text);
  std::string headers = includes.any ? include_folder(compiler.path) : "";  // NVRTC knows no folder by itself
  if (!headers.empty()) options.push_back("-I" + headers);
  auto make = [&]() -> Result<std::string> {
    auto made = compiler.compile(compiler, source.text, options, format);
    if (!made) return made.error();
    if (made->code.empty()) return text_error(compiler, source, arch, made->log);
    return std::move(made->code);
  };
  // The key cannot tell when a file of the user's changes.
  bool users = includes.any && (includes.users || std::any_of(flags.begin(), flags.end(), [](auto& f) { return f.starts_with("-I"); }));
  return users ? make() : cache::fetch(key, make);
}

namespace {

Result<std::string> fatbin(const Options& options, const PrintFor& print) {
  std::vector<FatbinPart> parts;
  for (const Arch& arch : options.fatbin_archs) {
    auto source = print(arch);
    if (!source) return source.error();
    bool last = arch.sm() == options.fatbin_archs.back().sm();
    for (Format format : {Format::kCubin, Format::kPtx}) {
      if (format == Format::kPtx && !last) continue;
      auto code = compile(*source, arch, options.flags, format);
      if (!code) return code.error();
      parts.push_back({format, arch.sm().substr(3), std::move(*code)});
    }
  }
  return make_fatbin(parts);
}

}  // namespace

runtime::Artifacts artifacts_of(const Source& source, const Options& options, const PrintFor& print) {
  runtime::Artifacts out;
  out["ptx"] = [source, options] { return compile(source, options.arch, options.flags, Format::kPtx); };
  out["cubin"] = [source, options] { return compile(source, options.arch, options.flags, Format::kCubin); };
  out["fatbin"] = [options, print] { return fatbin(options, print); };
  return out;
}

runtime::Artifacts artifacts_of(const Source& source, const Arch& arch) {
  Options options;
  options.arch = arch;
  options.fatbin_archs = {arch};
  return artifacts_of(source, options, [source](const Arch&) { return Result<Source>(source); });
}

}  // namespace kiln::cuda
