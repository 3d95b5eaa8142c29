// The threads whose accesses are checked together: a block, or the blocks of a cluster.
//
// The runtime tells a group what its warps do, in the order of the run; everything about order (happens-before) follows from these events,
// so a race is found whether or not this run's schedule makes it visible. Warps count through the blocks of the group: warp w of the block
// of rank r is r * warps_per_block + w. Masks are of lanes. Not safe from several threads: the blocks of a checked launch run on one.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/sim/checker/clock.h"
#include "backends/sim/checker/counters.h"
#include "backends/sim/checker/findings.h"
#include "backends/sim/checker/shadow.h"
#include "backends/sim/runtime/sim.h"

namespace kiln::sim::checker {

class Checker;

// What works asynchronously for a thread, in groups that it commits and waits for. (Copies that complete on an mbarrier have the barrier
// for an agent.)
enum class Engine : uint8_t {
  kThread,     // the thread itself
  kCpAsync,    // cp.async; per lane
  kBulkRead,   // cp.async.bulk groups: reading the source; per lane
  kBulkWrite,  // and writing the destination
  kWgmma,      // per warp
  kTensor,     // tcgen05.mma, tcgen05.cp, ordered by tcgen05.commit; per lane
};
constexpr size_t kEngines = 6;

// An asynchronous operation that was issued: its accesses come after what its issuer did before, and before what waits for it.
struct Operation {
  int warp = 0, lane = 0;  // the issuer; lane -1: the warp
  uint16_t agent = 0;
  uint32_t epoch = 0;
  uint32_t lanes = 0;
  int64_t bytes = 0;  // that it completes on its mbarrier
};

// What is known at a point of the run.
struct Knowledge {
  Clock here;                           // of the group
  Clock async;                          // of that, what a proxy fence has made visible to the async proxy
  std::map<uint32_t, Clock> elsewhere;  // of other groups, by their number
  void join(const Knowledge& other);
};

enum class Order : uint8_t { kRelaxed, kAcquire, kRelease, kBoth };

class Group {
 public:
  struct Block {
    int64_t index[3] = {0, 0, 0};
    std::byte* shared = nullptr;  // its arena
    size_t shared_bytes = 0;      // static and dynamic together, as launched
  };
  Group(Checker& checker, uint32_t number, std::vector<Block> blocks, std::vector<Shadow> shared);

  // --- accesses
  // One access of one lane, told before it happens and after the one told before has happened. A write of the bytes that memory holds
  // anyway conflicts with nothing, since replicated values are stored so. Returns whether the memory is there and aligned: when not, that
  // was reported and the access must be left out.
  bool access(int warp, int lane, const void* at, size_t bytes, Access access, uint32_t site);
  // The same by the asynchronous operation.
  bool access(const Operation& op, const void* at, size_t bytes, Access access, uint32_t site);
  // An atomic read-modify-write, load or store (`access` is kAtomic or kAtomicRead) of the given order. Synchronises as PTX says: release
  // and acquire by themselves or by a fence beside a relaxed one.
  bool atomic(int warp, int lane, const void* at, size_t bytes, Access access, Order order, uint32_t site);
  // __threadfence, fence.acq_rel and the like.
  void fence(int warp, uint32_t mask);
  // fence.proxy.async: what the lanes know becomes visible to the async proxy, for those who come to know it from them (PTX ISA 9.0,
  // 8.9.3: two accesses by different proxies are in order where a proxy fence lies on the path between them).
  void fence_proxy(int warp, uint32_t mask);

  // --- the threads of a warp
  void warp_sync(int warp, uint32_t mask);
  void set_live(int warp, uint32_t mask) { warps_[static_cast<size_t>(warp)].live = mask; }  // lanes that have not exited

  // --- barriers of threads: named ones (by rank and number), the cluster's, the grid's
  static constexpr uint64_t kClusterBarrier = ~uint64_t{0}, kGridBarrier = ~uint64_t{1};
  static uint64_t named_barrier(int rank, int number) { return static_cast<uint64_t>(rank) << 8 | static_cast<uint64_t>(number); }
  void barrier_arrive(int warp, uint32_t mask, uint64_t barrier);
  void barrier_complete(uint64_t barrier);  // the last one has arrived: the next phase begins
  void barrier_leave(int warp, uint32_t mask, uint64_t barrier);
  void block_barrier(int warp, uint32_t site);  // the warp has executed __syncthreads

