// The checked mode of one launch: its memory, its groups, its findings.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/sim/checker/counters.h"
#include "backends/sim/checker/findings.h"
#include "backends/sim/checker/group.h"
#include "backends/sim/runtime/launch.h"

namespace kiln::sim::checker {

// Global memory that a launch may touch.
struct Memory {
  std::string name;  // of the parameter that points to it
  const std::byte* base = nullptr;
  size_t bytes = 0;
};

class Checker {
 public:
  struct Launch {
    std::string kernel;
    std::span<const Site> sites;                          // by number; they live as long as the checker
    std::vector<Memory> global;                           // they do not overlap
    int64_t threads = 1;                                  // of a block
    std::vector<runtime::AccessCount>* counts = nullptr;  // gets what its accesses cost; null: they are not counted
  };
  Checker(Launch launch, Findings& findings);
  ~Checker();
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;

  // The blocks of a cluster (or one block) begin and end. A group lives until it ends.
  Group& begin(std::vector<Group::Block> blocks);
  void end(Group& group, bool has_finished = true);
  // All blocks have met: whatever was accessed before is ordered before what follows.
  void grid_sync();
  // A fault that the runtime sees.
  void report(std::string_view kind, uint32_t site, const std::string& message);

  Counters* counters() { return launch_.counts ? &counters_ : nullptr; }

  int warps_per_block() const { return warps_; }
  const Launch& launch() const { return launch_; }
  const Site& site(uint32_t number) const { return number < launch_.sites.size() ? launch_.sites[number] : no_site_; }
  Cause statement(uint32_t number) const;        // of what one statement does to one buffer
  Cause buffer(uint32_t number) const;           // of what is done to its buffer
  std::string line_text(uint32_t number) const;  // " [kernel line 40]"
  std::string site_text(uint32_t number) const;  // " at gemm.py:21 [kernel line 40]"

 private:
  friend class Group;
  struct Region {
    Memory memory;
    Shadow shadow;
  };
  Region* find(const std::byte* at);  // the region that holds the byte
  const Region* nearest(const std::byte* at) const;
  std::string foreign_text(const Entry& e) const;  // who made an access of another group

  Launch launch_;
  Findings& findings_;
  Site no_site_;
  int warps_;
  std::vector<Region> regions_;        // sorted by base
  size_t last_ = 0;                    // region that was found last
  std::set<uint32_t> told_unwritten_;  // sites where the runtime itself met memory that nothing had written
  uint32_t next_group_ = 0;
  Counters counters_;
  std::map<uint32_t, std::unique_ptr<Group>> groups_;
  std::vector<Shadow> spare_;                                             // of blocks that have ended, for those that get the same memory
  std::map<uint32_t, std::array<int64_t, 3>> first_block_;                // of groups that have ended
  std::unordered_map<const void*, std::map<uint32_t, Clock>> variables_;  // what atomics have released, by address
};

}  // namespace kiln::sim::checker
