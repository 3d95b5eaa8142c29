// mma.sync and mma.sp: products of one warp, on the lanes' registers. Pure functions: nothing else is read or written.
//
// Formats and fragment layouts: PTX ISA 9.0, 9.7.14.5 (mma) and 9.7.14.6 (mma.sp).
// Floating-point products are accumulated one by one in float32, k ascending, from c (float64 for f64), and rounded once to f16 where d is
// f16; the order in which a tensor core rounds is not modelled. Integers wrap around, or saturate with .satfinite.
#pragma once

#include <string_view>

#include "backends/sim/matrix/format.h"
#include "backends/sim/matrix/lanes.h"
#include "kiln/error.h"

namespace kiln::sim {

// A form of mma, decoded once from its mnemonic.
struct Mma {
  int m = 0, n = 0, k = 0;
  Format a = Format::kNone, b = Format::kNone, c = Format::kNone, d = Format::kNone;
  bool row_a = true, row_b = false;  // a is row-major, b is column-major, except in m8n8k4 of f16
  bool sparse = false;               // mma.sp: a holds k / 2 elements a row
  bool saturate = false;             // .satfinite
  bool bit_and = false;              // of b1: .and.popc instead of .xor.popc
  bool containers = false;           // kind::f8f6f4 and mxf8f6f4: each element takes 8 bits
  int scales = 0;                    // with block scales: of a row of a (a column of b); 1X, 2X, 4X
  Format scale = Format::kNone;      // ue8m0 or ue4m3

  // Width of an element of a and b in a register.
  int bits() const { return containers ? 8 : bits_of(a); }
  // Registers of a lane: 32-bit ones, float64 ones for f64.
  int registers_a() const;
  int registers_b() const;
  int registers_c() const;
  int registers_d() const;
};

// The form that a mnemonic names, as "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" or
// "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32". Error: invalid_argument with what PTX does not have.
Result<Mma> parse_mma(std::string_view mnemonic);

// d = a * b + c; all 32 lanes take part. `form` is dense and without scales.
void mma(const Mma& form, const Lanes& d, const Lanes& a, const Lanes& b, const Lanes& c);

// mma.sp. `metadata`: one 32-bit register of each lane, of which `selector` says which lanes' are read (0 to 3, 0 to 1, or 0, by the form).
// Error: invalid_argument when the selector does not fit the form. Positions that the ISA calls invalid (twice the same) are added up.
Status mma_sparse(const Mma& form, const Lanes& d, const Lanes& a, const Lanes& b, const Lanes& c, const Lanes& metadata, int selector);

// Which of the scales that the lanes hold are used (PTX ISA 9.0, 9.7.14.3): the first byte of the 32-bit register, and the lane of each
// four (of each two of four for a).
struct ScaleSelector {
  int byte = 0, thread = 0;
};
// mma with .block_scale. `scale_a`, `scale_b`: one 32-bit register of each lane. Error: invalid_argument for a selector out of range.
Status mma_scaled(const Mma& form, const Lanes& d, const Lanes& a, const Lanes& b, const Lanes& c, const Lanes& scale_a,
                  ScaleSelector select_a, const Lanes& scale_b, ScaleSelector select_b);

}  // namespace kiln::sim
