// Shadow memory: who accessed each byte last.
//
// A region of memory is divided into pages of 256 bytes. A page keeps one cell for each 16 bytes until a narrower or unaligned access
// comes, which splits its cells to that size; so it is exact to the byte, and wide accesses stay cheap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kiln::sim::checker {

// What an access does. Two accesses conflict when one of them writes and not both are atomic.
enum class Access : uint8_t { kRead, kWrite, kAtomicRead, kAtomic };
constexpr bool writes(Access a) { return a == Access::kWrite || a == Access::kAtomic; }
constexpr bool is_atomic(Access a) { return a == Access::kAtomicRead || a == Access::kAtomic; }
constexpr bool conflict(Access a, Access b) { return (writes(a) || writes(b)) && !(is_atomic(a) && is_atomic(b)); }

// One access, or the same one by several lanes of an agent.
struct Entry {
  uint32_t group = 0;  // of warps, by its number in the launch
  uint16_t agent = 0;  // in the group
  uint16_t site = 0;
  uint32_t epoch = 0;  // of the agent; 0: no access
  uint32_t lanes = 0;
  Access access = Access::kRead;
  bool is_same = false;  // each of the lanes wrote the same value: a read needs to come after one of them only
};

struct Cell {
  Entry write, read;        // the last write; a read since then
  uint32_t more = 0;        // index of further accesses that are not ordered with those; 0: none
  bool is_written = false;  // ever
};

class Shadow {
 public:
  Shadow(const std::byte* base, size_t bytes) : base_(base), bytes_(bytes), pages_((bytes + kPage - 1) / kPage), more_(1) {}

  bool contains(const std::byte* at, size_t bytes) const {
    return at >= base_ && bytes <= bytes_ && static_cast<size_t>(at - base_) <= bytes_ - bytes;
  }
  const std::byte* base() const { return base_; }
  size_t bytes() const { return bytes_; }

  // Calls visit(cell, first byte, bytes) for the cells of a range inside the region, each of which the range covers whole.
  template <class F>
  void visit(const std::byte* at, size_t bytes, F&& visit) {
    size_t offset = static_cast<size_t>(at - base_), end = offset + bytes;
    while (offset < end) {
      Page& page = touch(offset / kPage);
      size_t stop = std::min(end, (offset / kPage + 1) * kPage);
      refine(page, offset, stop);
      size_t size = size_t{1} << page.shift;
      for (; offset < stop; offset += size) visit(page.cells[offset % kPage >> page.shift], base_ + offset, size);
    }
  }
  // The accesses beside those in the cell itself.
  std::vector<Entry>& more(Cell& cell);
  bool has_more(const Cell& cell) const { return cell.more != 0; }
  void drop_more(Cell& cell);
  // Forgets everything. Keeps its memory for the next use.
  void reset();

 private:
  static constexpr size_t kPage = 256;
  static constexpr uint8_t kWidest = 4;
  struct Page {
    uint8_t shift = kWidest;
    std::vector<Cell> cells;
  };
  Page& touch(size_t index) {
    Page& page = pages_[index];
    if (page.cells.empty()) start(index);
    return page;
  }
  void start(size_t index);
  void refine(Page& page, size_t begin, size_t end) {
    size_t odd = (begin | end) & ((size_t{1} << page.shift) - 1);
    if (odd) split(page, static_cast<uint8_t>(__builtin_ctzll(odd)));
  }
  void split(Page& page, uint8_t shift);

  const std::byte* base_;
  size_t bytes_;
  std::vector<Page> pages_;
  std::vector<size_t> touched_;
  std::vector<std::vector<Entry>> more_;  // the first is none's
  std::vector<uint32_t> free_;
};

}  // namespace kiln::sim::checker
