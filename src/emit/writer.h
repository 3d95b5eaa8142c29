// Writes indented lines of source text.
#pragma once

#include <string>
#include <string_view>

namespace kiln::emit {

class Writer {
 public:
  explicit Writer(int indent = 2) : indent_(indent) {}

  // One line at the current depth; an empty text gives an empty line.
  void line(std::string_view text) {
    if (!text.empty()) out_.append(static_cast<size_t>(depth_) * static_cast<size_t>(indent_), ' ').append(text);
    out_.push_back('\n');
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
  int depth() const { return depth_; }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
  int indent_;
  int depth_ = 0;
};

}  // namespace kiln::emit
