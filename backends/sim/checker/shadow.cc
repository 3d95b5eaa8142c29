#include "backends/sim/checker/shadow.h"

namespace kiln::sim::checker {

void Shadow::start(size_t index) {
  pages_[index].shift = kWidest;
  pages_[index].cells.assign(kPage >> kWidest, Cell{});
  touched_.push_back(index);
}

void Shadow::split(Page& page, uint8_t shift) {
  std::vector<Cell> cells;
  size_t copies = size_t{1} << (page.shift - shift);
  cells.reserve(kPage >> shift);
  for (Cell& cell : page.cells) {
    cells.insert(cells.end(), copies, cell);
    if (!cell.more) continue;
    for (size_t i = cells.size() - copies + 1; i < cells.size(); ++i) {
      cells[i].more = 0;
      std::vector<Entry> entries = more(cell);  // a copy: the next line may move the pool
      more(cells[i]) = std::move(entries);
    }
  }
  page.cells = std::move(cells);
  page.shift = shift;
}

std::vector<Entry>& Shadow::more(Cell& cell) {
  if (!cell.more) {
    if (free_.empty()) {
      more_.emplace_back();
      free_.push_back(static_cast<uint32_t>(more_.size() - 1));
    }
    cell.more = free_.back();
    free_.pop_back();
  }
  return more_[cell.more];
}

void Shadow::drop_more(Cell& cell) {
  if (!cell.more) return;
  more_[cell.more].clear();
  free_.push_back(cell.more);
  cell.more = 0;
}

void Shadow::reset() {
  for (size_t index : touched_) pages_[index].cells.clear();
  touched_.clear();
  more_.resize(1);
  free_.clear();
}

}  // namespace kiln::sim::checker
