#include "backends/sim/runtime/spares.h"

#include <sys/mman.h>

#include "backends/sim/runtime/launch.h"

namespace kiln::sim {

namespace {

constexpr size_t kKeptFibers = 2048, kKeptMemory = 64;  // of each size; fibers beyond that are those of a launch that was parked whole

void release(int blocks, std::byte* memory) { munmap(memory, static_cast<size_t>(blocks) << SIM_RANK_SHIFT); }

}  // namespace

Spares& Spares::global() {
  static auto* spares = new Spares;  // never destroyed: a thread may still run at the end of the process
  return *spares;
}

std::unique_ptr<Fiber> Spares::take_fiber(size_t stack_bytes) {
  {
    std::lock_guard lock(mutex_);
    auto& kept = fibers_[stack_bytes];
    if (!kept.empty()) {
      auto fiber = std::move(kept.back());
      kept.pop_back();
      return fiber;
    }
  }
  auto fiber = std::make_unique<Fiber>(stack_bytes);
  return fiber->is_valid() ? std::move(fiber) : nullptr;
}

void Spares::give_fiber(size_t stack_bytes, std::unique_ptr<Fiber> fiber) {
  std::lock_guard lock(mutex_);
  auto& kept = fibers_[stack_bytes];
  if (fiber && kept.size() < kKeptFibers) kept.push_back(std::move(fiber));
}

std::byte* Spares::take_memory(int blocks) {
  {
    std::lock_guard lock(mutex_);
    auto& kept = memory_[blocks];
    if (!kept.empty()) {
      std::byte* memory = kept.back();
      kept.pop_back();
      return memory;
    }
  }
  void* memory =
      mmap(nullptr, static_cast<size_t>(blocks) << SIM_RANK_SHIFT, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* base = static_cast<std::byte*>(memory);
  for (size_t rank = 0; rank < static_cast<size_t>(blocks); ++rank) {
    if (mprotect(base + (rank << SIM_RANK_SHIFT), static_cast<size_t>(kMaxSharedBytes), PROT_READ | PROT_WRITE) != 0) {
      release(blocks, base);
      return nullptr;
    }
  }
  return base;
}

void Spares::give_memory(int blocks, std::byte* memory) {
  std::lock_guard lock(mutex_);
  auto& kept = memory_[blocks];
  if (kept.size() < kKeptMemory) {
    kept.push_back(memory);
  } else {
    release(blocks, memory);
  }
}

}  // namespace kiln::sim
