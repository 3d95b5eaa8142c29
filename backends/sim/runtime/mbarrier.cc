// mbarrier objects (PTX ISA 9.0, 9.7.13.15). All of their state is in the 8 bytes in shared memory, which the blocks of one cluster, and so
// one thread, reach.
#include <fmt/format.h>

#include <cstring>

#include "backends/sim/checker/group.h"
#include "backends/sim/runtime/operations.h"
#include "backends/sim/runtime/state.h"

namespace kiln::sim {

namespace {

constexpr uint64_t kValid = 2;  // tag; poisoned and zeroed memory have another
constexpr int64_t kMostCount = (1 << 20) - 1, kMostBytes = (1 << 20) - 1;

struct Mbarrier {
  int64_t pending = 0, expected = 0;  // arrivals: of this phase, of each
  int64_t bytes = 0;                  // transactions to come; negative when some came before they were expected
  uint64_t phase = 0;                 // parity
  bool is_valid = false;

  static Mbarrier read(const void* at) {
    uint64_t bits;
    std::memcpy(&bits, at, 8);
    Mbarrier b;
    b.pending = static_cast<int64_t>(bits & 0xFFFFF);
    b.expected = static_cast<int64_t>(bits >> 20 & 0xFFFFF);
    b.bytes = static_cast<int64_t>(bits << 3) >> 43;  // bits 40 to 60, with sign
    b.phase = bits >> 61 & 1;
    b.is_valid = bits >> 62 == kValid;
    return b;
  }
  uint64_t bits() const {
    return static_cast<uint64_t>(pending) | static_cast<uint64_t>(expected) << 20 | (static_cast<uint64_t>(bytes) & 0x1FFFFF) << 40 |
           phase << 61 | kValid << 62;
  }
  void write(void* at) const {
    uint64_t b = bits();
    std::memcpy(at, &b, 8);
  }
};

struct Fault {
  const char* kind = nullptr;  // null: none
  std::string text;
};

Fault find_fault(Cluster& c, const void* at) {
  if (reinterpret_cast<uintptr_t>(at) % 8 != 0)
    return {"misaligned", fmt::format("an mbarrier at {} is not aligned to 8 bytes", c.address_text(at))};
  if (!c.owner_of(at)) return {"out_of_bounds", "an mbarrier lies outside of shared memory"};
  if (!Mbarrier::read(at).is_valid)
    return {"uninitialised", fmt::format("the mbarrier at {} is used without having been initialised", c.address_text(at))};
  return {};
}

// Ends the phase when nothing is missing, and keeps the new state.
void settle(Cluster& c, Mbarrier& b, void* at, int32_t site) {
  if (b.pending == 0 && b.bytes == 0) {
    if (c.group) c.group->mbarrier_complete(at, static_cast<uint32_t>(site));
    b.pending = b.expected;
    b.phase ^= 1;
    b.write(at);
    c.wake(at);
  } else {
    b.write(at);
  }
}

// The steps of an operation; the text of what is wrong, if anything.
Fault expect(Cluster& c, Mbarrier& b, const void* at, int64_t bytes) {
  b.bytes += bytes;
  if (bytes >= 0 && b.bytes <= kMostBytes && b.bytes >= -kMostBytes) return {};
  return {"tx_count",
          fmt::format("the mbarrier at {} cannot expect {} bytes more: a phase counts at most {}", c.address_text(at), bytes, kMostBytes)};
}

Fault arrive(Cluster& c, Mbarrier& b, const void* at, int64_t count) {
  if (count >= 1 && count <= b.pending) {
    b.pending -= count;
    return {};
  }
  return {"deadlock",
          fmt::format("{} arrivals at the mbarrier at {}, of which the phase expects {} more", count, c.address_text(at), b.pending)};
}

// One operation of a lane: reads the state, applies `step`, which may say what is wrong, and returns the state before.
template <class F>
uint64_t update(sim_warp* w, int lane, void* at, int32_t site, F step) {
  Cluster& c = cluster_of(w);
  bool is_wrong;
  uint64_t before = 0;
  {
    Fault fault = find_fault(c, at);
    if (!fault.kind) {
      Mbarrier b = Mbarrier::read(at);
      before = b.bits();
      fault = step(c, b);
      if (!fault.kind) settle(c, b, at, site);
    }
    is_wrong = fault.kind != nullptr;
    if (is_wrong) c.report(fault.kind, &warp_of(w), lane, site, fault.text);
  }
  if (is_wrong) c.stop(warp_of(w));
  return before;
}

Mbarrier checked(sim_warp* w, const void* at, int32_t site) {
  Cluster& c = cluster_of(w);
  bool is_wrong;
  {
    Fault fault = find_fault(c, at);
    is_wrong = fault.kind != nullptr;
    if (is_wrong) c.report(fault.kind, &warp_of(w), -1, site, fault.text);
  }
  if (is_wrong) c.stop(warp_of(w));
  return Mbarrier::read(at);
}

int32_t test(sim_warp* w, const void* at, uint64_t parity, int32_t site) {
  if (checked(w, at, site).phase != parity) return 1;
  cluster_of(w).spin(warp_of(w), site);
  return checked(w, at, site).phase != parity;
}

void wait(sim_warp* w, sim_mask mask, const void* at, uint64_t parity, int32_t site) {
  // Who waits is woken by the end of the phase, and need not see the barrier before the next one ends as well.
  if (checked(w, at, site).phase == parity) cluster_of(w).block(warp_of(w), mask, Wait::kMbarrier, at, parity, site);
}

// What asynchronous work does to a barrier; there is no warp to stop.
template <class F>
void update_from_agent(Cluster& c, void* at, int32_t site, F step) {
  Fault fault = find_fault(c, at);
  if (!fault.kind) {
    Mbarrier b = Mbarrier::read(at);
    fault = step(b);
    if (!fault.kind) settle(c, b, at, site);
  }
  if (fault.kind) c.report(fault.kind, nullptr, -1, site, fault.text);
}

}  // namespace

void complete_transaction(Cluster& c, void* barrier, int64_t bytes, int32_t site) {
  if (c.group) c.group->copied(barrier, bytes);
  update_from_agent(c, barrier, site, [&](Mbarrier& b) -> Fault {
    b.bytes -= bytes;
    if (b.bytes >= -kMostBytes) return {};
    return {"tx_count", fmt::format("more bytes come to the mbarrier at {} than it can count", c.address_text(barrier))};
  });
}

void arrive_from_agent(Cluster& c, void* barrier, int32_t site) {
  if (c.group) c.group->arrived(barrier);
  update_from_agent(c, barrier, site, [&](Mbarrier& b) { return arrive(c, b, barrier, 1); });
}

void add_pending(sim_warp* w, int lane, void* barrier, int32_t site) {
  update(w, lane, barrier, site, [&](Cluster& c, Mbarrier& b) -> Fault {
    ++b.pending;
    if (b.pending <= kMostCount) return {};
    return {"deadlock", fmt::format("the mbarrier at {} expects too many arrivals", c.address_text(barrier))};
  });
}

std::string mbarrier_text(const void* barrier) {
  Mbarrier b = Mbarrier::read(barrier);
  std::string text = fmt::format("lacks {} of {} arrivals", b.pending, b.expected);
  if (b.bytes > 0) text += fmt::format(" and {} bytes", b.bytes);
  if (b.bytes < 0) text += fmt::format(" and has {} bytes that it did not expect", -b.bytes);
  return text;
}

bool mbarrier_misses_bytes(const void* barrier) {
  Mbarrier b = Mbarrier::read(barrier);
  return b.pending == 0 && b.bytes != 0;
}

void await_mbarrier(sim_warp* w, sim_mask mask, const void* barrier, int32_t site) {
  Cluster& c = cluster_of(w);
  bool can_be = reinterpret_cast<uintptr_t>(barrier) % 8 == 0 && c.owner_of(barrier);
  while (can_be && !Mbarrier::read(barrier).is_valid) c.block(warp_of(w), mask, Wait::kMbarrierInit, barrier, 0, site);
}

namespace ops {

void mbarrier_init(sim_warp* w, int lane, void* barrier, int32_t count, int32_t site) {
  Cluster& c = cluster_of(w);
  bool aligned = reinterpret_cast<uintptr_t>(barrier) % 8 == 0;
  if (!aligned || !c.owner_of(barrier) || count < 1 || count > kMostCount) {
    c.fail(aligned ? "out_of_bounds" : "misaligned", warp_of(w), lane, site, [&] {
      return fmt::format("there cannot be an mbarrier for {} arrivals at {}: from 1 to {}, aligned to 8 bytes in shared memory", count,
                         c.address_text(barrier), kMostCount);
    });
  }
  Mbarrier b;
  b.pending = b.expected = count;
  b.write(barrier);
  c.wake(barrier);
}

void mbarrier_inval(sim_warp* w, int lane, void* barrier, int32_t site) {
  update(w, lane, barrier, site, [](Cluster&, Mbarrier&) { return Fault{}; });
  std::memset(barrier, 0xFF, 8);
}

uint64_t mbarrier_arrive(sim_warp* w, int lane, void* barrier, int32_t count, int32_t site) {
  return update(w, lane, barrier, site, [&](Cluster& c, Mbarrier& b) { return arrive(c, b, barrier, count); });
}

uint64_t mbarrier_arrive_drop(sim_warp* w, int lane, void* barrier, int32_t count, int32_t site) {
  return update(w, lane, barrier, site, [&](Cluster& c, Mbarrier& b) {
    b.expected -= count;
    return arrive(c, b, barrier, count);
  });
}

uint64_t mbarrier_arrive_expect_tx(sim_warp* w, int lane, void* barrier, int32_t bytes, int32_t site) {
  return update(w, lane, barrier, site, [&](Cluster& c, Mbarrier& b) {
    Fault fault = expect(c, b, barrier, bytes);
    return fault.kind ? fault : arrive(c, b, barrier, 1);
  });
}

void mbarrier_expect_tx(sim_warp* w, int lane, void* barrier, int32_t bytes, int32_t site) {
  update(w, lane, barrier, site, [&](Cluster& c, Mbarrier& b) { return expect(c, b, barrier, bytes); });
}

void mbarrier_complete_tx(sim_warp* w, int lane, void* barrier, int32_t bytes, int32_t site) {
  update(w, lane, barrier, site, [&](Cluster&, Mbarrier& b) {
    b.bytes -= bytes;
    return Fault{};
  });
}

int32_t mbarrier_test(sim_warp* w, sim_mask, void* barrier, uint64_t state, int32_t site) {
  return test(w, barrier, state >> 61 & 1, site);
}

int32_t mbarrier_test_parity(sim_warp* w, sim_mask, void* barrier, int32_t parity, int32_t site) {
  return test(w, barrier, static_cast<uint64_t>(parity & 1), site);
}

void mbarrier_wait(sim_warp* w, sim_mask mask, void* barrier, uint64_t state, int32_t site) {
  wait(w, mask, barrier, state >> 61 & 1, site);
}

void mbarrier_wait_parity(sim_warp* w, sim_mask mask, void* barrier, int32_t parity, int32_t site) {
  wait(w, mask, barrier, static_cast<uint64_t>(parity & 1), site);
}

}  // namespace ops
}  // namespace kiln::sim
