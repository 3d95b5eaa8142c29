// Matrices in shared memory as wgmma and tcgen05 describe them: 64-bit descriptors with leading and stride offsets and swizzles
// (PTX ISA 9.0, 9.7.15.5.1 for wgmma, 9.7.16.4.1 for tcgen05; canonical layouts in 9.7.15.5.1.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "backends/sim/matrix/format.h"
#include "kiln/error.h"

namespace kiln::sim {

// A matrix of `lines` lines (rows of a, columns of b) of `k` elements.
struct SharedMatrix {
  uint32_t start = 0;                // byte offset in shared memory
  uint32_t leading = 0, stride = 0;  // bytes
  int swizzle = 0;                   // width in bytes: 0, 32, 64 or 128
  bool atom32 = false;               // tcgen05: 128-byte swizzle of 32-byte pieces
  bool k_major = true;               // K innermost; otherwise the lines' direction is
  uint32_t base_offset = 0;
};

// Reads a descriptor; `k_major` comes from the instruction. Error: invalid_argument for reserved values.
Result<SharedMatrix> wgmma_matrix(uint64_t descriptor, bool k_major);
Result<SharedMatrix> tcgen05_matrix(uint64_t descriptor, bool k_major);

// Byte offset in shared memory of 16 bytes of the matrix: K-major: of line `line`, bytes [16 * piece, +16) of its K; otherwise: of K
// `line`, bytes [16 * piece, +16) in the lines' direction.
uint32_t piece_offset(const SharedMatrix& m, int line, int piece);

// Calls visit(offset, 16) for each piece of the matrix of `lines` lines by `k_bytes` bytes (element width `element` bytes, which matters
// where K is not innermost): what an instruction reads, for bounds and races.
void visit_pieces(const SharedMatrix& m, int lines, int k, int element, const std::function<void(uint32_t offset, int bytes)>& visit);

}  // namespace kiln::sim
