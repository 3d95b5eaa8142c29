// What matrix instructions ask before they work, and the forms that they are given.
#pragma once

#include <memory>
#include <string>

#include "backends/sim/runtime/state.h"

namespace kiln::sim {

// Fails the warp unless all its lanes take part.
inline void require_all(sim_warp* w, sim_mask mask, int32_t site, const char* what) {
  if (mask == 0xFFFFFFFFu) return;
  cluster_of(w).fail("divergent_barrier", warp_of(w), -1, site,
                     [&] { return std::string(what) + " must be executed by all lanes of a warp"; });
}

// Fails the warp when `work` gives an error, which it must give each time that it is called. No error may live here when the warp fails:
// its fiber is abandoned, and nothing on its stack destroyed. `lane` is -1 for the warp as one.
template <class F>
void require(sim_warp* w, int lane, int32_t site, F work) {
  if (Status(work()).ok()) return;
  cluster_of(w).fail("bad_matrix", warp_of(w), lane, site, [&] { return Status(work()).error().message; });
}

// A parsed form, of whatever type, for the operation that knows it.
template <class T>
Result<std::shared_ptr<const void>> shared_form(Result<T> form) {
  if (!form) return form.error();
  return std::shared_ptr<const void>(std::make_shared<T>(std::move(*form)));
}

}  // namespace kiln::sim
