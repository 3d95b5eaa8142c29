#include "backends/sim/checker/session.h"

#include <cstring>
#include <map>
#include <mutex>
#include <optional>

namespace kiln::sim::checker {

namespace {

// Of the process: the device is one, and its checked mode is meant for one user at a time.
struct State {
  std::mutex mutex;
  std::map<const std::byte*, size_t> memory;  // bytes of each allocation
  std::optional<uint64_t> seed;               // launches are checked
  bool counts = false;                        // and their accesses are counted
  Findings findings;
  std::vector<runtime::AccessCount> counted;
};

State& state() {
  static State& instance = *new State;  // memory may be given back while the process ends
  return instance;
}

// Bytes that a pointer's buffer has, where its shape is constant; 0: not known.
size_t extent_of(const KernelParam& p) {
  if (p.shape.empty()) return 0;
  int64_t elements = 1;
  for (int64_t d : p.shape) elements = d < 0 || elements < 0 ? -1 : elements * d;
  int64_t bits = int64_t{p.dtype.bits} * std::max<int>(p.dtype.lanes, 1);
  return elements < 0 ? 0 : static_cast<size_t>((elements * bits + 7) / 8);
}

// All memory of the device, by the name of the parameter that points into it. Where that has a constant shape, it is all that is meant to
// be reached through it.
std::vector<Memory> memory_of(const KernelInfo& kernel, void* const* args) {
  struct Use {
    const KernelParam* param = nullptr;
    const std::byte* at = nullptr;
    int count = 0;
  };
  std::map<const std::byte*, Use> uses;
  State& s = state();
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const KernelParam& p = kernel.params[i];
    if (!p.is_pointer) continue;
    const std::byte* at;
    std::memcpy(&at, args[i], sizeof at);
    auto it = s.memory.upper_bound(at);
    if (it == s.memory.begin() || at > std::prev(it)->first + std::prev(it)->second) continue;
    Use& use = uses[std::prev(it)->first];
    ++use.count;
    use.param = &p, use.at = at;
  }
  std::vector<Memory> all;
  for (const auto& [base, bytes] : s.memory) {
    Use use = uses.contains(base) ? uses[base] : Use{};
    size_t extent = use.count == 1 ? extent_of(*use.param) : 0;
    if (extent && extent <= bytes - static_cast<size_t>(use.at - base))
      all.push_back({use.param->name, use.at, extent});
    else
      all.push_back({use.param ? use.param->name : "memory of no parameter", base, bytes});
  }
  return all;
}

Status start(int, uint64_t seed, bool counts) {
  std::lock_guard lock(state().mutex);
  state().seed = seed, state().counts = counts;
  return Ok{};
}

std::vector<Finding> finish(int) {
  std::lock_guard lock(state().mutex);
  state().seed.reset();
  return state().findings.take();
}

std::vector<runtime::AccessCount> counts(int) {
  std::lock_guard lock(state().mutex);
  return std::exchange(state().counted, {});
}

}  // namespace

const runtime::Checking& checking() {
  static const runtime::Checking hooks = {kTargetKey, start, finish, counts};
  return hooks;
}

Result<void*> allocate(int device, size_t bytes) {
  auto memory = runtime::cpu_device().allocate(device, bytes);
  if (!memory) return memory;
  std::lock_guard lock(state().mutex);
  state().memory[static_cast<const std::byte*>(*memory)] = bytes;
  return memory;
}

void release(int device, void* memory) {
  {
    std::lock_guard lock(state().mutex);
    state().memory.erase(static_cast<const std::byte*>(memory));
  }
  runtime::cpu_device().release(device, memory);
}

Checked check_launch(const KernelInfo& kernel, std::span<const Site> sites, int64_t threads, void* const* args) {
  State& s = state();
  std::lock_guard lock(s.mutex);
  if (!s.seed) return {};
  return {std::make_unique<Checker>(Checker::Launch{kernel.name, sites, memory_of(kernel, args), threads, s.counts ? &s.counted : nullptr},
                                    s.findings),
          *s.seed};
}

}  // namespace kiln::sim::checker
