// ldmatrix and stmatrix: 8x8 and 16x16 matrices between rows in shared memory and the lanes of a warp (PTX ISA 9.0, 9.7.14.5.15 and .16).
#pragma once

#include <string_view>

#include "backends/sim/matrix/lanes.h"
#include "kiln/error.h"

namespace kiln::sim {

struct MatrixMove {
  enum class Shape : uint8_t {
    kM8N8,    // of 16-bit elements: a row is 16 bytes
    kM16N16,  // ldmatrix.trans of 8-bit elements: a row is 16 bytes
    kM8N16,   // ldmatrix of 6-bit or 4-bit elements, unpacked to bytes: a row is 16 bytes, of which 12 or 8 are data
    kM16N8,   // stmatrix.trans of 8-bit elements: a row is 16 bytes
  };
  bool store = false;
  Shape shape = Shape::kM8N8;
  int count = 1;  // matrices: 1, 2 or 4 (1 or 2 for m16n16)
  bool trans = false;
  int packed = 0;  // width of an element in memory when it is unpacked to 8 bits: 6 or 4

  int rows() const;       // of all matrices: lane i brings the address of row i
  int registers() const;  // 32-bit ones of a lane
};

// The form that a mnemonic names, as "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16" (a state space may be left out or ::cta).
Result<MatrixMove> parse_ldmatrix(std::string_view mnemonic);
Result<MatrixMove> parse_stmatrix(std::string_view mnemonic);

// `rows.at[i]`: 16 bytes of row i for i < form.rows(); others are not looked at. The caller has checked that they lie in shared memory.
void ldmatrix(const MatrixMove& form, const Lanes& d, const Lanes& rows);
void stmatrix(const MatrixMove& form, const Lanes& rows, const Lanes& r);

}  // namespace kiln::sim
