// Devices that kernels run on: what a backend brings so that shared code can hold memory there and time launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/error.h"

namespace kiln::runtime {

// A tensor map (a descriptor of a tensor in global memory, for copies by hardware), as the host code of lowered programs describes it.
// Lists are innermost dimension first; numbers without a unit are the vendor's enumerators.
struct TensorMap {
  bool im2col = false;
  int64_t dtype = 0;
  void* base = nullptr;
  std::vector<int64_t> dims;             // elements
  std::vector<int64_t> strides;          // bytes, of every dimension but the innermost
  std::vector<int64_t> box;              // elements; not for im2col
  std::vector<int64_t> element_strides;  // elements
  std::vector<int64_t> lower, upper;     // im2col: corners of the pixel box, for every dimension but the outermost and the innermost
  int64_t pixels = 0, channels = 0;      // im2col: per column, per pixel
  int64_t interleave = 0, swizzle = 0, l2_promotion = 0, oob_fill = 0;
};
constexpr size_t kTensorMapBytes = 128;

// A fault that a launch in checked mode has: one for each cause, with the number of times it was seen.
struct Finding {
  std::string kind;     // "race", "out_of_bounds", "misaligned", "uninitialised", "deadlock", "tx_count", "divergent_barrier", ...
  std::string kernel;   // the module's name of it
  std::string place;    // in the user's source, "gemm.py:21"; empty where the module does not say
  std::string message;  // what happened, and where else
  int64_t count = 0;
  int line = 0;             // of the printed kernel, of that place; 0: not known
  uint64_t cause = 0;       // the same for the same fault of a kernel, in every run
  int first = 0, last = 0;  // where the fault lies: from one stretch of the kernel's text to another
};

// Adds a finding, or its count where the list has one of the same cause: of the same kind, kernel and `cause`, and with a stretch in
// common. What they have in common is then where the fault lies; two that only meet where one ends and the other begins are two.
void add_finding(std::vector<Finding>& all, Finding f);

// What the accesses at one place of a kernel cost, over all its warps.
struct AccessCount {
  std::string kernel, place;  // as of findings
  int line = 0;               // of the printed kernel; 0: not known
  std::string buffer;         // empty: not known
  std::string memory;         // "shared", "global"
  std::string access;         // "read", "write", "atomic"
  int64_t requests = 0;       // instructions of a warp
  int64_t taken = 0;          // wavefronts of shared memory, sectors of global memory
  int64_t ideal = 0;          // the fewest for the same bytes
};

// A device's checked mode: launches from `start` to `finish` are watched, one at a time and in an order that the seed decides. A fault that
// ends a kernel early is a finding, no error of the launch.
struct Checking {
  const char* target_key;  // key of targets whose codegens print for it
  Status (*start)(int device, uint64_t seed, bool counts);
  std::vector<Finding> (*finish)(int device);
  std::vector<AccessCount> (*counts)(int device);  // of the launches since the last call that were to be counted
};

// One kind of device. Every function takes the number of a device; all of them are safe from any thread.
struct DeviceApi {
  const char* name;                                                      // "cpu": cpu:0 is its first device
  int dlpack_type;                                                       // DLDeviceType of its tensors
  size_t alignment;                                                      // bytes, of what `allocate` gives
  Result<std::vector<std::string>> (*list)();                            // a description of each device here
  Result<void*> (*allocate)(int device, size_t bytes);                   // at least one byte
  void (*release)(int device, void* memory);                             // null is fine
  Status (*copy)(int device, void* to, const void* from, size_t bytes);  // from or to the host's memory; waits for it
  Status (*synchronize)(int device);                                     // waits for all work, and reports its failure
  Status (*encode)(int device, const TensorMap& map, void* out);         // kTensorMapBytes, aligned to 64; null: it has none
  // Milliseconds that the device took for each of `repeat` launches: a GPU's with a cold level 2 cache, the CPU's with caches as they are.
  Result<std::vector<double>> (*time)(int device, int repeat, const std::function<Status()>& launch);
  const Checking* checking = nullptr;  // null: it has no checked mode
};

// The host's own memory.
const DeviceApi& cpu_device();

}  // namespace kiln::runtime