  // --- mbarriers, by their address in an arena. Each function also makes the access to the barrier itself, by the lanes of the mask.
  void mbarrier_init(int warp, int lane, const void* barrier, uint32_t site);
  void mbarrier_inval(int warp, int lane, const void* barrier, uint32_t site);
  void mbarrier_expect(int warp, int lane, const void* barrier, int64_t bytes, uint32_t site);
  void mbarrier_arrive(int warp, uint32_t mask, const void* barrier, uint32_t site);
  void mbarrier_complete(const void* barrier, uint32_t site);                       // a phase is over
  void mbarrier_wait(int warp, uint32_t mask, const void* barrier);                 // a test that said: complete
  void mbarrier_test(int warp, uint32_t mask, const void* barrier, uint32_t site);  // before any test or wait

  // --- asynchronous operations
  Operation issue(int warp, int lane, Engine engine);                         // in the group that its thread commits next
  Operation issue(int warp, int lane, const void* barrier, int64_t bytes);    // completes `bytes` on an mbarrier
  void commit(int warp, uint32_t mask, Engine engine);                        // closes the open group
  void wait(int warp, uint32_t mask, Engine engine, int pending);             // until at most `pending` groups are open
  void arrive_after(int warp, int lane, Engine engine, const void* barrier);  // cp.async.mbarrier.arrive, tcgen05.commit
  // Told before they reach the barrier: bytes of a copy, an arrival of arrive_after.
  void copied(const void* barrier, int64_t bytes);
  void arrived(const void* barrier);

  // --- what accesses cost, where that is counted: one by a lane, or a whole request
  void count(int warp, int lane, const void* at, size_t bytes, Access access, uint32_t site);
  void count(std::span<const Piece> request, Access access, uint32_t site);

  // --- registers of wgmma (PTX ISA 9.0, 9.7.15.7): no access to them until their group is waited for, and a wgmma.fence between an access
  // and the next wgmma that works with them, except between those of one shape.
  void use_registers(const Operation& op, const sim_lanes& lanes, size_t bytes, uint32_t site);  // of each lane; by a wgmma
  void register_access(int warp, int lane, const void* at, size_t bytes, Access access, uint32_t site) {
    if (!warps_[static_cast<size_t>(warp)].fragments.empty()) check_registers(warp, lane, at, bytes, access, site);
  }
  void wgmma_fence(int warp);

  // --- faults that the runtime or generated code sees
  void out_of_bounds(int warp, int lane, int64_t index, int64_t extent, uint32_t site);  // of a buffer's own extent
  void uninitialised(int warp, int lane, uint32_t site, int64_t index);                  // element of a lane's own array
  void report(const char* kind, int warp, int lane, uint32_t site, const std::string& message);

  void report(const char* kind, const Cause& cause, int warp, int lane, uint32_t site, const std::function<std::string()>& message,
              int64_t count = 1);

  std::string thread_text(int warp, int lane) const;  // "thread 37 of block 2 (warp 1, lane 5)"; a lane of -1: the warp

 private:
  friend class Checker;
  // Registers that a wgmma works with.
  struct Fragment {
    std::array<const std::byte*, kLanes> at;
    size_t bytes = 0;
    uint32_t group = 0;  // of the last wgmma
    uint32_t site = 0;   // and where that is
    bool is_in_flight = false;
    bool is_touched = false;  // accessed since the last wgmma.fence
    int lane = 0;             // by whom
    uint32_t touched_at = 0;
    bool overlaps(size_t l, const std::byte* from, size_t size) const { return from < at[l] + bytes && at[l] < from + size; }
  };
  struct Warp {
    uint32_t existing = kAllLanes, live = kAllLanes;
    Knowledge common;                                                // what all lanes know
    std::array<std::unique_ptr<Knowledge>, kLanes> lanes;            // and what single ones know beyond; null: nothing
    bool is_split = false;                                           // some lane does
    uint32_t epoch = 1;                                              // of the threads
    bool has_accessed = false;                                       // in this epoch
    uint32_t barriers = 0, last_barrier = 0;                         // __syncthreads executed, and the site of the last
    std::array<std::array<uint32_t, kLanes>, kEngines> committed{};  // groups, by engine and lane
    std::array<std::array<uint32_t, kLanes>, kEngines> done{};       // groups that the lane itself has waited for
    struct Fence {
      Knowledge released;
      uint32_t lanes = 0;
    };
    std::unique_ptr<Fence> fence;         // the last one
    std::unique_ptr<Knowledge> unfenced;  // read by relaxed atomics, acquired by the next fence
    std::vector<Fragment> fragments;
    bool has_wgmma_fence = false;
  };
  struct Barrier {
    Knowledge arrived, done;
    uint16_t agent = 0;                   // of the copies that complete on it; 0: none yet
    uint32_t issued = 0;                  // copies
    std::vector<Operation> in_flight;     // copies that are not complete, oldest first
    std::vector<Operation> to_arrive;     // of arrive_after
    int64_t expected = 0, completed = 0;  // bytes of the phase
    uint32_t phase = 0;
  };

