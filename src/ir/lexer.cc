#include "ir/lexer.h"

#include <cctype>

#include "ir/text.h"

namespace kiln::ir::script {

namespace {

// More than the parser takes, seen here before a file of brackets becomes as many tokens.
constexpr int kMaxBrackets = 16 * kMaxDepth;

class Lexer {
 public:
  Lexer(std::string_view text, std::string_view file) : s_(text), file_(file) {}

  Result<std::vector<Token>> run() {
    out_.reserve(s_.size() / 4);
    while (at_ < s_.size()) {
      if (line_start_ && brackets_ == 0) {
        if (auto e = indentation(); !e) return e.error();
        if (at_ >= s_.size()) break;
      }
      if (auto e = token(); !e) return e.error();
    }
    if (!out_.empty() && out_.back().kind != Token::Kind::kNewline) push(Token::Kind::kNewline, 0);
    while (indents_.size() > 1) indents_.pop_back(), push(Token::Kind::kDedent, 0);
    push(Token::Kind::kEnd, 0);
    return std::move(out_);
  }

 private:
  int column() const { return static_cast<int>(at_ - line_begin_) + 1; }
  void push(Token::Kind kind, size_t length) {
    out_.push_back({kind, s_.substr(at_, length), line_, column()});
    at_ += length;
  }
  Error error(std::string message) {
    return {Code::kParse, std::move(message), std::string(file_) + ":" + std::to_string(line_) + ":" + std::to_string(column()), ""};
  }
  void newline() {
    ++line_;
    line_begin_ = at_;
    line_start_ = true;
  }

  Status indentation() {
    size_t begin = at_;
    while (at_ < s_.size() && s_[at_] == ' ') ++at_;
    if (at_ < s_.size() && s_[at_] == '\t') return error("expected spaces as indentation, got a tab");
    if (at_ < s_.size() && (s_[at_] == '\n' || s_[at_] == '\r' || s_[at_] == '#')) return Ok{};  // an empty line has no indentation
    line_start_ = false;
    size_t width = at_ - begin;
    if (at_ >= s_.size()) return Ok{};
    if (width > indents_.back()) {
      if (indents_.size() > 4000) return error("blocks are nested too deeply");
      indents_.push_back(width);
      push(Token::Kind::kIndent, 0);
    }
    while (width < indents_.back()) {
      indents_.pop_back();
      push(Token::Kind::kDedent, 0);
      if (width > indents_.back()) return error("indentation matches no enclosing block");
    }
    return Ok{};
  }

  Status token() {
    char c = s_[at_];
    if (c == ' ' || c == '\t' || c == '\r' || c == '\f') return ++at_, Ok{};
    if (c == '#') {
      while (at_ < s_.size() && s_[at_] != '\n') ++at_;
      return Ok{};
    }
    if (c == '\n') {
      bool ends_statement = brackets_ == 0 && !out_.empty() && out_.back().kind != Token::Kind::kNewline &&
                            out_.back().kind != Token::Kind::kIndent && out_.back().kind != Token::Kind::kDedent;
      if (ends_statement) out_.push_back({Token::Kind::kNewline, s_.substr(at_, 0), line_, column()});
      ++at_;
      newline();
      return Ok{};
    }
    if (c == '\\' && at_ + 1 < s_.size() && s_[at_ + 1] == '\n') {
      at_ += 2;
      newline();
      line_start_ = false;
      return Ok{};
    }
    auto u = static_cast<unsigned char>(c);
    if (std::isalpha(u) || c == '_' || u >= 0x80) return name(), Ok{};
    if (std::isdigit(u) || (c == '.' && at_ + 1 < s_.size() && std::isdigit(static_cast<unsigned char>(s_[at_ + 1]))))
      return number(), Ok{};
    if (c == '"' || c == '\'') return string(c);
    return punctuation(c);
  }

