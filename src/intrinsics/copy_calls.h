// Copies between global and shared memory, as calls have them.
#pragma once

#include <cstdint>

#include "ir/ir.h"

namespace kiln::intrinsics {

// cp.async of one thread: tl.ptx_cp_async, tirx.ptx_cp_async, tirx.s_tir.cp_async_raw.
struct AsyncCopy {
  const ir::Expr *to = nullptr, *to_offset = nullptr;      // shared memory; an offset in elements, or null
  const ir::Expr *from = nullptr, *from_offset = nullptr;  // global memory
  int64_t bytes = -1;                                      // -1: not constant, or not known
  const ir::Expr* condition = nullptr;                     // where it is false, zeros are written; null: none
};
// None of the pointers is set where the call has too few or too many arguments or those of other kinds.
AsyncCopy async_copy_of(const ir::Call* c);

}  // namespace kiln::intrinsics
