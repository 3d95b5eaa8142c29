// Writes indented lines of source text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "emit/wrap.h"

namespace kiln::emit {

class Writer {
 public:
  explicit Writer(int indent = 2) : indent_(indent) {}

  // One line at the current depth, or several where it is longer than 120 columns; an empty text gives an empty line.
  void line(std::string_view text) {
    size_t indent = static_cast<size_t>(depth_) * static_cast<size_t>(indent_);
    std::string shown = wrap(text, 120, indent);
    if (!text.empty()) out_.append(indent, ' ').append(shown);
    out_.push_back('\n');
    spans_.push_back(span_);
    uint32_t further = text.size() == shown.size() ? span_ : 0;
    spans_.insert(spans_.end(), static_cast<size_t>(std::count(shown.begin(), shown.end(), '\n')), further);
  }
  void open(std::string_view head) {  // "head {" and one level deeper
    line(head.empty() ? "{" : std::string(head) + " {");
    ++depth_;
  }
  void close(std::string_view tail = "}") {
    --depth_;
    line(tail);
  }
  // "} middle {": the end of one block and the start of the next.
  void next(std::string_view middle) {
    --depth_;
    open("} " + std::string(middle));
  }
  // The lines that follow come from this place: an index into the module's spans. 0 leaves it as it was.
  void at(uint32_t span) {
    if (span) span_ = span;
  }
  int depth() const { return depth_; }
  size_t lines() const { return spans_.size(); }  // so far
  std::string take() { return std::move(out_); }
  // One for each line, 0 where none was given and for what a long line goes on with.
  std::vector<uint32_t> take_spans() { return std::move(spans_); }

 private:
  std::string out_;
  std::vector<uint32_t> spans_;
  uint32_t span_ = 0;
  int indent_;
  int depth_ = 0;
};

}  // namespace kiln::emit