  uint16_t agent(int warp, Engine engine) const {
    return static_cast<uint16_t>(static_cast<size_t>(warp) * kEngines + static_cast<size_t>(engine));
  }
  Warp& warp(int index) { return warps_[static_cast<size_t>(index)]; }
  const Warp& warp(int index) const { return warps_[static_cast<size_t>(index)]; }
  uint32_t everyone(const Warp& w, uint32_t mask) const;
  bool is_ordered(int warp, int lane, const Entry& before) const;
  bool is_visible(int warp, int lane, const Entry& write) const;
  bool is_async_proxy(const Entry& e) const;
  bool is_fenced(int warp, int lane, const Entry& write) const;
  Knowledge release(int warp, uint32_t mask);
  void acquire(int warp, uint32_t mask, const Knowledge& k);
  static Knowledge& of_lane(Warp& w, int lane);
  void release_to(std::map<uint32_t, Clock>& variable, const Knowledge& k) const;
  Barrier& barrier(const void* at) { return mbarriers_[at]; }
  void touch_barrier(int warp, uint32_t mask, const void* at, Access access, uint32_t site);
  void check_block_barriers();
  void check_registers(int warp, int lane, const void* at, size_t bytes, Access access, uint32_t site);
  void register_fault(uint64_t cause, int warp, int lane, const Fragment& f, uint32_t site, const std::function<std::string()>& message);
  void check_bulk_reads();
  bool record(int warp, int lane, const Entry& entry, const void* at, size_t bytes, bool may_wait);
  Shadow* find(const std::byte* at, size_t bytes, bool& is_shared);
  bool is_there(int warp, int lane, const Entry& now, const std::byte* at, size_t bytes);
  const Entry* conflict_of(Shadow& shadow, Cell& cell, int warp, int lane, const Entry& now);
  void keep(Shadow& shadow, Cell& cell, int warp, int lane, const Entry& now);
  void keep_read(Shadow& shadow, Cell& cell, int warp, int lane, const Entry& now);
  void keep_atomic(Shadow& shadow, Cell& cell, int warp, int lane, const Entry& now);
  void settle_writes();
  void explain_unwritten(const std::byte* at, size_t bytes);  // a race with its first write
  void tell_unwritten();
  void unfenced(const Entry& write, const Entry& read, const std::byte* at);
  void race(const Entry& before, const Entry& now, const std::byte* at);
  std::string agent_text(const Entry& e) const;
  std::string place_text(const std::byte* at, uint32_t site) const;
  std::string barrier_text(const void* barrier, uint32_t site) const;

  // A write that conflicts unless it turns out to change nothing, which is seen when the next access is told.
  struct Doubtful {
    Shadow* shadow;
    const std::byte* at;
    size_t bytes;
    int warp, lane;
    Entry now, before;
    std::array<std::byte, 16> old;
  };

  // A read of a cell that nothing had written.
  struct Unwritten {
    size_t order = 0;
    const std::byte* at = nullptr;
    size_t bytes = 0;
    int warp = 0, lane = 0;
    uint32_t site = 0;
    int64_t count = 0;
  };

  // The last copy from shared memory by a lane.
  struct BulkRead {
    uint32_t epoch = 0, site = 0;
    const void* at = nullptr;
  };

  Checker& checker_;
  uint32_t number_;
  std::vector<Block> blocks_;
  std::vector<Shadow> shared_;  // of each block
  std::vector<Warp> warps_;
  std::unordered_map<uint64_t, Barrier> barriers_;
  std::unordered_map<const void*, Barrier> mbarriers_;
  std::vector<const void*> barrier_agents_;  // the mbarrier of each agent after those of the warps
  std::vector<Doubtful> doubtful_;
  std::map<std::pair<const std::byte*, uint32_t>, Unwritten> unwritten_;  // by cell and site
  std::set<uintptr_t> raced_;                                             // words of such cells, of which a race tells
  std::set<std::string> exceeded_;                                        // buffers with an access out of their bounds
  std::map<std::pair<int, int>, BulkRead> last_bulk_read_;                // by warp and lane
};

}  // namespace kiln::sim::checker
