// tcgen05.mma: products of one block or a pair, summed in tensor memory (PTX ISA 9.0, 9.7.16.10).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "backends/sim/matrix/descriptor.h"
#include "backends/sim/matrix/format.h"
#include "backends/sim/matrix/tensor_memory.h"
#include "kiln/error.h"

namespace kiln::sim {

enum class Tcgen05Kind : uint8_t { kF16, kTF32, kF8F6F4, kI8, kMXF8F6F4, kMXF4, kMXF4NVF4 };

struct Tcgen05Mma {
  Tcgen05Kind kind = Tcgen05Kind::kF16;
  bool pair = false, weight_stationary = false;
  int scale_block = 0;  // elements of K that share a scale: 32 or 16 with block scales, else 0
};
// "tcgen05.mma.cta_group::1.kind::f16", "tcgen05.mma.ws.cta_group::1.kind::i8",
// "tcgen05.mma.cta_group::2.kind::mxf4nvf4.block_scale.scale_vec::4X". Collector hints are accepted and have no effect; .sp and .ashift are
// refused.
Result<Tcgen05Mma> parse_tcgen05_mma(std::string_view mnemonic);

// The 32-bit instruction descriptor, decoded (9.7.16.4.2). Error: invalid_argument for what is reserved or does not fit the form.
struct Tcgen05Shape {
  int m = 0, n = 0, k = 0;
  Format a = Format::kNone, b = Format::kNone, d = Format::kNone, scale = Format::kNone;
  bool negate_a = false, negate_b = false, transpose_a = false, transpose_b = false, saturate = false;
  int scale_id_a = 0, scale_id_b = 0;  // first byte of a scale's column
};
Result<Tcgen05Shape> tcgen05_shape(const Tcgen05Mma& form, uint32_t instruction);

// Of a block and, for a pair, of the block of the odd rank.
struct Tcgen05Block {
  TensorMemory* memory = nullptr;
  std::span<const std::byte> shared;
};
struct Tcgen05Operands {
  uint32_t d = 0;                   // address in tensor memory
  bool a_in_tensor_memory = false;  // ts
  uint64_t a = 0, b = 0;            // descriptors, the same in both blocks of a pair; a may be an address in tensor memory
  uint32_t instruction = 0;
  bool keep = true;                   // add to d
  uint32_t scale_a = 0, scale_b = 0;  // addresses of block scales
  int scale_d = 0;                    // scale-input-d: d is multiplied by 2^-scale_d
  uint32_t disabled[8] = {};          // disable-output-lane: bit i of word w: lane 32 w + i (the even block's first) keeps its value
};
// Error: invalid_argument for descriptors that are reserved, leave shared memory or do not fit the form, and columns that are not
// allocated.
Status tcgen05_mma(const Tcgen05Mma& form, const Tcgen05Operands& operands, std::span<const Tcgen05Block> blocks);

// What the instruction reads of the shared memory of each of its blocks, in pieces.
Status tcgen05_reads(const Tcgen05Mma& form, const Tcgen05Operands& operands, const std::function<void(uint32_t offset, int bytes)>& visit);

}  // namespace kiln::sim
