#include "emit/wrap.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace kiln::emit {

namespace {

// A place where a line can be broken: behind the character before `at`. What binds less is broken first.
struct Break {
  size_t at;
  int depth;     // inside so many brackets
  int strength;  // of the operator
};

// How strongly what ends in `word` holds together with what follows: a comma or semicolon, or an operator between two operands (never "=",
// whose right side stays beside it); -1 for what is never broken.
int strength_of(std::string_view word) {
  if (word.ends_with(',') || word.ends_with(';')) return 0;
  static constexpr std::string_view by_strength[] = {"? :", "||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %"};
  for (size_t i = 0; i < std::size(by_strength); ++i) {
    for (std::string_view rest = by_strength[i]; !rest.empty();) {
      size_t end = std::min(rest.find(' '), rest.size());
      if (rest.substr(0, end) == word) return static_cast<int>(i) + 1;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return -1;
}

std::vector<Break> breaks_of(std::string_view line) {
  std::vector<Break> all;
  int depth = 0;
  char quote = 0;
  size_t word = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    char c = line[i];
    if (quote) {
      if (c == '\\') ++i;
      if (c == quote) quote = 0;
      continue;
    }
    if (c == '"' || c == '\'') quote = c;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (c != ' ') continue;
    if (int strength = strength_of(line.substr(word, i - word)); strength >= 0) all.push_back({i + 1, depth, strength});
    word = i + 1;
  }
  return all;
}

}  // namespace

std::string wrap(std::string_view line, size_t columns, size_t indent) {
  bool whole = line.size() + indent <= columns || line.starts_with("#") || line.starts_with("//") || line.find('\n') != line.npos;
  if (whole) return std::string(line);
  std::vector<Break> breaks = breaks_of(line);
  std::string out;
  size_t start = 0, next = 0, before = indent;
  while (line.size() - start + before > columns) {
    const Break* best = nullptr;
    for (size_t i = next; i < breaks.size(); ++i) {
      bool fits = breaks[i].at - 1 - start + before <= columns;  // the space falls away
      if (best && !fits) break;
      if (!best || std::pair(breaks[i].depth, breaks[i].strength) <= std::pair(best->depth, best->strength))
        best = &breaks[i], next = i + 1;
    }
    if (!best) break;
    before = indent + 4;
    out.append(line, start, best->at - 1 - start).append("\n").append(before, ' ');
    start = best->at;
  }
  return out.append(line, start);
}

}  // namespace kiln::emit
