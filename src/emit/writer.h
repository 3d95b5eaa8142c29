// Writes indented lines of source text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::emit {

class Writer {
 public:
  explicit Writer(int indent = 2) : indent_(indent) {}

  // One line at the current depth; an empty text gives an empty line.
  void line(std::string_view text) {
    if (!text.empty()) out_.append(static_cast<size_t>(depth_) * static_cast<size_t>(indent_), ' ').append(text);
    out_.push_back('\n');
    spans_.insert(spans_.end(), 1 + static_cast<size_t>(std::count(text.begin(), text.end(), '\n')), span_);
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
  std::string take() { return std::move(out_); }
  // One for each line, 0 where none was given.
  std::vector<uint32_t> take_spans() { return std::move(spans_); }

 private:
  std::string out_;
  std::vector<uint32_t> spans_;
  uint32_t span_ = 0;
  int indent_;
  int depth_ = 0;
};

}  // namespace kiln::emit
