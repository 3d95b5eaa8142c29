// The registers of a warp's lanes, as the matrix instructions see them.
#pragma once

#include <cstddef>

namespace kiln::sim {

inline constexpr int kLanes = 32;

// Where each lane keeps one operand: at[l] is lane l's first register; its further ones follow without a gap. A 32-bit register holds
// packed elements with the first in its low bits (little endian), a float64 takes 8 bytes. No alignment is asked for. Operands that an
// instruction only reads are taken by the same type and are not written; an instruction reads all of its operands before it writes, so d
// may be c.
struct Lanes {
  std::byte* at[kLanes];

  // One array of `stride` bytes a lane, the form in which simulated kernels keep registers.
  static Lanes of(void* first, std::ptrdiff_t stride) {
    Lanes lanes;
    for (int l = 0; l < kLanes; ++l) lanes.at[l] = static_cast<std::byte*>(first) + l * stride;
    return lanes;
  }
};

}  // namespace kiln::sim
