// wgmma.mma_async: products of four warps, of matrices in shared memory (PTX ISA 9.0, 9.7.15.5). Each warp's quarter (16 of the 64 rows) is
// computed by a call of its own, so that no meeting of the warps is needed; when it is called is the scheduler's matter.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "backends/sim/matrix/descriptor.h"
#include "backends/sim/matrix/format.h"
#include "backends/sim/matrix/lanes.h"
#include "kiln/error.h"

namespace kiln::sim {

struct Wgmma {
  int n = 0, k = 0;  // m is 64
  Format a = Format::kNone, b = Format::kNone, d = Format::kNone;
  bool sparse = false, saturate = false;
  // Operands of the instruction that are constants; the mnemonic does not say them, so that they are set after parsing.
  bool negate_a = false, negate_b = false;        // imm-scale -1
  bool transpose_a = false, transpose_b = false;  // imm-trans 1: K is not innermost; 16-bit formats only
  int selector = 0;                               // sparsity

  int registers_d() const;  // 32-bit ones of a lane
};

// "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16", "wgmma.mma_async.sp.sync.aligned.m64n64k32.f32.f16.f16".
Result<Wgmma> parse_wgmma(std::string_view mnemonic);

// d = a * b + (keep ? d : 0) for warp `warp` (0 to 3) of the group. `shared` is the block's arena, in which descriptors are offsets.
// ss: a is a descriptor; rs: a are registers, four of each lane. `metadata` (sparse only, else null): one register of each lane.
// Error: invalid_argument for a descriptor that is reserved or leaves `shared`, and a selector that does not fit.
Status wgmma(const Wgmma& form, int warp, const Lanes& d, uint64_t a, uint64_t b, std::span<const std::byte> shared, bool keep,
             const Lanes* metadata = nullptr);
Status wgmma(const Wgmma& form, int warp, const Lanes& d, const Lanes& a, uint64_t b, std::span<const std::byte> shared, bool keep,
             const Lanes* metadata = nullptr);

// What the instruction reads of shared memory, in pieces of 16 bytes: of a, those of `warp`'s rows (none when `a` is null); of b, all.
Status wgmma_reads(const Wgmma& form, int warp, const uint64_t* a, uint64_t b,
                   const std::function<void(uint32_t offset, int bytes)>& visit);

}  // namespace kiln::sim
