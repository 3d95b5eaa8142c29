// What may name a target kind or a backend: what the text form of a target can say.
#pragma once

#include <algorithm>
#include <string_view>

namespace kiln::registry {

inline bool is_name(std::string_view text) {
  auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
  };
  return !text.empty() && text.size() <= 100 && text[0] != '-' && std::all_of(text.begin(), text.end(), allowed);
}

}  // namespace kiln::registry
