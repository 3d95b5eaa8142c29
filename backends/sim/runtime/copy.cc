// cp.async: copies of single lanes in groups (PTX ISA 9.0, 9.7.9.25.3).
#include <fmt/format.h>

#include <cstring>

#include "backends/sim/runtime/operations.h"
#include "backends/sim/runtime/state.h"

namespace kiln::sim {

namespace {

void perform(const CpAsync& c) {
  if (c.valid == c.bytes && c.bytes == 16) {
    std::memcpy(c.to, c.from, 16);
    return;
  }
  std::memcpy(c.to, c.from, c.valid);
  std::memset(c.to + c.valid, 0, static_cast<size_t>(c.bytes - c.valid));
}

}  // namespace

void complete_copies(Warp& w, const std::function<bool(const CpAsync&)>& is_meant) {
  size_t kept = 0;
  for (const CpAsync& c : w.copies) {
    if (is_meant(c)) {
      perform(c);
    } else {
      w.copies[kept++] = c;
    }
  }
  w.copies.resize(kept);
}

namespace ops {

void cp_async(sim_warp* w, int lane, void* to, const void* from, int32_t bytes, int32_t valid, int32_t site) {
  Warp& warp = warp_of(w);
  bool size_fits = bytes == 4 || bytes == 8 || bytes == 16;
  auto all = static_cast<uintptr_t>(bytes) - 1;
  if (!size_fits || valid < 0 || valid > bytes || ((reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) & all) != 0) {
    cluster_of(w).fail(size_fits ? "misaligned" : "out_of_bounds", warp, lane, site, [&] {
      return fmt::format("cp.async of {} bytes ({} of them read) to {}: it takes 4, 8 or 16 bytes, aligned to as many on both sides", bytes,
                         valid, cluster_of(w).address_text(to));
    });
  }
  std::memset(to, 0xFF, static_cast<size_t>(bytes));
  warp.copies.push_back({static_cast<std::byte*>(to), static_cast<const std::byte*>(from), warp.copy_groups[static_cast<size_t>(lane)],
                         static_cast<uint8_t>(bytes), static_cast<uint8_t>(valid), static_cast<uint8_t>(lane)});
}

void cp_async_commit(sim_warp* w, sim_mask mask, int32_t) {
  for (size_t l = 0; l < 32; ++l) warp_of(w).copy_groups[l] += mask >> l & 1;
}

void cp_async_wait(sim_warp* w, sim_mask mask, int32_t pending, int32_t) {
  Warp& warp = warp_of(w);
  uint32_t kept = pending < 0 ? 0 : static_cast<uint32_t>(pending);
  complete_copies(warp,
                  [&](const CpAsync& c) { return (mask >> c.lane & 1) && (pending < 0 || c.group + kept < warp.copy_groups[c.lane]); });
  // Those that an mbarrier waits for as well.
  cluster_of(w).complete([&](const Agent& a) { return a.queue == Agent::Queue::kCopy && a.owner == &warp && (mask >> a.lane & 1); });
}

// An agent of its own makes the arrival, once the lane's copies so far are done.
void cp_async_arrive(sim_warp* w, int lane, void* barrier, int32_t noinc, int32_t site) {
  Warp& warp = warp_of(w);
  Cluster& c = cluster_of(w);
  if (!noinc) add_pending(w, lane, barrier, site);
  std::vector<CpAsync> mine;
  size_t kept = 0;
  for (const CpAsync& copy : warp.copies) {
    if (copy.lane == lane) {
      mine.push_back(copy);
    } else {
      warp.copies[kept++] = copy;
    }
  }
  warp.copies.resize(kept);
  Agent a;
  a.queue = Agent::Queue::kCopy;
  a.owner = &warp;
  a.lane = lane;
  a.run = [&c, barrier, site, mine = std::move(mine)](std::vector<std::byte>&) {
    for (const CpAsync& copy : mine) perform(copy);
    arrive_from_agent(c, barrier, site);
  };
  c.issue(std::move(a));
}

}  // namespace ops
}  // namespace kiln::sim
