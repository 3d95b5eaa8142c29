// What orders accesses: the threads of a warp, barriers, fences, atomics, asynchronous operations.
#include <fmt/format.h>

#include <algorithm>

#include "backends/sim/checker/checker.h"
#include "backends/sim/checker/group.h"

namespace kiln::sim::checker {

namespace {

template <class F>
void for_lanes(uint32_t mask, F&& f) {
  for (; mask; mask &= mask - 1) f(static_cast<size_t>(__builtin_ctz(mask)));
}

int first_lane(uint32_t mask) { return mask ? __builtin_ctz(mask) : 0; }

}  // namespace

// Lanes that do not exist count as any others do.
uint32_t Group::everyone(const Warp& w, uint32_t mask) const { return mask | ~w.existing; }

Knowledge& Group::of_lane(Warp& w, int lane) {
  auto& k = w.lanes[static_cast<size_t>(lane)];
  if (!k) k = std::make_unique<Knowledge>();
  w.is_split = true;
  return *k;
}

// What the lanes know and have done, for others to acquire.
Knowledge Group::release(int index, uint32_t mask) {
  Warp& w = warp(index);
  Knowledge k = w.common;
  if (w.is_split) {
    for_lanes(mask, [&](size_t l) {
      if (w.lanes[l]) k.join(*w.lanes[l]);
    });
  }
  k.here.raise(agent(index, Engine::kThread), everyone(w, mask), w.has_accessed ? w.epoch : w.epoch - 1);
  for (size_t engine = 1; engine < kEngines; ++engine) {
    auto a = agent(index, static_cast<Engine>(engine));
    const auto& done = w.done[engine];
    uint32_t first = done[static_cast<size_t>(first_lane(mask))];
    bool is_same = true;
    for_lanes(mask, [&](size_t l) { is_same &= done[l] == first; });
    if (is_same)
      k.here.raise(a, everyone(w, mask), first);
    else
      for_lanes(mask, [&](size_t l) { k.here.raise(a, 1u << l, done[l]); });
  }
  if (w.has_accessed) ++w.epoch;
  w.has_accessed = false;
  return k;
}

void Group::acquire(int index, uint32_t mask, const Knowledge& k) {
  Warp& w = warp(index);
  if ((w.live & ~mask) == 0) return w.common.join(k);
  for_lanes(mask, [&](size_t l) { of_lane(w, static_cast<int>(l)).join(k); });
}

void Group::warp_sync(int index, uint32_t mask) {
  Warp& w = warp(index);
  Knowledge k = release(index, mask);
  acquire(index, mask, k);
  if ((w.live & ~mask) != 0) return;
  for (auto& lane : w.lanes) lane.reset();
  w.is_split = false;
}

void Group::barrier_arrive(int index, uint32_t mask, uint64_t barrier) { barriers_[barrier].arrived.join(release(index, mask)); }

void Group::barrier_complete(uint64_t barrier) {
  Barrier& b = barriers_[barrier];
  b.done = b.arrived;
}

void Group::barrier_leave(int index, uint32_t mask, uint64_t barrier) {
  acquire(index, mask, barriers_[barrier].done);
  Warp& w = warp(index);
  if (!w.is_split || (w.live & ~mask) != 0) return;
  for (auto& lane : w.lanes) lane.reset();  // the barrier knows what each of them brought
  w.is_split = false;
}

void Group::block_barrier(int index, uint32_t site) {
  Warp& w = warp(index);
  ++w.barriers;
  w.last_barrier = site;
}

// Warps that have ended do not hold up those that wait, so a barrier that only some execute is seen by counting.
void Group::check_block_barriers() {
  size_t per_block = static_cast<size_t>(checker_.warps_per_block());
  for (size_t first = 0; first < warps_.size(); first += per_block) {
    size_t most = first, least = first;
    for (size_t i = first; i < first + per_block; ++i) {
      if (warps_[i].barriers > warps_[most].barriers) most = i;
      if (warps_[i].barriers < warps_[least].barriers) least = i;
    }
    if (warps_[most].barriers == warps_[least].barriers) continue;
    report("divergent_barrier", static_cast<int>(least), -1, warps_[most].last_barrier,
           fmt::format("ended after {} barriers of the block, of which {} executed {}: all threads must execute each",
                       warps_[least].barriers, thread_text(static_cast<int>(most), -1), warps_[most].barriers));
  }
}

// Shared memory is the block's only while it runs, so who copies from it waits for the copy to have read (CUDA C++ Programming Guide,
// asynchronous data copies by the tensor memory accelerator).
void Group::check_bulk_reads() {
  for (const auto& [thread, read] : last_bulk_read_) {
    auto [index, lane] = thread;
    if (warp(index).done[static_cast<size_t>(Engine::kBulkRead)][static_cast<size_t>(lane)] >= read.epoch) continue;
    report("race", index, lane, read.site,
           fmt::format("ends while its bulk copy may still read {}: it has not waited for the copy's group",
                       place_text(static_cast<const std::byte*>(read.at), read.site)));
  }
}

// --- mbarriers

// Lanes that come together count as one; the barrier's own bytes make no epoch.
void Group::touch_barrier(int index, uint32_t mask, const void* at, Access access, uint32_t site) {
  record(index, first_lane(mask), {number_, agent(index, Engine::kThread), static_cast<uint16_t>(site), warp(index).epoch, mask, access},
         at, 8, false);
}

void Group::mbarrier_init(int index, int lane, const void* at, uint32_t site) {
  access(index, lane, at, 8, Access::kWrite, site);
  Barrier& b = mbarriers_[at];
  uint16_t agent = b.agent;
  b = Barrier{};
  b.agent = agent;
}

void Group::mbarrier_inval(int index, int lane, const void* at, uint32_t site) {
  access(index, lane, at, 8, Access::kWrite, site);
  bool is_shared;
  if (Shadow* s = find(static_cast<const std::byte*>(at), 8, is_shared))
    s->visit(static_cast<const std::byte*>(at), 8, [](Cell& cell, const std::byte*, size_t) { cell.is_written = false; });
}

void Group::mbarrier_expect(int index, int lane, const void* at, int64_t bytes, uint32_t site) {
  touch_barrier(index, 1u << lane, at, Access::kAtomic, site);
  mbarriers_[at].expected += bytes;
}

void Group::mbarrier_arrive(int index, uint32_t mask, const void* at, uint32_t site) {
  touch_barrier(index, mask, at, Access::kAtomic, site);
  mbarriers_[at].arrived.join(release(index, mask));
}

void Group::mbarrier_complete(const void* at, uint32_t site) {
  Barrier& b = mbarriers_[at];
  if (!b.in_flight.empty()) {
    int64_t bytes = 0;
    for (const Operation& op : b.in_flight) bytes += op.bytes;
    int stretch = checker_.site(site).stretch;
    report("tx_count", Cause{0, stretch, stretch}, b.in_flight.front().warp, b.in_flight.front().lane, site, [&] {
      return fmt::format(
          "phase {} of {} completed with {} bytes of copies still in flight: {} bytes were announced (expect_tx), copies of "
          "{} bytes were issued",
          b.phase, barrier_text(at, site), bytes, b.expected, b.completed + bytes);
    });
  }
  b.done = b.arrived;
  b.expected = b.completed = 0;
  ++b.phase;
}

void Group::mbarrier_test(int index, uint32_t mask, const void* at, uint32_t site) {
  touch_barrier(index, mask, at, Access::kAtomicRead, site);
}

void Group::mbarrier_wait(int index, uint32_t mask, const void* at) { acquire(index, mask, mbarriers_[at].done); }

// --- asynchronous operations

Operation Group::issue(int index, int lane, Engine engine) {
  size_t l = static_cast<size_t>(std::max(lane, 0));
  Operation op;
  op.warp = index, op.lane = lane;
  op.agent = agent(index, engine);
  op.epoch = warp(index).committed[static_cast<size_t>(engine)][l] + 1;
  op.lanes = lane < 0 ? kAllLanes : 1u << lane;
  return op;
}

Operation Group::issue(int index, int lane, const void* at, int64_t bytes) {
  Barrier& b = mbarriers_[at];
  if (!b.agent) {
    b.agent = static_cast<uint16_t>(warps_.size() * kEngines + barrier_agents_.size());
    barrier_agents_.push_back(at);
  }
  Operation op;
  op.warp = index, op.lane = lane;
  op.agent = b.agent;
  op.epoch = ++b.issued;
  op.lanes = kAllLanes;
  op.bytes = bytes;
  b.in_flight.push_back(op);
  return op;
}

void Group::commit(int index, uint32_t mask, Engine engine) {
  auto& committed = warp(index).committed[static_cast<size_t>(engine)];
  for_lanes(mask, [&](size_t l) { ++committed[l]; });
}

void Group::wait(int index, uint32_t mask, Engine engine, int pending) {
  Warp& w = warp(index);
  auto& committed = w.committed[static_cast<size_t>(engine)];
  auto& done = w.done[static_cast<size_t>(engine)];
  if (engine == Engine::kWgmma) {  // of the warp as a whole
    uint32_t all = committed[static_cast<size_t>(first_lane(mask))], left = static_cast<uint32_t>(pending);
    Knowledge k;
    if (all > left) k.here.raise(agent(index, engine), kAllLanes, all - left);
    for (Fragment& f : w.fragments) f.is_in_flight &= f.group + left > all;
    return acquire(index, mask, k);
  }
  for_lanes(mask, [&](size_t l) {
    uint32_t left = static_cast<uint32_t>(pending);
    if (committed[l] > left) done[l] = std::max(done[l], committed[l] - left);
  });
}

void Group::arrive_after(int index, int lane, Engine engine, const void* at) {
  Operation op = issue(index, lane, engine);
  if (engine == Engine::kTensor) commit(index, op.lanes, engine);  // what follows belongs to the next commit
  mbarriers_[at].to_arrive.push_back(op);
}

// Which of several copies it was does not matter: a phase that ends with one in flight is a fault.
void Group::copied(const void* at, int64_t bytes) {
  Barrier& b = mbarriers_[at];
  auto it = std::find_if(b.in_flight.begin(), b.in_flight.end(), [&](const Operation& o) { return o.bytes == bytes; });
  if (it == b.in_flight.end()) return;
  b.in_flight.erase(it);
  b.completed += bytes;
  b.arrived.here.raise(b.agent, kAllLanes, b.in_flight.empty() ? b.issued : b.in_flight.front().epoch - 1);
}

void Group::arrived(const void* at) {
  Barrier& b = mbarriers_[at];
  if (b.to_arrive.empty()) return;
  const Operation& op = b.to_arrive.front();
  b.arrived.here.raise(op.agent, op.lanes, op.epoch);
  b.to_arrive.erase(b.to_arrive.begin());
}

// --- fences and atomics

// What is released lies by group, since others may be elsewhere.
void Group::release_to(std::map<uint32_t, Clock>& variable, const Knowledge& k) const {
  variable[number_].join(k.here);
  for (const auto& [group, clock] : k.elsewhere) variable[group].join(clock);
}

void Group::fence(int index, uint32_t mask) {
  Warp& w = warp(index);
  if (w.unfenced) {
    acquire(index, mask, *w.unfenced);
    w.unfenced.reset();
  }
  w.fence = std::make_unique<Warp::Fence>();
  w.fence->released = release(index, mask);
  w.fence->lanes = mask;
}

void Group::fence_proxy(int index, uint32_t mask) {
  Knowledge k = release(index, mask);
  k.async = std::move(k.here);
  k.here.clear(), k.elsewhere.clear();
  acquire(index, mask, k);
}

bool Group::atomic(int index, int lane, const void* at, size_t bytes, Access kind, Order order, uint32_t site) {
  if (!access(index, lane, at, bytes, kind, site)) return false;
  Warp& w = warp(index);
  auto it = checker_.variables_.find(at);
  if (it != checker_.variables_.end()) {
    Knowledge k;
    for (const auto& [group, clock] : it->second) (group == number_ ? k.here : k.elsewhere[group]) = clock;
    if (order == Order::kAcquire || order == Order::kBoth) {
      acquire(index, 1u << lane, k);
    } else {
      if (!w.unfenced) w.unfenced = std::make_unique<Knowledge>();
      w.unfenced->join(k);
    }
  }
  if (kind != Access::kAtomic) return true;
  if (order == Order::kRelease || order == Order::kBoth)
    release_to(checker_.variables_[at], release(index, 1u << lane));
  else if (w.fence && (w.fence->lanes >> lane & 1))
    release_to(checker_.variables_[at], w.fence->released);
  return true;
}

}  // namespace kiln::sim::checker
