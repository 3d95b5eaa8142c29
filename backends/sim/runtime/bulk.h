// What bulk copies have in common.
#pragma once

#include <cstring>
#include <utility>
#include <vector>

#include "backends/sim/runtime/state.h"

namespace kiln::sim {

// Where a copy puts its bytes, and the mbarrier that counts them there.
struct Receiver {
  std::byte* to;
  void* barrier;
};

// The address, after a check that `bytes` from it on are shared memory of one block of the cluster; else the warp fails with "`what` of
// ..."
std::byte* check_shared(sim_warp* w, int lane, const void* at, int64_t bytes, const char* what, int32_t site);

// One for each rank in the mask `blocks`, at the same offset; for 0, `to` and `barrier` themselves.
std::vector<Receiver> receivers(sim_warp* w, int lane, void* to, void* barrier, int64_t bytes, int32_t blocks, int32_t site);

// Issues a copy of the lane's open bulk group.
template <class Read, class Run>
void issue_bulk(sim_warp* w, int lane, Read read, Run run) {
  Agent a;
  a.queue = Agent::Queue::kBulk;
  a.owner = &warp_of(w);
  a.lane = lane;
  a.group = warp_of(w).bulk_groups[static_cast<size_t>(lane)];
  a.read = std::move(read);
  a.run = std::move(run);
  cluster_of(w).issue(std::move(a));
}

}  // namespace kiln::sim
