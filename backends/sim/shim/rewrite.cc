#include "backends/sim/shim/rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace kiln::sim {

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

class Rewriter {
 public:
  explicit Rewriter(std::string_view text) : text_(text) {}

  Result<HostText> run() {
    while (at_ < text_.size()) {
      size_t begin = at_;
      if (skip_opaque()) {
        out_.text += text_.substr(begin, at_ - begin);
        continue;
      }
      if (!is_word(text_[at_])) {
        depth_ += text_[at_] == '{' ? 1 : text_[at_] == '}' ? -1 : 0;
        out_.text += text_[at_++];
        continue;
      }
      std::string_view word = take_word();
      Status ok = Ok{};
      if (word == "asm" || word == "__asm__") {
        ok = assembly(begin);
      } else if (word == "__shared__" || (word == "extern" && next_word() == "__shared__")) {
        ok = shared(begin);
      } else {
        out_.text += word;
      }
      if (!ok) return ok.error();
    }
    return std::move(out_);
  }

 private:
  // Strings, characters, comments.
  bool skip_opaque() {
    if (text_.substr(at_, 2) == "//") {
      at_ = std::min(text_.find('\n', at_), text_.size());
      return true;
    }
    if (text_.substr(at_, 2) == "/*") {
      size_t end = text_.find("*/", at_ + 2);
      at_ = end == text_.npos ? text_.size() : end + 2;
      return true;
    }
    char quote = text_[at_];
    if (quote != '"' && quote != '\'') return false;
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) at_ += text_[at_] == '\\';
    at_ = std::min(at_ + 1, text_.size());
    return true;
  }
  void skip_space() {
    while (at_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
        ++at_;
      } else if (text_.substr(at_, 2) == "//" || text_.substr(at_, 2) == "/*") {
        skip_opaque();
      } else {
        return;
      }
    }
  }
  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string_view take_word() {
    size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  std::string_view next_word() {
    size_t kept = at_;
    skip_space();
    std::string_view word = take_word();
    at_ = kept;
    return word;
  }
  Error bad(size_t begin, std::string message) const {
    auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(begin), '\n');
    return {Code::kUnsupported, std::move(message), "source.cu:" + std::to_string(line), ""};
  }
  // What was read since `begin` becomes `code`, on as many lines.
  void replace(size_t begin, const std::string& code) {
    auto lines = std::count(text_.begin() + static_cast<std::ptrdiff_t>(begin), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
    out_.text += code;
    out_.text.append(static_cast<size_t>(lines), '\n');
  }

  // String literals in a row; false when there is none.
  bool strings(std::string& out) {
    bool any = false;
    for (skip_space(); at_ < text_.size() && text_[at_] == '"'; skip_space()) {
      any = true;
      for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
        if (text_[at_] != '\\' || at_ + 1 >= text_.size()) {
          out += text_[at_];
          continue;
        }
        char c = text_[++at_];
        out += c == 'n' ? '\n' : c == 't' ? '\t' : c;
      }
      ++at_;
    }
    return any;
  }
  // "constraint"(expression), ...
  bool operands(std::vector<AsmOperand>& out) {
    skip_space();
    if (at_ < text_.size() && text_[at_] != '"') return true;  // none
    do {
      AsmOperand o;
      if (!strings(o.constraint) || !take('(')) return false;
      size_t begin = at_;
      for (int depth = 1; at_ < text_.size(); ++at_) {
        if (skip_opaque())
          --at_;
        else if (text_[at_] == '(')
          ++depth;
        else if (text_[at_] == ')' && --depth == 0)
          break;
      }
      o.expression = text_.substr(begin, at_ - begin);
      std::replace(o.expression.begin(), o.expression.end(), '\n', ' ');
      if (!take(')')) return false;
      out.push_back(std::move(o));
    } while (take(','));
    return true;
  }

  Status assembly(size_t begin) {
    Error error = bad(begin, "inline assembly of this form is not understood");
    AsmStatement s;
    if (std::string_view word = next_word(); word == "volatile" || word == "__volatile__") {
      skip_space();
      take_word();
    }
    if (!take('(') || !strings(s.text)) return error;
    for (int part = 0; take(':'); ++part) {
      std::vector<AsmOperand> clobbers;
      if (part < 2) {
        if (!operands(s.operands)) return error;
      } else {
        for (std::string name; strings(name) && take(',');) {
        }
      }
    }
    if (!take(')')) return error;
    auto code = translate(s, number_++, out_.forms);
    if (!code) return bad(begin, code.error().message);
    replace(begin, *code);
    return Ok{};
  }

  // extern __shared__ __align__(16) T name[]; or __shared__ alignas(16) T name[4];
  Status shared(size_t begin) {
    bool is_extern = text_.substr(begin, 6) == "extern";
    if (is_extern) {
      skip_space();
      take_word();
    }
    std::string declaration, name, align;
    size_t bracket = 0;  // in the declaration, where the dimensions begin
    while (at_ < text_.size() && text_[at_] != ';') {
      if (text_[at_] == '[' && bracket == 0) bracket = declaration.size();
      if (!is_word(text_[at_])) {
        declaration += text_[at_++];
        continue;
      }
      std::string_view word = take_word();
      if ((word == "alignas" || word == "__align__") && take('(')) {
        size_t end = text_.find(')', at_);
        if (end == text_.npos) break;
        align = "alignas(" + std::string(text_.substr(at_, end - at_)) + ") ";
        at_ = end + 1;
      } else {
        if (bracket == 0) name = word;
        declaration += word;
      }
    }
    if (name.empty() || !take(';') || declaration.find_first_of(",=(") != std::string::npos)
      return bad(begin, "a declaration in shared memory of this form is not understood");
    if (bracket == 0) bracket = declaration.size();
    std::string type = declaration.substr(0, declaration.rfind(name, bracket)), dims = declaration.substr(bracket);
    if (is_extern) {
      bool own_line = out_.text.empty() || out_.text.back() == '\n';
      if (depth_ == 0 && !own_line) return bad(begin, "dynamic shared memory is declared in the middle of a line");
      replace(begin, depth_ == 0 ? fmt::format("#define {} (({}*)kiln_text::dynamic_shared())", name, type)
                                 : fmt::format("{0}* {1} = ({0}*)kiln_text::dynamic_shared();", type, name));
      return Ok{};
    }
    if (depth_ == 0) return bad(begin, "a variable in shared memory outside of a function is not supported");
    replace(begin,
            fmt::format(
                "{0}static {1} kiln_place_{2}{3} __attribute__((section(\"kiln_shared\"))); auto& {2} = kiln_text::shared(kiln_place_{2});",
                align, type, name, dims));
    return Ok{};
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0, number_ = 0;
  HostText out_;
};

}  // namespace

Result<HostText> rewrite_for_host(std::string_view text, const std::vector<KernelInfo>& kernels) {
  auto out = Rewriter(text).run();
  if (!out) return out;
  std::string entries;
  for (size_t i = 0; i < kernels.size(); ++i) {
    entries += fmt::format(
        "extern \"C\" __attribute__((visibility(\"default\"))) void kiln_text_kernel_{}(void* warp, void* const* args) {{\n"
        "  kiln_text::kiln_text_run(warp, [](void* const* args) {{ kiln_text::call({}, args); }}, args, &kiln_text::current, "
        "kiln_text::static_shared_bytes());\n}}\n",
        i, kernels[i].symbol);
  }
  out->text = "#line 1 \"source.cu\"\n" + out->text + "\n" + entries +
              "extern \"C\" __attribute__((visibility(\"default\"))) unsigned kiln_text_static_shared_bytes() { return "
              "kiln_text::static_shared_bytes(); }\n";
  return out;
}

}  // namespace kiln::sim
