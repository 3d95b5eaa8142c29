// Matrices in shared memory as wgmma and tcgen05 describe them: 64-bit descriptors with leading and stride offsets and swizzles
// (PTX ISA 9.0, 9.7.15.5.1 for wgmma, 9.7.16.4.1 for tcgen05; 9.7.16.3 says what the strides are).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "backends/sim/matrix/format.h"
#include "kiln/error.h"

namespace kiln::sim {

// A matrix of lines (rows of a, columns of b), each of K elements.
struct SharedMatrix {
  uint32_t start = 0;                // byte offset in shared memory
  uint32_t leading = 0, stride = 0;  // bytes
  int swizzle = 0;                   // width in bytes: 0, 32, 64 or 128
  bool pieces_of_32 = false;         // the swizzle moves 32 bytes at a time, not 16 (tcgen05's 128-byte swizzle of this kind)
  uint32_t base = 0;                 // where the swizzle's pattern begins, in rows of 128 bytes
  bool k_major = true;               // K is innermost; otherwise the lines' direction is
};

// Reads a descriptor; `k_major` comes from the instruction. Error: invalid_argument for values that are reserved.
Result<SharedMatrix> wgmma_matrix(uint64_t descriptor, bool k_major);
Result<SharedMatrix> tcgen05_matrix(uint64_t descriptor, bool k_major);

// Where 16 bytes of the matrix are: K-major: of line `outer`, bytes [16 * piece, + 16) along K; otherwise: of position `outer` of K, those
// bytes in the lines' direction. May be past the end of shared memory.
uint32_t piece_offset(const SharedMatrix& m, int outer, int piece);

// Lines first to first + lines of the matrix, of `k` elements of `container` bits each (a power of two), and what it has in shared memory.
struct SharedTile {
  SharedMatrix matrix;
  Format format = Format::kNone;
  int container = 0;
  int first = 0, lines = 0, k = 0;
};
inline constexpr int kMostTileBytes = 2048;

// Calls visit(offset, 16) for each piece.
void visit_pieces(const SharedTile& tile, const std::function<void(uint32_t offset, int bytes)>& visit);

// Decodes a tile of at most kMostTileBytes (elements in their containers): to[line * k + i], or to[i * lines + line] when `by_k`. Lines and
// k are multiples of 8 (k may be 4 by lines). Error: invalid_argument when it leaves `shared`.
Status load_tile(const SharedTile& tile, std::span<const std::byte> shared, bool by_k, float* to);
Status load_tile(const SharedTile& tile, std::span<const std::byte> shared, bool by_k, uint32_t* to);
// The bytes of a K-major tile, line by line.
Status load_bytes(const SharedTile& tile, std::span<const std::byte> shared, std::byte* to);

}  // namespace kiln::sim
