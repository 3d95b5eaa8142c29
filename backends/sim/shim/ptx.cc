#include "backends/sim/shim/ptx.h"

#include <cctype>

namespace kiln::sim {

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }
bool is_opcode(char c) { return is_word(c) || c == '.' || c == ':'; }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<std::vector<PtxStatement>> run() {
    std::vector<PtxStatement> out;
    for (skip(); at_ < text_.size(); skip()) {
      auto s = statement();
      if (!s) return s.error();
      if (!s->opcode.empty() || s->kind == PtxStatement::Kind::kOpen || s->kind == PtxStatement::Kind::kClose) out.push_back(*s);
    }
    return out;
  }

 private:
  Error bad() const {
    std::string_view line = text_.substr(start_, text_.find('\n', start_) - start_);
    return {Code::kParse, "the inline assembly '" + std::string(line.substr(0, 120)) + "' is not understood", "", ""};
  }

  void skip() {
    while (at_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
        ++at_;
      } else if (text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else {
        return;
      }
    }
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  template <class Predicate>
  std::string word(Predicate is) {
    skip();
    size_t begin = at_;
    while (at_ < text_.size() && is(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  Result<PtxStatement> statement() {
    PtxStatement s;
    start_ = at_;
    if (take('{')) return (s.kind = PtxStatement::Kind::kOpen, s);
    if (take('}')) return (s.kind = PtxStatement::Kind::kClose, s);
    if (take(';')) return s;
    if (take('@')) {
      s.guard_negated = take('!');
      take('%');
      s.guard = word(is_word);
      if (s.guard.empty()) return bad();
    }
    s.opcode = word(is_opcode);
    if (s.opcode.empty()) return bad();
    if (s.opcode.ends_with(':')) {
      s.opcode.pop_back();
      s.kind = PtxStatement::Kind::kLabel;
      return s;
    }
    if (s.opcode == ".reg") {
      s.kind = PtxStatement::Kind::kRegisters;
      s.opcode = word(is_opcode).substr(1);
    }
    if (take(';')) return s;
    do {
      auto o = operand();
      if (!o) return o.error();
      s.operands.push_back(*o);
    } while (take(','));
    if (!take(';')) {
      skip();
      if (at_ < text_.size() && text_[at_] != '}') return bad();  // the last instruction needs no semicolon
    }
    return s;
  }

  Result<std::vector<PtxOperand>> list(char close) {
    std::vector<PtxOperand> out;
    do {
      auto o = operand();
      if (!o) return o.error();
      out.push_back(*o);
    } while (take(','));
    if (!take(close)) return bad();
    return out;
  }

  Result<PtxOperand> operand() {
    PtxOperand o;
    bool vector = take('{');
    if (vector || take('[')) {
      o.kind = vector ? PtxOperand::Kind::kVector : PtxOperand::Kind::kAddress;
      auto items = list(vector ? '}' : ']');
      if (!items) return items.error();
      o.items = std::move(*items);
      return o;
    }
    if (auto s = scalar(o); !s) return s.error();
    if (take('+')) o.offset = word(is_word);
    if (take('|')) {
      PtxOperand second;
      if (auto s = scalar(second); !s) return s.error();
      PtxOperand pair;
      pair.kind = PtxOperand::Kind::kPair;
      pair.items = {o, second};
      return pair;
    }
    return o;
  }

  Status scalar(PtxOperand& o) {
    skip();
    if (text_.substr(at_, 2) == "%%") {
      at_ += 2;
      o.kind = PtxOperand::Kind::kSpecial;
      o.text = word(is_opcode);
    } else if (take('%')) {
      o.text = "%" + word(is_word);
    } else {
      bool minus = take('-');
      o.text = word(is_word);
      bool number = !o.text.empty() && std::isdigit(static_cast<unsigned char>(o.text[0]));
      if (number) o.kind = PtxOperand::Kind::kNumber;
      if (minus && !number) return bad();
      if (minus) o.text = "-" + o.text;
      if (o.text == "_") o.kind = PtxOperand::Kind::kSink;
    }
    if (o.text.empty() || o.text == "%") return bad();
    return Ok{};
  }

  std::string_view text_;
  size_t at_ = 0, start_ = 0;
};

}  // namespace

Result<std::vector<PtxStatement>> parse_ptx(std::string_view text) { return Parser(text).run(); }

std::vector<std::string_view> parts_of(std::string_view opcode) {
  std::vector<std::string_view> out;
  for (size_t at = 0; at <= opcode.size();) {
    size_t end = std::min(opcode.find('.', at), opcode.size());
    out.push_back(opcode.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

}  // namespace kiln::sim
