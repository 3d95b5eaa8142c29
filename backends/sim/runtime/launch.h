// Launches of simulated kernels.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "backends/sim/runtime/sim.h"
#include "kiln/error.h"

namespace kiln::sim::checker {
class Checker;
}

namespace kiln::sim {

// A place in a kernel where an operation stands.
struct Site {
  std::string place;   // in the user's source, "gemm.py:21"; empty: not known
  int line = 0;        // of the printed kernel; 0: not known
  std::string buffer;  // whose elements it accesses; empty: none, or not known
  int stretch = 0;     // of the kernel's text between two statements that synchronise, by its number
  int elements = 1;    // that are one access of the kernel, a vector
};

struct Kernel {
  std::string name;
  sim_kernel entry = nullptr;
  std::span<const Site> sites;         // by number; the first stands for none
  std::span<const void* const> forms;  // see sim_warp
  size_t stack_bytes = 256 << 10;      // that a warp needs
};

struct Dim3 {
  int64_t x = 1, y = 1, z = 1;
  int64_t count() const { return x * y * z; }
};

// Most of what any architecture takes; less is the business of checks before.
constexpr int64_t kMaxThreads = 1024, kMaxSharedBytes = 256 << 10, kMaxClusterBlocks = 16;

struct Launch {
  Dim3 grid, block, cluster;  // blocks, threads, blocks
  int64_t shared_bytes = 0;   // static and dynamic
  void* const* args = nullptr;
  uint64_t seed = 0;                    // of the order in which warps run and asynchronous work is done
  int threads = 0;                      // of the host; 0: one for each core
  checker::Checker* checker = nullptr;  // told all that the launch does, which runs on one thread then; null: not checked
  double patience = 10;                 // seconds that all warps may spin with nothing happening before that is an error
};

// Runs all blocks and waits for them. Blocks are spread over threads of the host; a block whose warps only wait for other blocks (they spin
// on memory, or meet at the barrier of the grid) leaves its thread to others. Shared memory is poisoned at the start of each block.
// What a kernel prints goes to standard output at the end, in the order of blocks. Safe from several threads.
// Errors: invalid_argument for dimensions that no launch can have; launch, with the place, for a kernel that traps, fails an assertion,
// uses an operation as PTX forbids it, or deadlocks; memory holds what was written so far.
Status launch(const Kernel& kernel, const Launch& launch);

}  // namespace kiln::sim
