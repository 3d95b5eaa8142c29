#include "backends/sim/runtime/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <thread>

#include "backends/sim/runtime/faults.h"
#include "backends/sim/runtime/state.h"

namespace kiln::sim {

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kGone = ~uint64_t{0};
constexpr size_t kMostParked = 4096;  // clusters of one thread, beyond which no further one is begun

Error bad(std::string message, std::string hint = "") { return {Code::kInvalidArgument, std::move(message), "", std::move(hint)}; }

std::string text_of(const Dim3& d) { return fmt::format("({}, {}, {})", d.x, d.y, d.z); }

Status check(const Kernel& kernel, const Launch& p) {
  constexpr int64_t kMost = 0x7fffffff;
  auto within = [](const Dim3& d, int64_t most) { return d.x >= 1 && d.y >= 1 && d.z >= 1 && d.x <= most && d.y <= most && d.z <= most; };
  if (!kernel.entry) return bad("the kernel has no code");
  if (!within(p.grid, kMost) || p.grid.y > 65535 || p.grid.z > 65535)
    return bad(fmt::format("a grid of {} blocks cannot be launched", text_of(p.grid)),
               "at least 1 each way, at most (2147483647, 65535, 65535)");
  if (!within(p.block, kMaxThreads) || p.block.count() > kMaxThreads || p.block.z > 64)
    return bad(fmt::format("a block of {} threads cannot be launched", text_of(p.block)), "at least 1 each way, at most 1024 in all");
  if (!within(p.cluster, kMaxClusterBlocks) || p.cluster.count() > kMaxClusterBlocks)
    return bad(fmt::format("a cluster of {} blocks cannot be launched", text_of(p.cluster)), "at most 16 blocks in all");
  if (p.grid.x % p.cluster.x || p.grid.y % p.cluster.y || p.grid.z % p.cluster.z)
    return bad(fmt::format("a grid of {} blocks does not consist of clusters of {}", text_of(p.grid), text_of(p.cluster)));
  if (p.shared_bytes < 0 || p.shared_bytes > kMaxSharedBytes)
    return bad(fmt::format("a block cannot have {} bytes of shared memory", p.shared_bytes), fmt::format("at most {}", kMaxSharedBytes));
  return Ok{};
}

// One thread's share of a launch.
class Worker {
 public:
  // One of `turns` is the worker's own: it counts the turns that it gave to clusters, and is kGone at the end.
  Worker(LaunchState& launch, std::vector<std::atomic<uint64_t>>& turns, size_t own) : launch_(launch), turns_(turns), own_(turns[own]) {}
  ~Worker() { own_ = kGone; }

  void work() {
    bool begin_another = true;
    while (!launch_.failed.load(std::memory_order_relaxed)) {
      std::unique_ptr<Cluster> c = begin_another ? begin() : nullptr;
      if (!c && parked_.empty()) return;
      if (!c) {
        c = std::move(parked_.front());
        parked_.pop_front();
      }
      Cluster::Stop stop = c->run();
      if (c->made_progress()) launch_.progress.fetch_add(1, std::memory_order_release);
      own_.fetch_add(1, std::memory_order_release);
      begin_another = true;
      if (stop == Cluster::Stop::kParked) {
        bool waits = !c->made_progress();
        parked_.push_back(std::move(c));
        if (waits && !be_patient()) return;
        continue;
      }
      c->end();
      keep(*c);
      begin_another = parked_.empty() || stop == Cluster::Stop::kFailed;  // those that wait first: they may be able to go on
      spare_ = std::move(c);
    }
  }

 private:
  // The next cluster that no one has begun, or null.
  std::unique_ptr<Cluster> begin() {
    if (parked_.size() >= kMostParked || launch_.next.load(std::memory_order_relaxed) >= launch_.clusters) return nullptr;
    std::unique_ptr<Cluster> c = spare_ ? std::move(spare_) : std::make_unique<Cluster>(launch_);
    if (!c->is_valid()) {
      std::lock_guard lock(launch_.mutex);
      if (!launch_.error)
        launch_.error = Error{Code::kLaunch, fmt::format("kernel '{}': no memory for the stacks of its warps", launch_.kernel.name), "",
                              "are too many blocks of it waiting for each other?"};
      launch_.failed = true;
      return nullptr;
    }
    int64_t index = launch_.next.fetch_add(1);
    if (index >= launch_.clusters) {
      spare_ = std::move(c);
      return nullptr;
    }
    c->begin(index);
    return c;
  }

  void keep(Cluster& c) {
    if (c.printed.empty()) return;
    std::lock_guard lock(launch_.mutex);
    launch_.printed[c.index] = std::move(c.printed);
  }

  // Called after each turn of a cluster in which nothing happened. False: nothing happens anywhere, for too long.
  bool be_patient() {
    if (++idle_turns_ % 64 != 0) return true;
    std::this_thread::yield();
    auto now = Clock::now();
    bool too_long = std::chrono::duration<double>(now - since_).count() >= launch_.params.patience;
    if (idle_turns_ != 64 && !too_long) return true;
    if (idle_turns_ != 64 && nothing_happened()) {
      parked_.front()->give_up();
      return false;
    }
    since_ = now;
    seen_turns_.clear();
    for (auto& t : turns_) seen_turns_.push_back(t.load(std::memory_order_acquire));
    seen_progress_ = launch_.progress.load(std::memory_order_acquire);
    return true;
  }

  // Since the last look: each worker has had two turns or more, so that a whole one is among them, and none was of use.
  bool nothing_happened() const {
    for (size_t i = 0; i < turns_.size(); ++i) {
      uint64_t now = turns_[i].load(std::memory_order_acquire);
      if (now != kGone && now < seen_turns_[i] + 2) return false;
    }
    return launch_.progress.load(std::memory_order_acquire) == seen_progress_;
  }

  LaunchState& launch_;
  std::deque<std::unique_ptr<Cluster>> parked_;
  std::unique_ptr<Cluster> spare_;
  std::vector<std::atomic<uint64_t>>& turns_;
  std::atomic<uint64_t>& own_;
  uint64_t idle_turns_ = 0, seen_progress_ = 0;
  std::vector<uint64_t> seen_turns_;
  Clock::time_point since_;
};

}  // namespace

Status launch(const Kernel& kernel, const Launch& params) {
  if (Status s = check(kernel, params); !s) return s;
  LaunchState state(kernel, params);
  state.blocks_per_cluster = static_cast<int>(params.cluster.count());
  state.clusters = params.grid.count() / state.blocks_per_cluster;
  state.warps = static_cast<int>((params.block.count() + 31) / 32);
  int64_t threads = params.checker       ? 1
                    : params.threads > 0 ? params.threads
                                         : static_cast<int64_t>(std::max(1u, std::thread::hardware_concurrency()));
  threads = std::min(threads, state.clusters);
  std::vector<std::atomic<uint64_t>> turns(static_cast<size_t>(threads));
  auto work = [&](size_t number) {
    FaultGuard guard;
    Worker(state, turns, number).work();
  };
  std::vector<std::thread> others;
  for (int64_t i = 1; i < threads; ++i) others.emplace_back(work, static_cast<size_t>(i));
  work(0);
  for (std::thread& t : others) t.join();
  std::string printed;
  for (const auto& [index, text] : state.printed) printed += text;
  if (!printed.empty()) std::fwrite(printed.data(), 1, printed.size(), stdout);
  if (state.error) return *std::move(state.error);
  return Ok{};
}

}  // namespace kiln::sim
