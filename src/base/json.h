// Writing JSON by hand.
#pragma once

#include <string>
#include <string_view>

namespace kiln {

// A JSON string, quoted. What is no UTF-8 becomes U+FFFD, so that any name gives valid JSON.
std::string quote(std::string_view text);

}  // namespace kiln
