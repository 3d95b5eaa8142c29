// What the printed C of one lane can do.
#pragma once

#include "target/features.h"

namespace kiln::sim {

constexpr Features features() {
  return {.float64 = true,
          .int64 = true,
          .float16_arithmetic = false,
          .bfloat16_arithmetic = false,
          .narrow_int_arithmetic = false,  // C promotes to int
          .floor_division = false,
          .max_vector_lanes = 1,
          .thread_blocks = true,
          .atomics = true,
          .pointers = true};
}

}  // namespace kiln::sim
