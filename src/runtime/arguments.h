// Checks of a kernel's arguments, worked out once for each kernel.
#pragma once

#include <tvm/ffi/c_api.h>

#include <string>
#include <vector>

#include "runtime/kernel_info.h"

namespace kiln::runtime {

// Where an argument's value lies while the kernel runs.
union Slot {
  void* pointer;
  int64_t integer;
  double f64;
  float f32;
  uint64_t bits;
};

// Fills slots[i] from args[i] for every parameter; the result is empty, or what is wrong: "parameter 'A' (argument 0): expected ...".
std::string bind_arguments(const KernelInfo& kernel, const TVMFFIAny* args, int32_t count, Slot* slots);

}  // namespace kiln::runtime
