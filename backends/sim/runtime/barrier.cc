// Barriers of threads: named ones of a block, the cluster's, the grid's (PTX ISA 9.0, 9.7.13.1 to 9.7.13.4).
#include <fmt/format.h>

#include <bit>

#include "backends/sim/checker/checker.h"
#include "backends/sim/runtime/operations.h"
#include "backends/sim/runtime/state.h"

namespace kiln::sim {

namespace {

constexpr int kWarp = 32;  // threads that a warp counts for, however few it has

void complete(Block& block, NamedBarrier& b) {
  Cluster& c = *block.cluster;
  if (c.group) c.group->barrier_complete(checker::Group::named_barrier(block.rank, static_cast<int>(&b - block.barriers.data())));
  b.last_count = b.count, b.last_voters = b.voters;
  b.arrived = b.expected = 0;
  b.count = b.voters = 0;
  b.all_threads = false;
  ++b.phase;
  c.wake(&b);
}

// All lanes of a warp that have not exited must come together.
void check_whole(Warp& w, sim_mask mask, int32_t site, const char* what) {
  if (mask == w.live) return;
  w.block->cluster->fail("divergent_barrier", w, -1, site, [&] {
    return fmt::format("{} is reached by lanes {:#010x} alone of the lanes {:#010x} that have not exited", what, mask, w.live);
  });
}

// Returns the barrier, at which the warp has arrived.
NamedBarrier& arrive(Warp& w, sim_mask mask, int32_t id, int32_t threads, int32_t site) {
  Block& block = *w.block;
  Cluster& c = *block.cluster;
  check_whole(w, mask, site, "a barrier of the block");
  if (id < 0 || id > 15)
    c.fail("divergent_barrier", w, -1, site, [&] { return fmt::format("there is no barrier {}: a block has barriers 0 to 15", id); });
  if (threads < 0 || threads % kWarp != 0 || threads > kMaxThreads)
    c.fail("divergent_barrier", w, -1, site,
           [&] { return fmt::format("barrier {} cannot be for {} threads: their number must be a multiple of {}", id, threads, kWarp); });
  NamedBarrier& b = block.barriers[static_cast<size_t>(id)];
  int expected = threads ? threads : block.live_warps * kWarp;
  if (b.expected == 0) {
    b.expected = expected;
    b.all_threads = threads == 0;
    b.site = site;
  } else if (b.expected != expected) {
    c.fail("divergent_barrier", w, -1, site, [&] {
      std::string other = site_text(c.launch.kernel, b.site);
      return fmt::format("barrier {} is for {} threads here and for {} where others wait{}", id, expected, b.expected,
                         other.empty() ? "" : " (" + other + ")");
    });
  }
  b.arrived += kWarp;
  if (b.arrived > b.expected)
    c.fail("divergent_barrier", w, -1, site, [&] { return fmt::format("more than {} threads arrive at barrier {}", b.expected, id); });
  return b;
}

void arrive_and_wait(Warp& w, sim_mask mask, int32_t id, int32_t threads, int32_t site, sim_mask predicates, bool votes) {
  Cluster& c = *w.block->cluster;
  NamedBarrier& b = arrive(w, mask, id, threads, site);
  if (votes) {
    b.count += std::popcount(predicates & mask);
    b.voters += std::popcount(mask);
  }
  if (b.arrived == b.expected) {
    complete(*w.block, b);
    return;
  }
  for (uint32_t phase = b.phase; b.phase == phase;) c.block(w, mask, Wait::kBarrier, &b, static_cast<uint64_t>(id), site);
}

}  // namespace

void complete_barriers(Block& block) {
  for (NamedBarrier& b : block.barriers) {
    if (!b.all_threads) continue;
    b.expected = block.live_warps * kWarp;
    if (b.expected > 0 && b.arrived == b.expected) complete(block, b);
  }
}

void complete_cluster_barrier(Cluster& c) {
  int live = 0;
  for (const Block& b : c.blocks) live += b.live_warps;
  if (c.cluster_arrived == 0 || c.cluster_arrived < live) return;
  if (c.group) c.group->barrier_complete(checker::Group::kClusterBarrier);
  c.cluster_arrived = 0;
  ++c.cluster_phase;
  c.wake(&c.cluster_phase);
}

void complete_grid_barrier(Block& b) {
  if (b.grid_arrived == 0 || b.grid_arrived < b.live_warps) return;
  b.grid_arrived = 0;
  LaunchState& launch = b.cluster->launch;
  int64_t blocks = launch.params.grid.count();
  if (launch.grid_arrived.fetch_add(1) + 1 < blocks) return;
  if (launch.params.checker) launch.params.checker->grid_sync();
  launch.grid_arrived = 0;
  launch.grid_phase.fetch_add(1);
}

namespace ops {

void barrier_sync(sim_warp* w, sim_mask mask, int32_t id, int32_t threads, int32_t site) {
  arrive_and_wait(warp_of(w), mask, id, threads, site, 0, false);
}

void barrier_arrive(sim_warp* w, sim_mask mask, int32_t id, int32_t threads, int32_t site) {
  NamedBarrier& b = arrive(warp_of(w), mask, id, threads, site);
  if (b.arrived == b.expected) complete(*warp_of(w).block, b);
}

int32_t barrier_reduce(sim_warp* w, sim_mask mask, int32_t id, int32_t threads, int mode, sim_mask predicates, int32_t site) {
  arrive_and_wait(warp_of(w), mask, id, threads, site, predicates, true);
  const NamedBarrier& b = warp_of(w).block->barriers[static_cast<size_t>(id)];
  if (mode == SIM_BAR_AND) return b.last_count == b.last_voters;
  return mode == SIM_BAR_OR ? b.last_count > 0 : b.last_count;
}

void sync_warp(sim_warp*, sim_mask, sim_mask, int32_t) {}  // the lanes run in step

void fence(sim_warp*, sim_mask, int, int, int32_t) {
  // Within a block all happens in one order; other blocks see memory as the host's threads do.
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void cluster_arrive(sim_warp* w, sim_mask mask, int, int32_t site) {
  Warp& warp = warp_of(w);
  Cluster& c = cluster_of(w);
  check_whole(warp, mask, site, "the barrier of the cluster");
  if (warp.is_at_cluster)
    c.fail("divergent_barrier", warp, -1, site, [] { return "a warp arrives at the barrier of the cluster again without having waited"; });
  warp.is_at_cluster = true;
  warp.cluster_phase = c.cluster_phase;
  ++c.cluster_arrived;
  complete_cluster_barrier(c);
}

void cluster_wait(sim_warp* w, sim_mask mask, int32_t site) {
  Cluster& c = cluster_of(w);
  check_whole(warp_of(w), mask, site, "the barrier of the cluster");
  while (c.cluster_phase == warp_of(w).cluster_phase) c.block(warp_of(w), mask, Wait::kCluster, &c.cluster_phase, 0, site);
  warp_of(w).is_at_cluster = false;
}

void grid_sync(sim_warp* w, sim_mask mask, int32_t site) {
  Warp& warp = warp_of(w);
  LaunchState& launch = cluster_of(w).launch;
  check_whole(warp, mask, site, "the barrier of the grid");
  warp.grid_phase = launch.grid_phase.load();
  ++warp.block->grid_arrived;
  complete_grid_barrier(*warp.block);
  while (launch.grid_phase.load() == warp.grid_phase) cluster_of(w).block(warp, mask, Wait::kGrid, nullptr, 0, site);
}

}  // namespace ops
}  // namespace kiln::sim
