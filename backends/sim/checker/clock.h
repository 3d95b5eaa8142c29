// Vector clocks of a group of warps, exact to the lane.
//
// An *agent* is what makes accesses in an order of its own: the threads of a warp, or one of the engines that work asynchronously for
// them. Each agent counts epochs. A clock says, per agent and lane, up to which epoch its accesses are ordered before a point of the run.
// Warps mostly move as one, so a clock keeps one number per agent and 32 only for agents whose lanes differ.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "backends/sim/matrix/lanes.h"

namespace kiln::sim::checker {

constexpr uint32_t kAllLanes = 0xffffffffu;

class Clock {
 public:
  // The last epoch of the agent's lane that is known; 0 is none.
  uint32_t known(uint32_t agent, int lane) const;
  // The last epoch that is known of every lane.
  uint32_t known(uint32_t agent) const { return agent < all_.size() ? all_[agent] : 0; }
  // Whether the epoch is known of every lane in `lanes`.
  bool covers(uint32_t agent, uint32_t lanes, uint32_t epoch) const;

  // Learns that the lanes have reached the epoch. Lanes that do not exist are given as well, so that the rest counts as all.
  void raise(uint32_t agent, uint32_t lanes, uint32_t epoch);
  // Learns all that the other knows.
  void join(const Clock& other);
  void clear();
  bool empty() const { return all_.empty() && some_.empty(); }

 private:
  struct Lanes {
    uint32_t agent;
    std::array<uint32_t, kLanes> at;  // at least all_[agent], and more in some lane
  };
  const Lanes* find(uint32_t agent) const;
  Lanes& spread(uint32_t agent);  // its lanes apart
  void raise_all(uint32_t agent, uint32_t epoch);
  void settle(uint32_t agent);  // one number again where one will do

  std::vector<uint32_t> all_;
  std::vector<Lanes> some_;  // few: agents whose lanes differ
};

}  // namespace kiln::sim::checker
