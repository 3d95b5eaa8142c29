#include "backends/cuda/options.h"

#include <algorithm>

#include "runtime/live_config.h"

namespace kiln::cuda {

namespace {

using ir::Value;

// The flags that change code and nothing else, in the spelling that NVRTC and nvcc share; "=" at the end: with a value. Those that write
// files, change what comes out or read options from elsewhere are not here, nor --Ofast-compile, which makes ptxas ignore setmaxnreg and
// serialise wgmma.
constexpr std::string_view kFlags[] = {"--use_fast_math",
                                       "-use_fast_math",
                                       "--ftz=",
                                       "-ftz=",
                                       "--prec-sqrt=",
                                       "-prec-sqrt=",
                                       "--prec-div=",
                                       "-prec-div=",
                                       "--fmad=",
                                       "-fmad=",
                                       "--maxrregcount=",
                                       "-maxrregcount=",
                                       "--extra-device-vectorization",
                                       "-extra-device-vectorization",
                                       "--generate-line-info",
                                       "-lineinfo",
                                       "--device-debug",
                                       "-G",
                                       "--disable-warnings",
                                       "-w",
                                       "--restrict",
                                       "-restrict",
                                       "--diag-suppress=",
                                       "-diag-suppress=",
                                       "--std=",
                                       "-std="};
// As a value of --ptxas-options or -Xptxas.
constexpr std::string_view kPtxasFlags[] = {"-O0",
                                            "-O1",
                                            "-O2",
                                            "-O3",
                                            "--opt-level=",
                                            "--register-usage-level=",
                                            "-dlcm=",
                                            "--def-load-cache=",
                                            "-dscm=",
                                            "--def-store-cache=",
                                            "-fmad=",
                                            "--fmad=",
                                            "-maxrregcount=",
                                            "--maxrregcount=",
                                            "--allow-expensive-optimizations=",
                                            "--disable-optimizer-constants",
                                            "-v",
                                            "--verbose",
                                            "--warn-on-spills"};

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || c == '+' || c == '.' ||
           c == ',';
  });
}

template <size_t N>
bool is_one_of(std::string_view flag, const std::string_view (&allowed)[N]) {
  return std::any_of(std::begin(allowed), std::end(allowed), [&](std::string_view a) {
    if (a.back() != '=') return flag == a;
    return flag.starts_with(a) && is_word(flag.substr(a.size()));
  });
}

// Whether the value of a flag of kFlags is one that the compilers take; they would say no place.
bool has_fit_value(std::string_view flag) {
  size_t equals = flag.find('=');
  if (equals == flag.npos) return true;
  std::string_view name = flag.substr(flag.find_first_not_of('-'), equals - flag.find_first_not_of('-')), value = flag.substr(equals + 1);
  auto among = [&](std::initializer_list<std::string_view> values) {
    return std::find(values.begin(), values.end(), value) != values.end();
  };
  if (name == "maxrregcount" || name == "diag-suppress") return value.find_first_not_of("0123456789,") == value.npos;
  if (name == "std") return among({"c++03", "c++11", "c++14", "c++17", "c++20"});
  return among({"true", "false"});
}

// -DNAME, -DNAME=value, -UNAME, -Ifolder: in one word. They reach the compiler as arguments, never a shell.
bool is_preprocessor_flag(std::string_view flag) {
  if (flag.size() < 3 || (!flag.starts_with("-D") && !flag.starts_with("-U") && !flag.starts_with("-I"))) return false;
  return std::none_of(flag.begin(), flag.end(), [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; });
}

Error bad_flag(std::string_view flag) {
  return {Code::kInvalidArgument, "compile flag '" + std::string(flag) + "' is not one that is passed on", "",
          "flags that change code alone are: -D, -U, -I, --use_fast_math, --ftz=, --prec-div=, --prec-sqrt=, --fmad=, --maxrregcount=, "
          "--generate-line-info, --device-debug, --ptxas-options=, --std=, --diag-suppress= and the like"};
}

