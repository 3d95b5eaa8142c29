#include "backends/sim/matrix/fragment.h"

#include <cstring>

namespace kiln::sim {
namespace {

// Four words, which every machine that this runs on moves as one: rows are written whole, so that they can be read whole soon after.
using Words4 = uint32_t __attribute__((vector_size(16)));

Words4 load4(const std::byte* from) {
  Words4 v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
Words4 load2(const std::byte* first, const std::byte* second) {
  uint64_t pairs[2];
  std::memcpy(pairs, first, 8);
  std::memcpy(pairs + 1, second, 8);
  Words4 v;
  std::memcpy(&v, pairs, sizeof v);
  return v;
}
void store(uint32_t* to, Words4 v) { std::memcpy(to, &v, sizeof v); }

template <int kRegisters>
void gather_group(const std::byte* const* lanes, Words4* to) {  // to[r]: register r of four lanes
  if constexpr (kRegisters == 1) {
    for (int t = 0; t < 4; ++t) std::memcpy(reinterpret_cast<std::byte*>(to) + 4 * t, lanes[t], 4);
  } else if constexpr (kRegisters == 2) {
    Words4 low = load2(lanes[0], lanes[1]), high = load2(lanes[2], lanes[3]);
    to[0] = __builtin_shufflevector(low, high, 0, 2, 4, 6);
    to[1] = __builtin_shufflevector(low, high, 1, 3, 5, 7);
  } else {
    Words4 a = load4(lanes[0]), b = load4(lanes[1]), c = load4(lanes[2]), d = load4(lanes[3]);
    Words4 ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    to[0] = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    to[1] = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    ab = __builtin_shufflevector(a, b, 2, 6, 3, 7), cd = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    to[2] = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    to[3] = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
  }
}

template <int kRegisters, bool kPairs>
void gather(const Lanes& from, uint32_t* to) {
  constexpr int kWords = kPairs ? 2 * kRegisters : 4 * kRegisters;  // of a row
  for (int g = 0; g < 8; ++g) {
    Words4 r[kRegisters];
    gather_group<kRegisters>(from.at + 4 * g, r);
    for (int i = 0; i < kRegisters; ++i) store(to + g * kWords + (kPairs ? i % 2 * 8 * kWords + i / 2 * 4 : i * 4), r[i]);
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
