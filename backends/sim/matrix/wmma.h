// wmma: products of matrix fragments by a warp (PTX ISA 9.0, 9.7.14.4). PTX leaves open which lane holds what; here it is the element in
// row-major order, split into even runs (for a and b of f16, which hold each element twice: by 16 lanes, and again by the others).
#pragma once

#include <cstdint>
#include <string_view>

#include "backends/sim/matrix/format.h"
#include "backends/sim/matrix/lanes.h"
#include "kiln/error.h"

namespace kiln::sim {

struct Wmma {
  enum class Op : uint8_t { kLoad, kStore, kMma };
  Op op = Op::kMma;
  char role = 'd';  // of what is loaded or stored: 'a', 'b', 'c' or 'd'
  int m = 0, n = 0, k = 0;
  Format a = Format::kNone, b = Format::kNone, c = Format::kNone, d = Format::kNone;  // of a load or store: its own only
  bool row_a = true, row_b = true;                                                    // layouts of a and b, which a product only repeats
  bool row = true;                                                                    // of what is loaded or stored: row-major
  bool saturate = false, bit_and = false;

  int registers(char role) const;  // of a lane: 32-bit ones, float64 ones for f64
};

// The form that a mnemonic names: "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16", "wmma.store.d.sync.aligned.row.m16n16k16.f32",
// "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16.f16.f32" ("...f32.f32" for f16 operands is the same).
Result<Wmma> parse_wmma(std::string_view mnemonic);

// `stride`: elements from a line (a row, or a column when column-major) to the next. The bytes that are moved: see wmma_lines.
void wmma_load(const Wmma& form, const Lanes& r, const std::byte* from, int64_t stride);
void wmma_store(const Wmma& form, std::byte* to, const Lanes& r, int64_t stride);
void wmma_mma(const Wmma& form, const Lanes& d, const Lanes& a, const Lanes& b, const Lanes& c);

// What a load or store touches: `count` lines of `bytes` each, `stride` elements of `bits` apart.
struct WmmaLines {
  int count, bytes, bits;
};
WmmaLines wmma_lines(const Wmma& form);

}  // namespace kiln::sim
