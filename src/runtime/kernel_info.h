// What a printed source contains: the contract between a printer, a toolchain and the module that launches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/dtype.h"

namespace kiln {

struct KernelParam {
  std::string name;    // the user's name, for messages
  ir::DataType dtype;  // element type of a pointer, type of a scalar; kVoid for a pointer to unknown elements
  bool is_pointer = false;
  bool is_read_only = false;  // the kernel only reads through it
  // Declared shape of a pointer's buffer: -1 for a dimension that is not constant. A buffer flattened by the compiler has one dimension,
  // which bounds the number of elements and says nothing of the rank. Empty: not declared.
  std::vector<int64_t> shape;
  bool is_tensor_map = false;  // no pointer: an opaque descriptor of 128 bytes by value; callers pass its address
  int alignment = 0;           // bytes that a pointer's accesses need; 0: those of its element
};

enum class CallConvention : uint8_t {
  kPlain,         // <ret> symbol(parameters...)
  kTvmFfiPacked,  // int32_t symbol(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result)
};

struct KernelInfo {
  std::string name;    // by which the module hands it out: the module's global_symbol
  std::string symbol;  // the identifier in the source
  CallConvention convention = CallConvention::kPlain;
  std::vector<KernelParam> params;         // in the kernel's order; the packed convention's are its own four
  std::vector<std::string> launch_params;  // tags of the launch values that follow the arguments ("blockIdx.x", ...); none on a CPU
  bool cooperative = false;                // its blocks wait for each other: all of them must be on the device at once
  bool dependent_launch = false;           // it may start before the kernel ahead of it in the stream has ended
  std::string entry = {};  // what a compiled library calls it; empty: kiln_entry_<index>, or the symbol where the convention is packed
};

// Where in the user's program the lines of a text come from, from `line` (1 is the first) to the next LinePlace.
struct LinePlace {
  int line = 0;
  std::string place;  // "gemm.py:21"
};

struct Source {
  std::string format;  // the language, as inspect_source answers to it
  std::string text;    // self-contained and readable
  // Text appended to `text` only when it is compiled to be loaded. For each kPlain kernel it defines
  //   int32_t kiln_entry_<index in kernels>(void* const* args)
  // where args[i] points to the i-th argument's value (a pointer or a scalar of exactly its type); the result is the kernel's own int32 or
  // 0.
  std::string entry_text;
  std::vector<KernelInfo> kernels;
  std::vector<LinePlace> places = {};  // sorted by line; empty: not known
  // When the text can fail at run time (an assert) it defines `const char* kiln_last_error(void)`: "ErrorKind: message" of the failure on
  // this thread, after a kernel returned nonzero.
};

}  // namespace kiln
