// Launch values: the extents of cluster, grid and block, and the bytes of dynamic shared memory, that follow a kernel's arguments.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "kiln/error.h"
#include "runtime/arguments.h"
#include "runtime/kernel_info.h"

namespace kiln::runtime {

// Where each goes in an array of kLaunchValues numbers: three extents (x, y, z) from kCluster, kGrid and kBlock on, then the bytes.
constexpr int kCluster = 0, kGrid = 3, kBlock = 6, kSharedBytes = 9, kLaunchValues = 10;

// For each launch parameter of the kernel, in its order, where its value goes. A name that is none of them is an error of code
// kUnsupported.
Result<std::vector<int>> launch_places(const KernelInfo& kernel);

// That array: extents that the kernel has no parameter for are 1, the bytes 0.
template <class T>
std::array<T, kLaunchValues> launch_values(std::span<const int> places, const Slot* values) {
  std::array<T, kLaunchValues> out = {1, 1, 1, 1, 1, 1, 1, 1, 1, 0};
  for (size_t i = 0; i < places.size(); ++i) out[static_cast<size_t>(places[i])] = static_cast<T>(values[i].integer);
  return out;
}

}  // namespace kiln::runtime
