#include "cases/expression.h"

#include <charconv>
#include <cmath>
#include <limits>
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
  static bool less(const Number& a, const Number& b) { return whole(a, b) ? std::get<0>(a) < std::get<0>(b) : real(a) < real(b); }
  static double real(const Number& n) { return n.index() == 0 ? static_cast<double>(std::get<0>(n)) : std::get<1>(n); }

  Number sum() {
    Number v = product();
    while (!error_) {
      if (accept("+"))
        v = arithmetic('+', v, product());
      else if (accept("-"))
        v = arithmetic('-', v, product());
      else
        break;
    }
    return v;
  }
  Number product() {
    Number v = unary();
    while (!error_) {
      if (accept("//"))
        v = divide(v, unary(), true, true);
      else if (accept("*"))
        v = arithmetic('*', v, unary());
      else if (accept("%"))
        v = divide(v, unary(), true, false);
      else if (accept("/"))
        v = fraction(v, unary());
      else
        break;
    }
    return v;
  }
  Number arithmetic(char op, const Number& x, const Number& y) {
    if (!whole(x, y)) return op == '+' ? real(x) + real(y) : op == '-' ? real(x) - real(y) : real(x) * real(y);
    int64_t a = std::get<0>(x), b = std::get<0>(y), r = 0;
    bool over = op == '+'   ? __builtin_add_overflow(a, b, &r)
                : op == '-' ? __builtin_sub_overflow(a, b, &r)
                            : __builtin_mul_overflow(a, b, &r);
    if (over) fail("a result does not fit 64 bits");
    return r;
  }
  Number fraction(const Number& x, const Number& y) {
    if (real(y) == 0) return fail("division by zero"), x;
    return real(x) / real(y);
  }
  // Quotient or remainder, floored or truncated.
  Number divide(Number x, Number y, bool floor, bool quotient) {
    if (real(y) == 0) return fail("division by zero"), x;
    if (!whole(x, y)) {
      double q = floor ? std::floor(real(x) / real(y)) : std::trunc(real(x) / real(y));
      return quotient ? q : real(x) - q * real(y);
    }
    int64_t a = std::get<0>(x), b = std::get<0>(y);
    if (b == -1) return quotient ? arithmetic('-', int64_t{0}, x) : Number(int64_t{0});
    int64_t q = a / b, r = a % b;
    if (floor && r != 0 && (r < 0) != (b < 0)) --q, r += b;
    return quotient ? q : r;
  }
  Number unary() {
    if (++depth_ > 200) return fail("nested too deeply"), Number(int64_t{0});
    Number v = int64_t{0};
    if (accept("-9223372036854775808"))
      v = INT64_MIN;  // its digits alone are no int64
    else
      v = accept("-") ? negate(unary()) : accept("+") ? unary() : primary();
    --depth_;
    return v;
  }
  Number negate(const Number& n) { return n.index() == 0 ? arithmetic('-', int64_t{0}, n) : Number(-real(n)); }

  Number primary() {
    if (accept("(")) {
      Number v = sum();
      if (!accept(")")) fail("expected ')'");
      return v;
    }
    if (at_ < s_.size() && (is_digit(s_[at_]) || s_[at_] == '.')) return number();
    size_t end = at_;
    while (end < s_.size() && (std::isalnum(static_cast<unsigned char>(s_[end])) || s_[end] == '_')) ++end;
    std::string_view word = s_.substr(at_, end - at_);
    at_ = end;
    if (word.empty()) return fail("expected a number or a name"), Number(int64_t{0});
    if (word == "min" || word == "max" || word == "tdiv" || word == "tmod") return function(word);
    if (word == "NaN" || word == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (word == "Infinity" || word == "inf") return std::numeric_limits<double>::infinity();
    auto it = names_.find(word);
    if (it == names_.end()) return fail("'" + std::string(word) + "' is not known"), Number(int64_t{0});
    return it->second;
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  // Digits alone are an integer; a point or an exponent makes a double.
  Number number() {
    const char *begin = s_.data() + at_, *end = s_.data() + s_.size();
    int64_t i = 0;
    double d = 0;
    auto [after_i, error_i] = std::from_chars(begin, end, i);
    auto [after_d, error_d] = std::from_chars(begin, end, d);
    if (error_d != std::errc()) return fail("'" + std::string(s_.substr(at_, 30)) + "' is not a number"), Number(int64_t{0});
    at_ += static_cast<size_t>(after_d - begin);
    if (after_d != after_i) return d;
    if (error_i != std::errc()) fail("an integer does not fit 64 bits");
    return i;
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
      if (name == "min" ? less(n, best) : less(best, n)) best = n;
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

Result<int64_t> evaluate_integer(std::string_view text, const Names& names) {
  auto n = evaluate(text, names);
  if (!n) return n.error();
  if (n->index() == 0) return std::get<0>(*n);
  double d = std::get<1>(*n);
  if (d == std::trunc(d) && std::fabs(d) < 0x1p63) return static_cast<int64_t>(d);
  return Error{Code::kParse, "expected a whole number from the expression '" + std::string(text.substr(0, 100)) + "'", "", ""};
}

}  // namespace kiln::cases
