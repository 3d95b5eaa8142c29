// Checks a kernel's arguments and lays their values out for its entry.
#pragma once

#include <tvm/ffi/c_api.h>

#include <span>
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

// What is wrong with the arguments, for the caller to put the kernel's name before.
struct Fault {
  const char* kind = nullptr;  // tvm-ffi's kind of error: "TypeError" or "ValueError"; null when nothing is wrong
  std::string message;
  explicit operator bool() const { return kind != nullptr; }
};

// Where tensors must be: on what type of device (a DLDeviceType), what other types' memory those reach (pinned, managed), and on which
// device: -1 is any, and becomes that of the first tensor.
struct Place {
  int type;
  std::span<const int> reaches;
  int device = -1;
};

// Fills slots[i] from args[i] for every parameter, and after those for every launch parameter: "parameter 'A' (argument 0): expected ...,
// got ...". Allocates only for a fault. A tensor must be in memory that devices of the place's type read, of the parameter's dtype (the
// 8-bit integers and bool pass for each other, so do float8_e4m3 and float8_e4m3fn, and an unsigned integer for a small float of its
// width), compact, aligned to its element, and of the declared shape; an empty one may have no memory. A raw pointer is trusted, but for an
// alignment that the parameter asks for. An integer must be in its parameter's range and passes for a float; a float does not pass for an
// integer. 64-bit unsigned parameters take any int64, by its bits.
Fault bind_arguments(const KernelInfo& kernel, const TVMFFIAny* args, int32_t count, Slot* slots, Place& place);

}  // namespace kiln::runtime
