// The checked mode of the device: launches between start and finish are checked.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backends/sim/checker/checker.h"
#include "runtime/device.h"
#include "runtime/kernel_info.h"

namespace kiln::sim::checker {

// The key of targets whose code tells of its accesses.
constexpr const char* kTargetKey = "check";

const runtime::Checking& checking();

// The device's memory: the host's, with a record of what there is. Safe from any thread.
Result<void*> allocate(int device, size_t bytes);
void release(int device, void* memory);

// A checker of a launch, and the seed it is to run with; null while launches are not checked. args[i] points to the i-th parameter's value.
// It is the only one while it lives.
struct Checked {
  std::unique_ptr<Checker> checker;
  uint64_t seed = 0;
};
Checked check_launch(const KernelInfo& kernel, std::span<const Site> sites, int64_t threads, void* const* args);

}  // namespace kiln::sim::checker
