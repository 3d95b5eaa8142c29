// What the parts of the runtime share: warps, blocks, clusters, asynchronous work. Not for generated code.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/sim/matrix/tensor_memory.h"
#include "backends/sim/runtime/fiber.h"
#include "backends/sim/runtime/launch.h"
#include "backends/sim/runtime/sim.h"

namespace kiln::sim {

namespace checker {
class Group;
}

class Cluster;
struct Block;
struct LaunchState;

// Deterministic random numbers (splitmix64).
class Random {
 public:
  explicit Random(uint64_t seed = 0) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  size_t below(size_t n) { return static_cast<size_t>((static_cast<unsigned __int128>(next()) * n) >> 64); }
  bool one_in(size_t n) { return below(n) == 0; }

 private:
  uint64_t state_;
};

// What a warp waits for.
enum class Wait : uint8_t { kNone, kBarrier, kCluster, kGrid, kMbarrier, kMbarrierInit, kSpin, kTensorMemory };

// One cp.async of one lane.
struct CpAsync {
  std::byte* to;
  const std::byte* from;
  uint32_t group;  // of its lane
  uint8_t bytes, valid, lane;
};

struct Warp : sim_warp {
  Block* block = nullptr;
  std::unique_ptr<Fiber> fiber;
  bool is_done = false;

  // While it does not run.
  Wait wait = Wait::kNone;
  const void* waits_on = nullptr;  // the NamedBarrier, the mbarrier, ...; who completes it wakes all who wait on it
  sim_mask wait_mask = 0;
  uint64_t wait_value = 0;  // parity of an mbarrier; else the barrier's number
  int32_t site = 0;         // where it waits or spins
  uint32_t spins = 0;       // reads of memory in a row that found nothing to do

  std::vector<CpAsync> copies;                            // not done, oldest first
  std::array<uint32_t, 32> copy_groups{}, bulk_groups{};  // that lanes have committed
  uint32_t wgmma_groups = 0;
  uint32_t cluster_phase = 0;  // in which it arrived at the cluster's barrier
  bool is_at_cluster = false;  // it has arrived there and not waited yet
  uint32_t grid_phase = 0;     // and at the grid's
};

// A barrier of threads. Warps arrive whole.
struct NamedBarrier {
  int arrived = 0, expected = 0;  // threads; expected 0: no one has arrived
  uint32_t phase = 0;
  bool all_threads = false;                 // expects the block's threads, as many as there are
  int32_t site = 0;                         // of the first arrival
  int32_t count = 0;                        // of predicates that hold
  int32_t voters = 0;                       // threads that gave one
  int32_t last_count = 0, last_voters = 0;  // of the phase before
};

struct Block {
  Cluster* cluster = nullptr;
  int rank = 0;
  int32_t x = 0, y = 0, z = 0;
  std::byte* shared = nullptr;
  std::vector<std::unique_ptr<Warp>> warps;
  int live_warps = 0;
  std::array<NamedBarrier, 16> barriers;
  int grid_arrived = 0;                         // warps
  std::unique_ptr<TensorMemory> tensor_memory;  // made when first used
};

// Asynchronous work: done at a random later moment, at the latest when someone waits for it.
struct Agent {
  // Work of kWgmma and of kTensor is done in the order of its issue by one owner, the rest in any.
  enum class Queue : uint8_t { kFree, kCopy, kBulk, kWgmma, kTensor };
  Queue queue = Queue::kFree;
  const void* owner = nullptr;  // the warp; the cluster of tensor work
  int lane = 0;
  uint32_t group = 0;
  std::function<void(std::vector<std::byte>&)> read;  // may be done before the rest: takes what it needs of its source
  std::function<void(std::vector<std::byte>&)> run;   // with what was read; it may wake warps, but issue nothing
  std::vector<std::byte> data;
};

// The blocks of a cluster (or one block): what runs on one thread at a time.
class Cluster {
 public:
  Cluster(LaunchState& launch);
  ~Cluster();
  bool is_valid() const { return valid_; }  // there was memory for it
  void begin(int64_t index);                // the cluster of this number, from its start
  void end();                               // it has finished, or failed

  enum class Stop { kFinished, kParked, kFailed };
  // Runs warps until all have finished, or all that could run wait for other clusters.
  Stop run();
  void give_up();                                   // reports that its warps wait in vain
  bool made_progress() const { return progress_; }  // in the last run()

  // --- for operations, on the fiber of the warp
  // Sets the warp aside until wake(on).
  void block(Warp& w, sim_mask mask, Wait wait, const void* on, uint64_t value, int32_t site);
  // Lets others run; for who only looks whether something has happened.
  void spin(Warp& w, int32_t site);
  // Lets others run, or not, at random.
  void pause(Warp& w);
  // Counts a look at memory; a row of them lets others run.
  void look(Warp& w, int32_t site) {
    if (++w.spins % 16 == 0) spin(w, site);
  }
  void wake(const void* on);
  void issue(Agent agent) { agents_.push_back(std::move(agent)); }
  // Does all agents for which `is_meant` holds, in order; with `read_only` only their reading.
  template <class F>
  void complete(F is_meant, bool read_only = false) {
    for (size_t i = 0; i < agents_.size();) {
      Agent& a = agents_[i];
      if (!is_meant(a)) {
        ++i;
      } else if (read_only) {
        if (a.read) std::exchange(a.read, nullptr)(a.data);
        ++i;
      } else {
        perform(i);
      }
    }
  }
  // The block whose shared memory holds the address, or null.
  Block* owner_of(const void* address);
  // "byte 1024 of shared memory", with the block where there are several.
  std::string address_text(const void* address);

