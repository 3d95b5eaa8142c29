// Kernels written by hand against the simulator's interface, for tests.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backends/sim/runtime/launch.h"

namespace kiln::sim::test {

inline constexpr sim_mask kAll = ~0u;

struct Config {
  Dim3 grid{}, block{32, 1, 1}, cluster{};
  int64_t shared_bytes = 0;
  uint64_t seed = 0;
  int threads = 1;
  double patience = 10;
  std::span<const void* const> forms{};  // of matrix instructions
};

// args[i] of the kernel is data[i] itself.
inline Status run(sim_kernel entry, const Config& c, std::vector<void*> data = {}) {
  static const std::vector<Site> sites = {{}, {"k.py:1", 1, ""}, {"k.py:2", 2, ""}, {"k.py:3", 3, ""}};
  Kernel kernel;
  kernel.name = "k";
  kernel.entry = entry;
  kernel.sites = sites;
  kernel.forms = c.forms;
  Launch launch;
  launch.grid = c.grid, launch.block = c.block, launch.cluster = c.cluster;
  launch.shared_bytes = c.shared_bytes;
  launch.args = data.data();
  launch.seed = c.seed;
  launch.threads = c.threads;
  launch.patience = c.patience;
  return sim::launch(kernel, launch);
}

// "" for success, else "place: message".
inline std::string error_of(const Status& s) { return s ? "" : s.error().to_string(); }

template <class F>
void each_lane(sim_mask mask, F f) {
  for (int l = 0; l < 32; ++l) {
    if (mask >> l & 1) f(l);
  }
}

inline int thread_of(const sim_warp* w, int lane) { return 32 * w->warp + lane; }

}  // namespace kiln::sim::test
