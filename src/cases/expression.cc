#include "cases/expression.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

namespace kiln::cases {

namespace {

class Evaluator {
 public:
  Evaluator(std::string_view text, const Names& names) : s_(text), names_(names) {}

  Result<Number> run() {
    Number v = sum();
    skip();
    if (!error_ && at_ != s_.size()) fail("unexpected '" + std::string(s_.substr(at_, 10)) + "'");
    if (error_) return *error_;
    return v;
  }

 private:
  void fail(std::string what) {
    if (!error_) error_ = Error{Code::kParse, "in the expression '" + std::string(s_.substr(0, 100)) + "': " + what, "", ""};
  }
  void skip() {
    while (at_ < s_.size() && s_[at_] == ' ') ++at_;
  }
  bool accept(std::string_view token) {
    skip();
    if (s_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  static bool whole(const Number& a, const Number& b) { return a.index() == 0 && b.index() == 0; }
  static double real(const Number& n) { return n.index() == 0 ? static_cast<double>(std::get<0>(n)) : std::get<1>(n); }
  static uint64_t u(const Number& n) { return static_cast<uint64_t>(std::get<0>(n)); }

  Number sum() {
    Number v = product();
    while (!error_) {
      if (accept("+")) {
        Number b = product();
        v = whole(v, b) ? Number(static_cast<int64_t>(u(v) + u(b))) : Number(real(v) + real(b));
      } else if (accept("-")) {
        Number b = product();
        v = whole(v, b) ? Number(static_cast<int64_t>(u(v) - u(b))) : Number(real(v) - real(b));
      } else {
        break;
      }
    }
    return v;
  }
  Number product() {
    Number v = unary();
    while (!error_) {
      if (accept("//"))
        v = divide(v, unary(), true, true);
      else if (accept("*")) {
        Number b = unary();
        v = whole(v, b) ? Number(static_cast<int64_t>(u(v) * u(b))) : Number(real(v) * real(b));
      } else if (accept("%"))
        v = divide(v, unary(), true, false);
      else if (accept("/"))
        v = Number(real(v) / real(unary()));
      else
        break;
    }
    return v;
  }
  // Quotient or remainder, floored or truncated.
  Number divide(Number x, Number y, bool floor, bool quotient) {
    if (!whole(x, y)) {
      double q = floor ? std::floor(real(x) / real(y)) : std::trunc(real(x) / real(y));
      return quotient ? q : real(x) - q * real(y);
    }
    int64_t a = std::get<0>(x), b = std::get<0>(y);
    if (b == 0) return fail("division by zero"), Number(int64_t{0});
    if (b == -1) return quotient ? Number(static_cast<int64_t>(0 - static_cast<uint64_t>(a))) : Number(int64_t{0});
    int64_t q = a / b, r = a % b;
    if (floor && r != 0 && (r < 0) != (b < 0)) --q, r += b;
    return quotient ? q : r;
  }
  Number unary() {
    if (++depth_ > 200) return fail("nested too deeply"), Number(int64_t{0});
    Number v = accept("-") ? negate(unary()) : primary();
    --depth_;
    return v;
  }
  static Number negate(const Number& n) { return n.index() == 0 ? Number(static_cast<int64_t>(0 - u(n))) : Number(-real(n)); }

  Number primary() {
    skip();
    if (accept("(")) {
      Number v = sum();
      if (!accept(")")) fail("expected ')'");
      return v;
    }
    size_t end = at_;
    while (end < s_.size() && (std::isalnum(static_cast<unsigned char>(s_[end])) || s_[end] == '_' || s_[end] == '.')) ++end;
    std::string_view word = s_.substr(at_, end - at_);
    at_ = end;
    if (word.empty()) return fail("expected a number or a name"), Number(int64_t{0});
    if (std::isdigit(static_cast<unsigned char>(word[0])) || word[0] == '.') return number(word);
    if (word == "min" || word == "max" || word == "tdiv" || word == "tmod") return function(word);
    auto it = names_.find(word);
    if (it == names_.end()) return fail("'" + std::string(word) + "' is not known"), Number(int64_t{0});
    return it->second;
  }
  Number number(std::string_view word) {
    if (word.find_first_of(".e") == word.npos) {
      int64_t v = 0;
      auto [p, ec] = std::from_chars(word.data(), word.data() + word.size(), v);
      if (ec != std::errc() || p != word.data() + word.size()) fail("'" + std::string(word) + "' is not a number");
      return v;
    }
    double v = 0;
    auto [p, ec] = std::from_chars(word.data(), word.data() + word.size(), v);
    if (ec != std::errc() || p != word.data() + word.size()) fail("'" + std::string(word) + "' is not a number");
    return v;
  }
  Number function(std::string_view name) {
    if (!accept("(")) fail("expected '('");
    std::vector<Number> args;
    while (!error_) {
      args.push_back(sum());
      if (!accept(",")) break;
    }
    if (!accept(")")) fail("expected ')'");
    bool two = name[0] == 't';
    if (error_ || (two && args.size() != 2)) return fail(std::string(name) + " takes two arguments"), Number(int64_t{0});
    if (name == "tdiv") return divide(args[0], args[1], false, true);
    if (name == "tmod") return divide(args[0], args[1], false, false);
    Number best = args[0];
    for (const Number& n : args) {
      if (name == "min" ? real(n) < real(best) : real(n) > real(best)) best = n;
    }
    return best;
  }

  std::string_view s_;
  const Names& names_;
  size_t at_ = 0;
  int depth_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Result<Number> evaluate(std::string_view text, const Names& names) { return Evaluator(text, names).run(); }

int64_t as_integer(const Number& n) { return n.index() == 0 ? std::get<0>(n) : static_cast<int64_t>(std::get<1>(n)); }

}  // namespace kiln::cases
