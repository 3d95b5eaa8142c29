// How well the warps of a launch use memory: bank conflicts in shared memory, sectors of global memory, by the place of the access.
//
// The model: what the lanes of a warp access by one instruction is a request. Shared memory has 32 banks of 4 bytes; a request of up to 4
// bytes a lane is served at once, of 8 bytes by half warps, of 16 by quarters, and each of these takes as many wavefronts as there are
// different words in one bank (CUDA C++ Programming Guide, "Shared Memory"; Best Practices Guide, 10.2.3). Global memory is moved in
// sectors of 32 bytes (Best Practices Guide, 10.2.1). Caches, and what the compiler merges or keeps in registers, are not modelled.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "backends/sim/checker/shadow.h"
#include "backends/sim/runtime/launch.h"
#include "runtime/device.h"

namespace kiln::sim::checker {

// Bytes that one lane accesses in a request.
struct Piece {
  int lane = 0;
  uintptr_t at = 0;
  size_t bytes = 0;
};

// Wavefronts of a request to shared memory, and sectors of one to global memory, with the fewest that its bytes could do with.
struct Cost {
  int64_t taken = 0, ideal = 0;
};
Cost shared_cost(std::span<const Piece> request);
Cost global_cost(std::span<const Piece> request);

// Counts for one launch. For one thread.
class Counters {
 public:
  // One access by a lane of the warp, which `warp` names. Lanes come one after the other, each with all that it does at the site, as
  // generated code has them; `elements` of a site make one access.
  void add(uint64_t warp, int lane, const void* at, size_t bytes, bool is_shared, Access access, uint32_t site, int elements);
  // A whole request.
  void add(std::span<const Piece> request, bool is_shared, Access access, uint32_t site);
  // What was counted, in the order of the kernel's lines.
  std::vector<runtime::AccessCount> take(const std::string& kernel, std::span<const Site> sites);

 private:
  // The requests that the lanes of a warp are making at a site.
  struct Open {
    Access access = Access::kRead;
    int first_lane = 0, lane = -1;
    size_t accesses = 0;                       // of the lane so far
    std::vector<std::vector<Piece>> requests;  // by their number
  };
  using Key = std::tuple<uint32_t, bool, uint64_t>;  // site, is it shared, warp
  void flush(const Key& key, Open& open);

  std::map<Key, Open> open_;
  std::map<std::pair<uint32_t, bool>, runtime::AccessCount> counts_;
};

}  // namespace kiln::sim::checker
