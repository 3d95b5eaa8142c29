// Copies between global and shared memory, as calls have them.
#pragma once

#include <cstdint>
#include <optional>

#include "intrinsics/arguments.h"

namespace kiln::intrinsics {

// cp.async of one thread: tl.ptx_cp_async, tirx.ptx_cp_async, tirx.s_tir.cp_async_raw.
struct AsyncCopy {
  Operand to, from;                     // shared and global memory
  int64_t bytes = -1;                   // -1: not constant, or not known
  const ir::Expr* condition = nullptr;  // where it is false, zeros are written; null: none
};
// No pointer is set where the call has too few or too many arguments or those of other kinds.
AsyncCopy async_copy_of(const ir::Call* c);

// cp.async.bulk.tensor, between a box of a tensor that a map describes and shared memory: tl.tma_load, tl.tma_load_im2col,
// tl.tma_load_multicast, tl.tma_load_gather4; tl.tma_store, tl.tma_store_scatter4 (PTX ISA 9.0, 9.7.9.25.5).
struct TensorCopy {
  bool is_store = false, adds = false;  // adds: to what is there (cp.reduce.async.bulk.tensor)
  bool im2col = false, rows = false;    // rows: of a matrix, a column and four row numbers as coordinates (gather4, scatter4)
  bool pair = false;                    // the barrier is that of the first block of a pair
  const ir::Expr *map = nullptr, *barrier = nullptr, *shared = nullptr;  // a store has no barrier
  const ir::Expr* blocks = nullptr;                                      // of a multicast: a mask
  int rank = 0;                                                          // of the tensor: 1 to 5
  ir::List<const ir::Expr*> coordinates;                                 // innermost first
  ir::List<const ir::Expr*> offsets;                                     // of im2col, in all dimensions but two
  int64_t hint = 0;                                                      // for the L2 cache: 0 none, 1 evict first, 2 evict last
};
// None for other operators, calls without a map, and numbers of arguments and constants that no such copy has.
std::optional<TensorCopy> tensor_copy_call(const ir::Call* c);

// cp.async.bulk, of bytes: tl.tma_load and tl.tma_store without a map.
struct BulkCopy {
  bool is_store = false;
  const ir::Expr *shared = nullptr, *global = nullptr, *barrier = nullptr, *bytes = nullptr;
  int64_t hint = 0;
};
// None for other operators, calls with a map, and numbers of arguments and constants that no such copy has.
std::optional<BulkCopy> bulk_copy_call(const ir::Call* c);

}  // namespace kiln::intrinsics