  void name() {
    size_t n = 0;
    while (at_ + n < s_.size() &&
           (std::isalnum(static_cast<unsigned char>(s_[at_ + n])) || s_[at_ + n] == '_' || static_cast<unsigned char>(s_[at_ + n]) >= 0x80))
      ++n;
    push(Token::Kind::kName, n);
  }
  void number() {
    size_t n = 0;
    auto peek = [&](size_t ahead = 0) { return at_ + n + ahead < s_.size() ? s_[at_ + n + ahead] : '\0'; };
    auto digit = [&](size_t ahead = 0) { return std::isdigit(static_cast<unsigned char>(peek(ahead))) != 0; };
    auto letter = [&](size_t ahead = 0) { return std::isalpha(static_cast<unsigned char>(peek(ahead))) || peek(ahead) == '_'; };
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X')) {
      while (digit() || letter()) ++n;
      return push(Token::Kind::kInteger, n);
    }
    bool real = false;
    while (digit()) ++n;
    if (peek() == '.' && !letter(1)) {
      real = true, ++n;
      while (digit()) ++n;
    }
    size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
    if ((peek() == 'e' || peek() == 'E') && digit(1 + sign)) {
      real = true, n += 1 + sign;
      while (digit()) ++n;
    }
    // The compilers print variables by the name that the user gave, be it "1st".
    bool word = !real && letter();
    while (word && (digit() || letter())) ++n;
    push(word ? Token::Kind::kName : real ? Token::Kind::kReal : Token::Kind::kInteger, n);
  }
  Status string(char quote) {
    size_t n = 1;
    while (at_ + n < s_.size() && s_[at_ + n] != quote && s_[at_ + n] != '\n') n += s_[at_ + n] == '\\' ? 2 : 1;
    if (at_ + n >= s_.size() || s_[at_ + n] != quote) return error("a string without an end");
    push(Token::Kind::kString, n + 1);
    return Ok{};
  }
  Status punctuation(char c) {
    static constexpr std::string_view kTwo[] = {"==", "!=", "<=", ">=", "<<", ">>", "//", "**", "->"};
    for (std::string_view two : kTwo) {
      if (s_.substr(at_, 2) == two) return push(Token::Kind::kPunctuation, 2), Ok{};
    }
    if ((c == '(' || c == '[' || c == '{') && ++brackets_ > kMaxBrackets) return error("brackets are nested too deeply");
    if ((c == ')' || c == ']' || c == '}') && --brackets_ < 0) return error(std::string("unexpected '") + c + "'");
    if (std::string_view("()[]{}:,.=<>+-*/%&|^~@;").find(c) == std::string_view::npos) {
      auto u = static_cast<unsigned char>(c);
      return error(u >= 0x20 && u < 0x7f ? std::string("unexpected character '") + c + "'" : "unexpected byte " + std::to_string(u));
    }
    push(Token::Kind::kPunctuation, 1);
    return Ok{};
  }

  std::string_view s_, file_;
  std::vector<Token> out_;
  std::vector<size_t> indents_{0};
  size_t at_ = 0, line_begin_ = 0;
  int line_ = 1, brackets_ = 0;
  bool line_start_ = true;
};

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void append_utf8(std::string& out, unsigned code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6), out += static_cast<char>(0x80 | (code & 63));
  } else {
    out += static_cast<char>(0xe0 | code >> 12), out += static_cast<char>(0x80 | (code >> 6 & 63)),
        out += static_cast<char>(0x80 | (code & 63));
  }
}

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view text, std::string_view file) { return Lexer(text, file).run(); }

std::string place_of(const Token& t, std::string_view file) {
  return std::string(file) + ":" + std::to_string(t.line) + ":" + std::to_string(t.column);
}

Result<std::string> unescape(const Token& token, std::string_view file) {
  std::string_view s = token.text.substr(1, token.text.size() - 2);
  std::string out;
  out.reserve(s.size());
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '\\') {
      out += s[i];
      continue;
    }
    char c = ++i < s.size() ? s[i] : '\\';
    if (c >= '0' && c <= '7') {  // up to three octal digits
      unsigned code = 0;
      for (int k = 0; k < 3 && i < s.size() && s[i] >= '0' && s[i] <= '7'; ++k) code = code * 8 + static_cast<unsigned>(s[i++] - '0');
      --i;
      out += static_cast<char>(code);
    } else if (c == 'x' || c == 'u') {
      size_t digits = c == 'x' ? 2 : 4;
      unsigned code = 0;
      for (size_t k = 1; k <= digits; ++k) {
        int d = i + k < s.size() ? hex_digit(s[i + k]) : -1;
        if (d < 0) return Error{Code::kParse, "a string with a broken \\" + std::string(1, c) + " escape", place_of(token, file), ""};
        code = code * 16 + static_cast<unsigned>(d);
      }
      i += digits;
      if (c == 'x')
        out += static_cast<char>(code);
      else
        append_utf8(out, code);
    } else if (c == 'n') {
      out += '\n';
    } else if (c == 't') {
      out += '\t';
    } else if (c == 'r') {
      out += '\r';
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace kiln::ir::script