  // Says what is wrong; the cluster ends. `warp` may be null; lane -1: all of it.
  void report(std::string_view kind, const Warp* warp, int lane, int32_t site, std::string_view message);
  // The same from the fiber of the warp, which never goes on. `message()` makes the text: a string of the caller would never be destroyed.
  template <class F>
  [[noreturn]] void fail(std::string_view kind, Warp& w, int lane, int32_t site, F message) {
    report(kind, &w, lane, site, message());
    stop(w);
  }
  [[noreturn]] void stop(Warp& w);

  LaunchState& launch;
  checker::Group* group = nullptr;  // of a checked launch
  Random random;
  std::vector<Block> blocks;
  std::byte* memory = nullptr;  // of the block of rank 0
  int64_t index = 0;
  uint64_t steps = 0, ticks = 0;  // of the schedule; of the clock that kernels read
  int cluster_arrived = 0;
  uint32_t cluster_phase = 0;
  std::string printed;

 private:
  void resume(Warp& w);
  void exited(Warp& w);
  void perform(size_t agent);
  void perform_any();
  bool wake_from_grid();
  void deadlock();
  void shuffle_ready(size_t first);  // those from `first` on

  // Warps run in the order in which they became ready, those that did so together in random order: on the device, too, none is left behind
  // for long, and programs rely on it where a warp only looks at the phases of an mbarrier.
  std::deque<Warp*> ready_;
  std::vector<Warp*> blocked_;
  std::vector<Agent> agents_;
  size_t quiet_ = 0;  // spins in a row, while nothing else happens
  int live_warps_ = 0;
  bool failed_ = false, progress_ = false, valid_ = false;
};

// One launch, for all its threads.
struct LaunchState {
  LaunchState(const Kernel& k, const Launch& p) : kernel(k), params(p) {}

  const Kernel& kernel;
  const Launch& params;
  int64_t clusters = 0;
  int blocks_per_cluster = 1, threads = 1, warps = 1;  // of a block

  std::atomic<int64_t> next{0};       // cluster to begin
  std::atomic<uint64_t> progress{0};  // changes while something happens
  std::atomic<bool> failed{false};

  std::atomic<int64_t> grid_arrived{0};  // blocks
  std::atomic<uint32_t> grid_phase{0};
  std::atomic<uint64_t> last_exit{0};  // 1 + phase in which a block ended

  std::mutex mutex;  // of what follows
  std::optional<Error> error;
  int64_t error_index = 0;  // of the cluster it is from
  std::map<int64_t, std::string> printed;
};

inline Cluster& cluster_of(sim_warp* w) { return *static_cast<Warp*>(w)->block->cluster; }
inline Warp& warp_of(sim_warp* w) { return *static_cast<Warp*>(w); }

// Checks of named barriers after a warp has exited.
void complete_barriers(Block& b);
void complete_cluster_barrier(Cluster& c);
void complete_grid_barrier(Block& b);

// Transactions of asynchronous work on an mbarrier: `bytes` are there. Reports what is wrong.
void complete_transaction(Cluster& c, void* barrier, int64_t bytes, int32_t site);
// An arrival by asynchronous work.
void arrive_from_agent(Cluster& c, void* barrier, int32_t site);
// One arrival more that the current phase waits for.
void add_pending(sim_warp* w, int lane, void* barrier, int32_t site);
// Bytes of a value of an element type of sim.h.
size_t bytes_of(int dtype);
// Updates memory as sim_api.atomic does, for each element at once; returns whether it changed. `old` may be null.
bool update_memory(int op, int dtype, void* target, const void* operand, const void* compare, void* old);

// "waits for 2 arrivals and 4096 bytes": what an mbarrier lacks, for messages.
std::string mbarrier_text(const void* barrier);
bool mbarrier_misses_bytes(const void* barrier);
// Sets the warp aside until there is an mbarrier, for who is to be told of a use before the initialisation as a race.
void await_mbarrier(sim_warp* w, sim_mask mask, const void* barrier, int32_t site);

// Does the copies of the warp for which `is_meant` holds, oldest first.
void complete_copies(Warp& w, const std::function<bool(const CpAsync&)>& is_meant);

// "block (1, 0, 0), warp 2"
std::string warp_text(const Warp& w, int lane = -1);
std::string site_text(const Kernel& kernel, int32_t site);  // empty: not known

// The operations that generated code calls.
const sim_api& api();

}  // namespace kiln::sim
