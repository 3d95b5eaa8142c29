// Long lines of C-like text.
#pragma once

#include <string>
#include <string_view>

namespace kiln::emit {

// A line that stands behind `indent` spaces, in pieces of at most `columns` where it can be broken: after a comma, semicolon or binary
// operator, as far out of brackets as there is one, as late as it fits. Pieces after the first are indented by 4 more. Comments,
// preprocessor lines, texts of several lines and what is inside quotes stay whole.
std::string wrap(std::string_view line, size_t columns, size_t indent);

}  // namespace kiln::emit
