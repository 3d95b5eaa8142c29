// The CUDA driver, loaded when it is first needed; nothing else of the library needs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kiln/error.h"

namespace kiln::cuda {

// Types of the driver API (CUDA Driver API reference, "Data types used by CUDA driver"); handles stay opaque.
using Handle = void*;  // of a context, module, function, stream or event

struct LaunchAttribute {
  // CUlaunchAttributeID
  enum Id : int { kCooperative = 2, kClusterDimension = 4, kProgrammaticStreamSerialization = 6 };
  int id = 0;
  int pad = 0;
  union {
    uint32_t words[16] = {};  // a cluster's extents, or a flag
  };
};
struct LaunchConfig {
  uint32_t grid[3], block[3];
  uint32_t dynamic_shared_bytes;
  Handle stream;
  LaunchAttribute* attributes;
  uint32_t attribute_count;
};
static_assert(sizeof(LaunchAttribute) == 72 && sizeof(LaunchConfig) == 56);

enum class DeviceAttribute : int {
  kMaxThreadsPerBlock = 1,
  kMaxBlockX = 2,
  kMaxGridX = 5,
  kMultiprocessors = 16,
  kL2Bytes = 38,
  kMajor = 75,
  kMinor = 76,
  kMaxSharedBytesOptIn = 97,
};
enum class FunctionAttribute : int {
  kMaxThreadsPerBlock = 0,
  kSharedBytes = 1,
  kMaxDynamicSharedBytes = 8,
  kNonPortableClusterSize = 14,
};

// The entry points that are used, by the driver API reference. Each returns a CUresult: 0 is success.
struct Driver {
  int (*init)(unsigned);
  int (*version)(int*);
  int (*error_name)(int, const char**);
  int (*error_string)(int, const char**);
  int (*device_count)(int*);
  int (*device_get)(int*, int);
  int (*device_name)(char*, int, int);
  int (*device_attribute)(int*, DeviceAttribute, int);
  int (*retain_context)(Handle*, int);
  int (*current_context)(Handle*);
  int (*set_context)(Handle);
  int (*context_device)(int*);
  int (*synchronize)();
  int (*load_module)(Handle*, const void*);
  int (*unload_module)(Handle);
  int (*get_function)(Handle*, Handle, const char*);
  int (*function_attribute)(int*, FunctionAttribute, Handle);
  int (*set_function_attribute)(Handle, FunctionAttribute, int);
  int (*launch)(const LaunchConfig*, Handle, void**, void**);
  int (*allocate)(uint64_t*, size_t);
  int (*release)(uint64_t);
  int (*copy)(uint64_t, uint64_t, size_t);
  int (*set_bytes)(uint64_t, unsigned char, size_t);
  int (*create_event)(Handle*, unsigned);
  int (*destroy_event)(Handle);
  int (*record_event)(Handle, Handle);
  int (*wait_event)(Handle);
  int (*elapsed)(float*, Handle, Handle);
  // Null in drivers before 12.0.
  int (*max_cluster_size)(int*, Handle, const LaunchConfig*);
  int (*encode_tiled)(void*, int, uint32_t, void*, const uint64_t*, const uint64_t*, const uint32_t*, const uint32_t*, int, int, int, int);
  int (*encode_im2col)(void*, int, uint32_t, void*, const uint64_t*, const uint64_t*, const int*, const int*, uint32_t, uint32_t,
                       const uint32_t*, int, int, int, int);
  std::string path;
};

// A device, with its primary context, which the process keeps.
struct Gpu {
  int index = 0, handle = 0;
  Handle context = nullptr;
  std::string name;
  int major = 0, minor = 0;
  int max_threads = 0, max_shared_bytes = 0;  // of a block; shared with opt-in
  int max_block[3] = {}, max_grid[3] = {};
  int l2_bytes = 0;
};

// Where KILN_CUDA_DRIVER says, else libcuda.so.1 where the loader looks. Loaded and initialised once; a driver that is missing or finds no
// device is an error of code kToolchain.
const Result<Driver>& driver();
// "/usr/lib/libcuda.so.1, CUDA 13.0"
Result<std::string> describe_driver();

// The number of devices.
Result<int> device_count();
// Looked at once; lives as long as the process.
Result<const Gpu*> gpu(int index);

// An error of code kLaunch for a CUresult: its name and text, what was done, and a hint for those that are common.
Error failed(const Driver& driver, int result, const std::string& doing);

// Makes a context the calling thread's current one, and at the end the one before.
class CurrentContext {
 public:
  CurrentContext(const Driver& driver, Handle context) : driver_(driver) {
    driver.current_context(&before_);
    if (before_ == context) return;
    changed_ = true;
    driver.set_context(context);
  }
  ~CurrentContext() {
    if (changed_) driver_.set_context(before_);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const Driver& driver_;
  Handle before_ = nullptr;
  bool changed_ = false;
};

}  // namespace kiln::cuda
