// Between the lanes' registers and matrices in row-major order: the fragments of mma.sync (PTX ISA 9.0, 9.7.14.5.1 to .11), which wgmma
// shares for the 16 rows of a warp. Lane l has group g = l / 4 and place t = l % 4.
#pragma once

#include <cstdint>

#include "backends/sim/matrix/format.h"
#include "backends/sim/matrix/lanes.h"

namespace kiln::sim {

// a, m rows (8 or 16) of K, as words of 32 bits: register r of a lane is word 4 * (r / 2) + t of row g + 8 * (r % 2) (of 8 rows: word
// 4 * r + t of row g). `rows` takes 32 * registers words, row by row.
void gather_a(const Lanes& a, int m, int registers, uint32_t* rows);
// b, 8 columns of K: register r is word 4 * r + t of column g. `columns` takes registers * 32 words, column by column.
void gather_b(const Lanes& b, int registers, uint32_t* columns);

// Accumulators of m rows (8 or 16) and n columns (a multiple of 8): registers 2 i and 2 i + 1 hold columns 8 * (i / 2) + 2 t and the next
// of row g + 8 * (i % 2) (of 8 rows: columns 8 * i + 2 t of row g). `element`: 2, 4 or 8 bytes; `rows` is row-major, n elements a row.
void gather_sums(const Lanes& c, int m, int n, int element, void* rows);
void scatter_sums(const void* rows, int m, int n, int element, const Lanes& d);

// What element u of a sparse row stands for: units are elements (f16, bf16 and 8 bits), pairs of them (4 bits) or halves (tf32); of each
// four units of a row of a, two are stored. Bits of metadata a row: 16, 32 or 64, by the form.
struct Sparsity {
  const Lanes* metadata;
  int selector;
  int bits_per_row;
  bool bytes;  // elements have 8 bits or fewer

  // Two bits: which of its four units stored unit `unit` of row `row` (0 to 15) is.
  unsigned position(int row, int unit) const;
};
// Spreads 16 rows of `stored` decoded elements to 2 * stored columns, zeros between.
template <class T>
void spread(const Sparsity& s, Format f, const T* rows, int stored, T* to) {
  for (int i = 0; i < 16; ++i) {
    T* row = to + i * 2 * stored;
    for (int j = 0; j < 2 * stored; ++j) row[j] = 0;
    for (int e = 0; e < stored; ++e) {
      int column = f == Format::kTF32                      ? 2 * e + static_cast<int>(s.position(i, 2 * e) >> 1)
                   : bits_of(f) == 4 && f != Format::kE2M1 ? e / 4 * 8 + static_cast<int>(s.position(i, e / 2)) * 2 + e % 2
                                                           : e / 2 * 4 + static_cast<int>(s.position(i, e));
      row[column] += rows[i * stored + e];
    }
  }
}

}  // namespace kiln::sim
