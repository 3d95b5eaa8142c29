#include "backends/sim/matrix/mnemonic.h"

#include <algorithm>
#include <charconv>

namespace kiln::sim {

int number(std::string_view text) {
  int value = -1;
  auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  return fault == std::errc() && end == text.data() + text.size() && value >= 0 ? value : -1;
}

Mnemonic::Mnemonic(std::string_view text) : text_(text) {
  for (size_t at = 0; at <= text.size();) {
    size_t end = std::min(text.find('.', at), text.size());
    words_.push_back(text.substr(at, end - at));
    at = end + 1;
  }
}

bool Mnemonic::take(std::string_view word) {
  auto it = std::find(words_.begin(), words_.end(), word);
  if (it == words_.end()) return false;
  words_.erase(it);
  return true;
}

std::string_view Mnemonic::take_first(std::string_view one, std::string_view other) {
  auto it = std::find_if(words_.begin(), words_.end(), [&](std::string_view w) { return w == one || w == other; });
  if (it == words_.end()) return {};
  std::string_view taken = *it;
  words_.erase(it);
  return taken;
}

std::string_view Mnemonic::take_after(std::string_view prefix) {
  for (auto it = words_.begin(); it != words_.end(); ++it) {
    if (!it->starts_with(prefix)) continue;
    std::string_view rest = it->substr(prefix.size());
    words_.erase(it);
    return rest;
  }
  return {};
}

bool Mnemonic::take_shape(int& m, int& n, int& k) {
  for (auto it = words_.begin(); it != words_.end(); ++it) {
    size_t at_n = it->find('n'), at_k = it->find('k');
    if (!it->starts_with('m') || at_n == it->npos || at_k == it->npos || at_k < at_n) continue;
    int found_m = number(it->substr(1, at_n - 1)), found_n = number(it->substr(at_n + 1, at_k - at_n - 1));
    int found_k = number(it->substr(at_k + 1));
    if (found_m < 0 || found_n < 0 || found_k < 0) continue;
    m = found_m, n = found_n, k = found_k;
    words_.erase(it);
    return true;
  }
  return false;
}

Format Mnemonic::take_format() {
  for (auto it = words_.begin(); it != words_.end(); ++it) {
    Format f = format_named(*it);
    if (f == Format::kNone) continue;
    words_.erase(it);
    return f;
  }
  return Format::kNone;
}

void Mnemonic::take_shared() {
  if (!take("shared")) take("shared::cta");
}

Status Mnemonic::done() const {
  if (words_.empty()) return Ok{};
  return error("'" + std::string(words_[0]) + "' was not expected");
}

Error Mnemonic::error(const std::string& what) const {
  return {Code::kUnsupported, "'" + std::string(text_) + "': " + what, "", "see the forms in the PTX ISA"};
}

}  // namespace kiln::sim
