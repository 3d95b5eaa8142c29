// What a target's language and machine can do. Shared passes ask these, never a backend's name.
#pragma once

#include <cstdint>

namespace kiln {

struct Features {
  bool float64 = true;
  bool int64 = true;
  bool float16_arithmetic = false;     // else computed in float32 and rounded after each operation
  bool bfloat16_arithmetic = false;    // likewise
  bool narrow_int_arithmetic = false;  // 8- and 16-bit integers wrap by themselves; else computed in 32 bits and cast back
  bool floor_division = false;         // the language floors; else lowered to truncated division
  int max_vector_lanes = 1;            // 1: vectors are split into lanes
  int vector_access_bytes = 0;         // the widest access to memory; contiguous, aligned vector loads and stores become such accesses
  bool thread_blocks = false;          // thread_extent, barriers, shared memory
  bool atomics = false;                // atomic updates stay calls; else they become plain ones
  bool pointers = true;                // address_of and pointer arithmetic
};

// Launch limits; 0 means no limit. Bytes, threads.
struct Limits {
  int64_t max_threads_per_block = 0;
  int64_t max_block_x = 0, max_block_y = 0, max_block_z = 0;
  int64_t max_shared_bytes = 0;         // of a block, dynamic
  int64_t max_static_shared_bytes = 0;  // of a kernel, declared in its text
  int64_t max_local_bytes = 0;          // of a thread
  int64_t max_grid_x = 0, max_grid_y = 0, max_grid_z = 0;
};

}  // namespace kiln
