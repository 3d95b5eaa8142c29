// Tokens of TVMScript: Python's, with indentation made explicit.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kiln/error.h"

namespace kiln::ir::script {

struct Token {
  enum class Kind : uint8_t { kName, kInteger, kReal, kString, kPunctuation, kNewline, kIndent, kDedent, kEnd };
  Kind kind;
  std::string_view text;  // a string with its quotes
  int line, column;       // from 1

  bool is(std::string_view s) const { return text == s && (kind == Kind::kPunctuation || kind == Kind::kName); }
};

// The last token is kEnd. Newlines inside brackets are dropped, comments too.
Result<std::vector<Token>> tokenize(std::string_view text, std::string_view file);

// The bytes that a string token stands for.
Result<std::string> unescape(const Token& token, std::string_view file);

// "file:line:column"
std::string place_of(const Token& token, std::string_view file);

}  // namespace kiln::ir::script
