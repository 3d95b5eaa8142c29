// Tensor memory of a block: 128 lanes by 512 columns of 32 bits (PTX ISA 9.0, 9.7.16.1), its allocation, and tcgen05.ld, st, cp and shift.
// An address has the lane in its upper, the column in its lower 16 bits.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "backends/sim/matrix/lanes.h"
#include "kiln/error.h"

namespace kiln::sim {

inline constexpr int kTensorLanes = 128, kTensorColumns = 512;

struct TensorMemory {
  uint32_t word[kTensorLanes][kTensorColumns];
  uint16_t taken = 0;  // bit i: columns 32 i to 32 i + 31
  uint16_t ever_taken = 0;
  uint16_t first_of = 0;  // bit i: an allocation begins there
  bool relinquished = false;

  // Takes `columns` columns (a power of two of 32 to 512) and gives their address; nothing when there is no room now (the instruction
  // waits). Error: invalid_argument for another number of columns, or after relinquish_alloc_permit.
  Result<std::optional<uint32_t>> allocate(int columns);
  // Error: invalid_argument when `columns` columns at `address` are not one allocation.
  Status free(uint32_t address, int columns);
  // Whether the column is allocated, or was: programs free columns in one warp while others still read them, which the device lets pass as
  // long as no other block takes them.
  bool was_taken(uint32_t address) const { return (address & 0xFFFF) < kTensorColumns && (ever_taken >> ((address & 0xFFFF) / 32) & 1); }
};

// tcgen05.ld and tcgen05.st.
struct TensorMove {
  enum class Shape : uint8_t { k32x32b, k16x64b, k16x128b, k16x256b, k16x32bx2 };
  bool store = false;
  Shape shape = Shape::k32x32b;
  int count = 1;
  bool packed = false;  // .pack::16b of ld, .unpack::16b of st: two columns of 16 bits a register
  int half_offset = 0;  // of 16x32bx2: columns between the lower and the upper half; an operand, set after parsing

  int registers() const;  // 32-bit ones of a lane
};
// "tcgen05.ld.sync.aligned.32x32b.x8.b32", "tcgen05.st.sync.aligned.16x64b.x4.unpack::16b.b32".
Result<TensorMove> parse_tensor_move(std::string_view mnemonic);

// By warp `warp` of its warpgroup (0 to 3), which reaches lanes 32 * warp to 32 * warp + 31 only: an address has one of these lanes, or 0
// or 16, which then count from the warp's first.
// Error: invalid_argument for lanes of another warp, columns outside of the memory or not allocated.
Status tensor_load(const TensorMove& form, TensorMemory& memory, int warp, uint32_t address, const Lanes& r);
Status tensor_store(const TensorMove& form, TensorMemory& memory, int warp, uint32_t address, const Lanes& r);

// tcgen05.cp: from shared memory, by a descriptor.
struct TensorCopy {
  int lanes = 0, bits = 0;  // 128x256b, 4x256b, 128x128b, 64x128b, 32x128b
  bool pair = false;        // cta_group::2: to both blocks of the pair
  enum class Multicast : uint8_t { kNone, kWarpX2_02_13, kWarpX2_01_23, kWarpX4 } multicast = Multicast::kNone;
  int packed = 0;  // .b8x16.b6x16_p32: 6, .b8x16.b4x16_p64: 4
};
// "tcgen05.cp.cta_group::1.32x128b.warpx4".
Result<TensorCopy> parse_tensor_copy(std::string_view mnemonic);
// What it reads of the shared memory of each of its blocks, in pieces.
Status tensor_copy_reads(const TensorCopy& form, uint64_t descriptor, const std::function<void(uint32_t offset, int bytes)>& visit);
// Writes to one block's tensor memory (4x256b: to every 32nd lane); call it for each block of a pair with that block's `shared`.
Status tensor_copy(const TensorCopy& form, TensorMemory& memory, uint32_t address, uint64_t descriptor, std::span<const std::byte> shared);

// tcgen05.shift.down: of the 32 lanes and 8 columns from `address` on, each lane but the last gives its value to the next.
Status tensor_shift(TensorMemory& memory, uint32_t address);

}  // namespace kiln::sim