// Adds the words of `text` to `out`; a flag's value may be a word of its own, as in "-Xptxas -O2".
Status add_flags(std::string_view text, std::vector<std::string>& out) {
  std::vector<std::string> words;
  for (size_t at = 0; (at = text.find_first_not_of(" \t\r\n", at)) != text.npos;) {
    size_t end = std::min(text.find_first_of(" \t\r\n", at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  for (size_t i = 0; i < words.size(); ++i) {
    std::string word = words[i];
    bool wants_value = word == "-Xptxas" || word == "--ptxas-options" || word == "-I" || word == "-D" || word == "--maxrregcount" ||
                       word == "-maxrregcount" || word == "-std" || word == "--std";
    if (wants_value && i + 1 < words.size()) word += (word == "-I" || word == "-D" ? "" : "=") + words[++i];
    if (word.starts_with("-Xptxas=")) word = "--ptxas-options=" + word.substr(8);
    constexpr std::string_view kPtxas = "--ptxas-options=";
    bool fine = word.starts_with(kPtxas) ? is_one_of(std::string_view(word).substr(kPtxas.size()), kPtxasFlags)
                                         : is_one_of(word, kFlags) || is_preprocessor_flag(word);
    if (!fine) return bad_flag(word);
    if (!word.starts_with(kPtxas) && !is_preprocessor_flag(word) && !has_fit_value(word)) {
      return Error{Code::kInvalidArgument, "compile flag '" + word + "' has no such value", "",
                   "true or false; a number for --maxrregcount; c++17 or c++20 for --std"};
    }
    out.push_back(word);
  }
  return Ok{};
}

// A setting, from whichever place has it.
struct Setting {
  std::string name;  // as it is spelled where it was found
  AttrValue value;
};

const Value* pass_config(const ir::Module& module, std::string_view key) {
  if (const Value* v = module.attrs ? module.attrs->find(key) : nullptr) return v;
  for (const ir::Function* f : module.functions) {
    if (const Value* v = f->attrs ? f->attrs->find(key) : nullptr) return v;
  }
  return nullptr;
}

Result<std::optional<Setting>> find(const Target& target, const ir::Module& module, std::string_view name, std::string_view key) {
  std::string attr = "feature." + std::string(name);
  if (auto it = target.attrs().find(attr); it != target.attrs().end()) return std::optional(Setting{attr, it->second});
  const Value* v = key.empty() ? nullptr : pass_config(module, key);
  if (!v || v->kind == Value::Kind::kNone) {
    std::optional<AttrValue> live = key.empty() ? std::nullopt : runtime::live_pass_config(key);
    return live ? std::optional(Setting{std::string(key), std::move(*live)}) : std::nullopt;
  }
  Setting s{std::string(key), {}};
  if (v->kind == Value::Kind::kBool) {
    s.value = v->boolean;
  } else if (v->kind == Value::Kind::kInt) {
    s.value = v->integer;
  } else if (v->kind == Value::Kind::kString) {
    s.value = std::string(v->string);
  } else if (v->kind == Value::Kind::kArray &&
             std::all_of(v->array.begin(), v->array.end(), [](const Value& x) { return x.kind == Value::Kind::kString; })) {
    std::vector<std::string> texts;
    for (const Value& x : v->array) texts.emplace_back(x.string);
    s.value = std::move(texts);
  } else {
    return Error{Code::kInvalidArgument, "'" + s.name + "' must be a bool, a number, a text or a list of texts", "", ""};
  }
  return std::optional(std::move(s));
}

Error wrong(const Setting& s, const char* expected) { return {Code::kInvalidArgument, "'" + s.name + "' must be " + expected, "", ""}; }

Result<bool> truth(const Target& target, const ir::Module& module, std::string_view name, std::string_view key, bool otherwise) {
  auto s = find(target, module, name, key);
  if (!s) return s.error();
  if (!*s) return otherwise;
  if (auto* b = std::get_if<bool>(&(*s)->value)) return *b;
  auto* i = std::get_if<int64_t>(&(*s)->value);
  if (i && (*i == 0 || *i == 1)) return *i == 1;
  return wrong(**s, "true or false");
}

Status add_register_level(const Target& target, const ir::Module& module, std::vector<std::string>& flags) {
  auto s = find(target, module, "register_usage_level", "tl.ptxas_register_usage_level");
  if (!s) return s.error();
  if (!*s) return Ok{};
  auto* level = std::get_if<int64_t>(&(*s)->value);
  if (!level || *level < 0 || *level > 10) return wrong(**s, "a number from 0 to 10");
  flags.push_back("--ptxas-options=--register-usage-level=" + std::to_string(*level));
  return Ok{};
}

Status add_extra_flags(const Target& target, const ir::Module& module, std::vector<std::string>& flags) {
  auto s = find(target, module, "compile_flags", "tl.device_compile_flags");
  if (!s) return s.error();
  if (!*s) return Ok{};
  if (auto* text = std::get_if<std::string>(&(*s)->value)) return add_flags(*text, flags);
  auto* list = std::get_if<std::vector<std::string>>(&(*s)->value);
  if (!list) return wrong(**s, "a text or a list of texts");
  for (const std::string& text : *list) {
    if (auto added = add_flags(text, flags); !added) return added;
  }
  return Ok{};
}

Result<std::vector<Arch>> fatbin_archs(const Target& target, const Arch& arch) {
  auto it = target.attrs().find("code");
  auto* list = it == target.attrs().end() ? nullptr : std::get_if<std::vector<std::string>>(&it->second);
  if (!list || list->empty()) return std::vector<Arch>{arch};
  std::vector<Arch> out;
  for (const std::string& name : *list) {
    auto a = parse_arch(name, "code");
    if (!a) return a.error();
    bool again = std::any_of(out.begin(), out.end(), [&](const Arch& o) { return o.sm() == a->sm(); });
    if (!again) out.push_back(*a);
  }
  return out;
}

}  // namespace

Result<Options> options_of(const Target& target, const ir::Module& module) {
  Options o;
  auto arch = arch_of(target);
  if (!arch) return arch.error();
  o.arch = *arch;
  auto archs = fatbin_archs(target, o.arch);
  if (!archs) return archs.error();
  o.fatbin_archs = std::move(*archs);
  auto fast_math = truth(target, module, "fast_math", "tl.enable_fast_math", false);
  auto line_info = truth(target, module, "line_info", "", false);
  auto comments = truth(target, module, "line_comments", "", false);
  auto directives = truth(target, module, "line_directives", "", false);
  for (const Result<bool>* r : {&fast_math, &line_info, &comments, &directives}) {
    if (!*r) return r->error();
  }
  if (*fast_math) o.flags.emplace_back("--use_fast_math");
  if (*line_info) o.flags.emplace_back("--generate-line-info");
  o.line_comments = *comments, o.line_directives = *directives;
  for (auto* add : {add_register_level, add_extra_flags}) {
    if (auto added = add(target, module, o.flags); !added) return added.error();
  }
  return o;
}

}  // namespace kiln::cuda
