// What C on a CPU can do.
#pragma once

#include "target/features.h"

namespace kiln::c {

constexpr Features features() {
  return {.float64 = true,
          .int64 = true,
          .float16_arithmetic = false,
          .bfloat16_arithmetic = false,
          .narrow_int_arithmetic = false,  // C promotes to int
          .floor_division = false,
          .max_vector_lanes = 1,  // lane loops, which the compiler vectorises
          .thread_blocks = false,
          .pointers = true};
}

}  // namespace kiln::c
