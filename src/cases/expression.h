// The arithmetic of case files: launch sizes and scalar arguments over named sizes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "kiln/error.h"

namespace kiln::cases {

using Number = std::variant<int64_t, double>;
using Names = std::map<std::string, Number, std::less<>>;

// Evaluates Python arithmetic: + - * // % /, parentheses, min, max, and tdiv and tmod that truncate. Division by zero, an integer beyond
// 64 bits, an unknown name and text that is no expression are errors.
Result<Number> evaluate(std::string_view text, const Names& names);

// The same, where a whole number is needed: a size, an integer argument. A fraction is an error.
Result<int64_t> evaluate_integer(std::string_view text, const Names& names);

}  // namespace kiln::cases
