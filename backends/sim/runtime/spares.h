// Stacks and shared memory kept for the next launch: making them takes longer than running a small block.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/sim/runtime/fiber.h"

namespace kiln::sim {

// Safe from any thread.
class Spares {
 public:
  static Spares& global();

  // Null when the system has no room.
  std::unique_ptr<Fiber> take_fiber(size_t stack_bytes);
  void give_fiber(size_t stack_bytes, std::unique_ptr<Fiber> fiber);  // null is fine

  // The shared memory of a cluster: kMaxSharedBytes for each block, 1 << SIM_RANK_SHIFT apart; what lies between must not be touched. Null
  // when the system has no room.
  std::byte* take_memory(int blocks);
  void give_memory(int blocks, std::byte* memory);

 private:
  std::mutex mutex_;
  std::map<size_t, std::vector<std::unique_ptr<Fiber>>> fibers_;  // by stack size
  std::map<int, std::vector<std::byte*>> memory_;                 // by blocks
};

}  // namespace kiln::sim
