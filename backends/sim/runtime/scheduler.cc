// Which warp of a cluster runs next, and when asynchronous work is done.
#include <fmt/format.h>

#include <cstring>

#include "backends/sim/checker/checker.h"
#include "backends/sim/checker/events.h"
#include "backends/sim/runtime/faults.h"
#include "backends/sim/runtime/spares.h"
#include "backends/sim/runtime/state.h"

namespace kiln::sim {

namespace {

constexpr std::byte kPoison{0xFF};  // NaN in every float format

void set_threads(Warp& w, const Dim3& block) {
  int threads = static_cast<int>(block.count()), first = 32 * w.warp;
  w.lanes = threads - first >= 32 ? ~0u : (1u << (threads - first)) - 1;
  for (int l = 0; l < 32; ++l) {
    int64_t t = first + l;
    w.thread_x[l] = static_cast<int32_t>(t % block.x);
    w.thread_y[l] = static_cast<int32_t>(t / block.x % block.y);
    w.thread_z[l] = static_cast<int32_t>(t / (block.x * block.y));
  }
}

void run_kernel(void* argument) {
  Warp& w = *static_cast<Warp*>(argument);
  LaunchState& launch = w.block->cluster->launch;
  launch.kernel.entry(&w, launch.params.args);
}

}  // namespace

Cluster::Cluster(LaunchState& state) : launch(state), blocks(static_cast<size_t>(state.blocks_per_cluster)) {
  const Launch& p = launch.params;
  memory = Spares::global().take_memory(launch.blocks_per_cluster);
  if (!memory) return;
  for (size_t rank = 0; rank < blocks.size(); ++rank) {
    Block& b = blocks[rank];
    b.cluster = this;
    b.rank = static_cast<int>(rank);
    b.shared = memory + (rank << SIM_RANK_SHIFT);
    for (int i = 0; i < launch.warps; ++i) {
      Warp& w = *b.warps.emplace_back(std::make_unique<Warp>());
      w.fiber = Spares::global().take_fiber(launch.kernel.stack_bytes);
      if (!w.fiber) return;
      w.block = &b;
      w.sim = p.checker ? &checker::checked_api() : &api();
      w.warp = i;
      set_threads(w, p.block);
      w.block_dim_x = static_cast<int32_t>(p.block.x), w.block_dim_y = static_cast<int32_t>(p.block.y);
      w.block_dim_z = static_cast<int32_t>(p.block.z);
      w.grid_dim_x = static_cast<int32_t>(p.grid.x), w.grid_dim_y = static_cast<int32_t>(p.grid.y);
      w.grid_dim_z = static_cast<int32_t>(p.grid.z);
      w.cluster_dim_x = static_cast<int32_t>(p.cluster.x), w.cluster_dim_y = static_cast<int32_t>(p.cluster.y);
      w.cluster_dim_z = static_cast<int32_t>(p.cluster.z);
      w.cluster_rank = b.rank;
      w.shared = reinterpret_cast<char*>(b.shared);
      w.cluster_shared = reinterpret_cast<char*>(memory);
      w.shared_bytes = static_cast<uint32_t>(p.shared_bytes);
      w.forms = launch.kernel.forms.data();
    }
  }
  valid_ = true;
}

Cluster::~Cluster() {
  for (Block& b : blocks) {
    for (auto& w : b.warps) Spares::global().give_fiber(launch.kernel.stack_bytes, std::move(w->fiber));
  }
  if (memory) Spares::global().give_memory(launch.blocks_per_cluster, memory);
}

void Cluster::begin(int64_t number) {
  const Launch& p = launch.params;
  index = number;
  random = Random(Random(p.seed).next() ^ (static_cast<uint64_t>(number) * 0xD1342543DE82EF95));
  steps = ticks = 0;
  cluster_arrived = 0, cluster_phase = 0;
  live_warps_ = launch.blocks_per_cluster * launch.warps;
  ready_.clear(), blocked_.clear(), agents_.clear();
  printed.clear();
  quiet_ = 0;
  failed_ = false;
  int64_t across = p.grid.x / p.cluster.x, down = p.grid.y / p.cluster.y;
  int64_t x = number % across * p.cluster.x, y = number / across % down * p.cluster.y, z = number / (across * down) * p.cluster.z;
  for (Block& b : blocks) {
    b.x = static_cast<int32_t>(x + b.rank % p.cluster.x);
    b.y = static_cast<int32_t>(y + b.rank / p.cluster.x % p.cluster.y);
    b.z = static_cast<int32_t>(z + b.rank / (p.cluster.x * p.cluster.y));
    b.live_warps = launch.warps;
    b.barriers.fill({});
    b.grid_arrived = 0;
    b.tensor_memory.reset();
    std::memset(b.shared, static_cast<int>(kPoison), static_cast<size_t>(p.shared_bytes));
    for (auto& w : b.warps) {
      w->live = w->lanes;
      w->block_x = b.x, w->block_y = b.y, w->block_z = b.z;
      w->is_done = false;
      w->wait = Wait::kNone;
      w->spins = 0;
      w->copies.clear();
      w->copy_groups.fill(0), w->bulk_groups.fill(0);
      w->wgmma_groups = 0;
      w->is_at_cluster = false;
      w->fiber->start(&run_kernel, w.get());
      ready_.push_back(w.get());
    }
  }
  shuffle_ready(0);
  if (!p.checker) return;
  std::vector<checker::Group::Block> checked;
  for (const Block& b : blocks) checked.push_back({{b.x, b.y, b.z}, b.shared, static_cast<size_t>(p.shared_bytes)});
  group = &p.checker->begin(std::move(checked));
}

void Cluster::end() {
  if (group) launch.params.checker->end(*group, !failed_);
  group = nullptr;
}

Cluster::Stop Cluster::run() {
  progress_ = false;
  quiet_ = 0;
  wake_from_grid();
  while (true) {
    if (failed_ || launch.failed.load(std::memory_order_relaxed)) return Stop::kFailed;
    if (!agents_.empty() && random.one_in(4)) perform_any();
    if (ready_.empty()) {
      if (!agents_.empty()) {
        perform_any();
      } else if (live_warps_ == 0) {
        return Stop::kFinished;
      } else if (!wake_from_grid()) {
        for (Warp* w : blocked_) {
          if (w->wait == Wait::kGrid && launch.last_exit.load() != uint64_t{1} + launch.grid_phase.load()) return Stop::kParked;
        }
        deadlock();
      }
      continue;
    }
    if (quiet_ > 2 * ready_.size() + 8) {
      if (agents_.empty()) return Stop::kParked;
      perform_any();
    }
    ++steps;
    Warp& w = *ready_.front();
    ready_.pop_front();
    resume(w);
  }
}

void Cluster::resume(Warp& w) {
  w.wait = Wait::kNone;
  running_warp = &w;
  w.fiber->resume();
  running_warp = nullptr;
  if (w.wait == Wait::kSpin) {
    ++quiet_;
    ready_.push_back(&w);
    return;
  }
  quiet_ = 0;
  progress_ = true;
  if (w.fiber->is_finished()) exited(w);
}

void Cluster::exited(Warp& w) {
  w.is_done = true;
  w.live = 0;
  complete_copies(w, [](const CpAsync&) { return true; });
  // Products that no one waited for would write registers that are no more.
  std::erase_if(agents_, [&](const Agent& a) { return a.queue == Agent::Queue::kWgmma && a.owner == &w; });
  Block& b = *w.block;
  --live_warps_;
  --b.live_warps;
  complete_barriers(b);
  complete_cluster_barrier(*this);
  if (b.live_warps > 0) {
    complete_grid_barrier(b);
  } else {
    launch.last_exit = uint64_t{1} + launch.grid_phase.load();
  }
}

void Cluster::block(Warp& w, sim_mask mask, Wait wait, const void* on, uint64_t value, int32_t site) {
  w.wait = wait, w.waits_on = on, w.wait_mask = mask, w.wait_value = value, w.site = site;
  w.spins = 0;
  if (!w.copies.empty() && random.one_in(2)) {
    CpAsync oldest = w.copies.front();
    complete_copies(w, [oldest](const CpAsync& c) { return c.group == oldest.group; });
  }
  blocked_.push_back(&w);
  w.fiber->suspend();
}

void Cluster::spin(Warp& w, int32_t site) {
  w.wait = Wait::kSpin, w.site = site;
  w.fiber->suspend();
}

void Cluster::pause(Warp& w) {
  if (random.one_in(2)) return;
  ready_.push_back(&w);
  w.fiber->suspend();
}

void Cluster::shuffle_ready(size_t first) {
  for (size_t i = ready_.size(); i > first + 1; --i) std::swap(ready_[i - 1], ready_[first + random.below(i - first)]);
}

void Cluster::wake(const void* on) {
  size_t kept = 0, first = ready_.size();
  for (Warp* w : blocked_) {
    if (w->waits_on == on) {
      ready_.push_back(w);
    } else {
      blocked_[kept++] = w;
    }
  }
  blocked_.resize(kept);
  shuffle_ready(first);
}

bool Cluster::wake_from_grid() {
  bool any = false;
  size_t kept = 0;
  uint32_t phase = launch.grid_phase.load();
  for (Warp* w : blocked_) {
    if (w->wait == Wait::kGrid && w->grid_phase != phase) {
      ready_.push_back(w);
      any = true;
    } else {
      blocked_[kept++] = w;
    }
  }
  blocked_.resize(kept);
  return any;
}

void Cluster::perform(size_t i) {
  Agent a = std::move(agents_[i]);
  agents_.erase(agents_.begin() + static_cast<std::ptrdiff_t>(i));
  quiet_ = 0;
  progress_ = true;
  if (running_warp) {  // someone waits for it
    if (a.read) a.read(a.data);
    a.run(a.data);
    return;
  }
  if (!without_fault([&] {
        if (a.read) a.read(a.data);
        a.run(a.data);
      }))
    report("out_of_bounds", nullptr, -1, 0, "asynchronous work reads or writes memory that is not there");
}

void Cluster::perform_any() {
  size_t i = random.below(agents_.size());
  const Agent& chosen = agents_[i];
  if (chosen.queue == Agent::Queue::kWgmma || chosen.queue == Agent::Queue::kTensor) {
    i = 0;
    while (agents_[i].queue != chosen.queue || agents_[i].owner != chosen.owner) ++i;
  }
  perform(i);
}

Block* Cluster::owner_of(const void* address) {
  auto distance = static_cast<const std::byte*>(address) - memory;
  if (distance < 0 || (static_cast<uint64_t>(distance) >> SIM_RANK_SHIFT) >= blocks.size()) return nullptr;
  Block& b = blocks[static_cast<size_t>(distance) >> SIM_RANK_SHIFT];
  return (distance & ((1 << SIM_RANK_SHIFT) - 1)) < kMaxSharedBytes ? &b : nullptr;
}

std::string Cluster::address_text(const void* address) {
  Block* b = owner_of(address);
  if (!b) return "an address outside of shared memory";
  std::string text = fmt::format("byte {} of shared memory", static_cast<const std::byte*>(address) - b->shared);
  return blocks.size() == 1 ? text : text + fmt::format(" of the cluster's block {}", b->rank);
}

void Cluster::stop(Warp& w) {
  w.wait = Wait::kNone;
  while (true) w.fiber->suspend();
}

}  // namespace kiln::sim
