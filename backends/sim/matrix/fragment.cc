#include "backends/sim/matrix/fragment.h"

#include <cstring>

namespace kiln::sim {
namespace {

template <int kRegisters, bool kPairs>
void gather(const Lanes& from, uint32_t* to) {
  constexpr int kWords = kPairs ? 2 * kRegisters : 4 * kRegisters;  // of a row
  for (int l = 0; l < kLanes; ++l) {
    uint32_t r[kRegisters];
    std::memcpy(r, from.at[l], sizeof r);
    uint32_t* row = to + l / 4 * kWords + l % 4;
#pragma GCC unroll 4
    for (int i = 0; i < kRegisters; ++i) row[kPairs ? i % 2 * 8 * kWords + i / 2 * 4 : i * 4] = r[i];
  }
}

// Pairs of elements move as one.
template <int kBytes, bool kGather>
void move_sums(const Lanes& lanes, int m, int n, std::byte* rows) {
  int halves = m / 8;
  std::ptrdiff_t row_bytes = n * kBytes / 2;
  for (int l = 0; l < kLanes; ++l) {
    std::byte* lane = lanes.at[l];
    std::byte* first = rows + l / 4 * row_bytes + l % 4 * kBytes;
    for (int j = 0; j < n / 8; ++j) {
      for (int h = 0; h < halves; ++h, lane += kBytes) {
        std::byte* at = first + h * 8 * row_bytes + j * 4 * kBytes;
        std::memcpy(kGather ? at : lane, kGather ? lane : at, kBytes);
      }
    }
  }
}

template <bool kGather>
void move_sums(const Lanes& lanes, int m, int n, int element, std::byte* rows) {
  switch (element) {
    case 2: return move_sums<4, kGather>(lanes, m, n, rows);
    case 4: return move_sums<8, kGather>(lanes, m, n, rows);
    default: return move_sums<16, kGather>(lanes, m, n, rows);
  }
}

}  // namespace

void gather_a(const Lanes& a, int m, int registers, uint32_t* rows) {
  if (m == 8) return gather_b(a, registers, rows);
  if (registers == 2) return gather<2, true>(a, rows);
  gather<4, true>(a, rows);
}

void gather_b(const Lanes& b, int registers, uint32_t* columns) {
  if (registers == 1) return gather<1, false>(b, columns);
  if (registers == 2) return gather<2, false>(b, columns);
  gather<4, false>(b, columns);
}

void gather_sums(const Lanes& c, int m, int n, int element, void* rows) {
  move_sums<true>(c, m, n, element, static_cast<std::byte*>(rows));
}
void scatter_sums(const void* rows, int m, int n, int element, const Lanes& d) {
  move_sums<false>(d, m, n, element, static_cast<std::byte*>(const_cast<void*>(rows)));
}

unsigned Sparsity::position(int row, int unit) const {
  int bit = 2 * unit, group = row % 8, upper = row / 8;
  int lane, shift;
  if (bits_per_row == 16) {
    lane = selector, shift = 16 * upper + bit;
  } else if (bits_per_row == 32) {
    lane = 2 * selector + (bytes ? upper : bit / 16), shift = bytes ? bit : 16 * upper + bit % 16;
  } else {
    lane = 2 * (bit / 32) + upper, shift = bit % 32;
  }
  uint32_t word;
  std::memcpy(&word, metadata->at[4 * group + lane], 4);
  return word >> shift & 3;
}

}  // namespace kiln::sim
