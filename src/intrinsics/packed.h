// Memory of 4-bit elements (int4, uint4, float4_e2m1fn), two in a byte.
#pragma once

#include "ir/ir.h"

namespace kiln::intrinsics {

// Buffers of 4-bit elements become buffers of bytes, of which a load takes a half and a store sets one; aligned vectors are whole bytes,
// seen as their elements (Op::tirx_reinterpret). Indices are flat where there is such a buffer. A store of less than a byte is a call of
// one of two external functions that the target brings, void f(uint8* byte, int half, uint32 value): set_four_bits, and where the other
// half may be another thread's, set_four_bits_atomic.
const ir::Function* pack_elements(Arena& arena, const ir::Function* f);

}  // namespace kiln::intrinsics
