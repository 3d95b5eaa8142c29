#include "backends/sim/shim/lanes.h"

#include <bit>
#include <cstdlib>

#include "backends/sim/runtime/spares.h"

namespace kiln::sim {

namespace {

void run_thread(void* argument) {
  auto& t = *static_cast<Thread*>(argument);
  t.body(t.args);
}

// The lanes of `waiting` that ask for the same as lane `lane`.
sim_mask group_of(const Threads& threads, sim_mask waiting, int lane) {
  sim_mask group = 0;
  for_each_lane(waiting, [&](int l) {
    if (threads[l].request.meets(threads[lane].request)) group |= 1u << l;
  });
  return group;
}

// Calls f(group, first lane) for each group of lanes until it returns true.
template <class F>
bool any_group(const Threads& threads, sim_mask waiting, F f) {
  for (sim_mask left = waiting; left;) {
    int lane = std::countr_zero(left);
    sim_mask group = group_of(threads, waiting, lane);
    if (f(group, threads[lane].request)) return true;
    left &= ~group;
  }
  return false;
}

// Lanes that look whether something has happened: all of them look, and go on.
sim_mask poll(sim_warp* w, Threads& threads, sim_mask waiting) {
  sim_mask spinning = 0, trying = 0, rest = 0;
  for_each_lane(waiting, [&](int l) {
    Meet kind = threads[l].request.kind;
    (kind == Meet::kSpin ? spinning : kind == Meet::kTryWait ? trying : rest) |= 1u << l;
  });
  auto same = [&](int a, int b) {
    const Request &x = threads[a].request, &y = threads[b].request;
    return x.address == y.address && x.value == y.value && x.mode == y.mode;
  };
  bool alone = !spinning;
  sim_mask left = trying;
  while (left) {
    int first = std::countr_zero(left);
    sim_mask group = 0;
    for_each_lane(left, [&](int l) { group |= same(first, l) ? 1u << l : 0; });
    left &= ~group;
    const Request& r = threads[first].request;
    void* barrier = sim_shared_pointer(w, r.address);
    bool parity = r.mode != 0;
    uint64_t done = 1;
    if (alone && group == trying) {  // the whole warp can sleep
      if (parity) {
        w->sim->mbarrier_wait_parity(w, group, barrier, static_cast<int32_t>(r.value), 0);
      } else {
        w->sim->mbarrier_wait(w, group, barrier, r.value, 0);
      }
    } else {
      done = parity ? w->sim->mbarrier_test_parity(w, group, barrier, static_cast<int32_t>(r.value), 0)
                    : w->sim->mbarrier_test(w, group, barrier, r.value, 0);
    }
    for_each_lane(group, [&](int l) { threads[l].request.result = done; });
  }
  if (spinning) w->sim->sleep(w, spinning, 0, 0);
  return spinning | trying;
}

// All lanes of `waiting` have stopped: lets some go on. Those are the result.
sim_mask advance(sim_warp* w, Threads& threads, sim_mask waiting) {
  sim_mask chosen = 0;
  auto take = [&](sim_mask group, const Request& r) {
    perform(w, threads, group, r);
    chosen = group;
    return true;
  };
  bool found = any_group(threads, waiting, [&](sim_mask group, const Request& r) {
    if (r.kind >= Meet::kActiveMask) return false;
    sim_mask members = r.kind >= Meet::kCopyWait ? group : (r.members ? r.members : ~0u) & waiting;
    return (members & ~group) == 0 && take(group, r);
  });
  if (found) return chosen;
  if (any_group(threads, waiting, [&](sim_mask g, const Request& r) { return r.kind == Meet::kActiveMask && take(g, r); })) return chosen;
  if (sim_mask polled = poll(w, threads, waiting)) return polled;
  // Parts of a warp at different barriers.
  if (any_group(threads, waiting, [&](sim_mask g, const Request& r) { return r.kind == Meet::kBarrier && take(g, r); })) return chosen;
  int lane = std::countr_zero(waiting);
  fail(w, lane, "the threads of a warp wait for each other: some are at one operation of the warp, others at another, or have exited");
}

}  // namespace

TextLaunch::~TextLaunch() {
  for (auto& [warp, threads] : threads_) {
    for (Thread& t : *threads) Spares::global().give_fiber(kThreadStackBytes, std::move(t.fiber));
  }
}

Threads* TextLaunch::threads_of(sim_warp* w) {
  std::unique_ptr<Threads>* made;
  {
    std::lock_guard lock(mutex_);
    made = &threads_[w];  // stays where it is
  }
  if (!*made) *made = std::make_unique<Threads>();
  bool valid = true;
  for_each_lane(w->lanes, [&](int l) {
    Thread& t = (**made)[l];
    if (!t.fiber) t.fiber = Spares::global().take_fiber(kThreadStackBytes);
    valid = valid && t.fiber;
  });
  return valid ? made->get() : nullptr;
}

void run_text_warp(void* warp, kiln_text::Body body, void* const* args, kiln_text::Lane** current, unsigned static_shared_bytes) {
  auto* w = static_cast<sim_warp*>(warp);
  TextLaunch& launch = launch_of(w);
  Threads* threads = launch.threads_of(w);
  if (!threads) fail(w, 0, "there is no memory for the stacks of its threads");
  auto index = [](int32_t x, int32_t y, int32_t z) {
    return kiln_text::Index{static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z)};
  };
  for_each_lane(w->lanes, [&](int l) {
    Thread& t = (*threads)[l];
    t.api = &text_api();
    t.thread = index(w->thread_x[l], w->thread_y[l], w->thread_z[l]);
    t.block = index(w->block_x, w->block_y, w->block_z);
    t.block_dim = index(w->block_dim_x, w->block_dim_y, w->block_dim_z);
    t.grid_dim = index(w->grid_dim_x, w->grid_dim_y, w->grid_dim_z);
    t.cluster_dim = index(w->cluster_dim_x, w->cluster_dim_y, w->cluster_dim_z);
    t.lane = l, t.warp = w->warp;
    t.cluster_rank = static_cast<unsigned>(w->cluster_rank);
    t.dynamic_offset = dynamic_shared_offset(static_shared_bytes);
    t.shared_bytes = w->shared_bytes;
    t.shared = w->shared, t.cluster_shared = w->cluster_shared;
    t.grid_workspace = launch.cooperative ? reinterpret_cast<uint64_t>(launch.workspace) : 0;
    t.sim = w, t.body = body, t.args = args;
    t.request = {};
    t.fiber->start(run_thread, &t);
  });
  for (sim_mask runnable = w->lanes; w->live;) {
    for_each_lane(runnable, [&](int l) {
      Thread& t = (*threads)[l];
      *current = &t;
      t.fiber->resume();
      if (t.fiber->is_finished()) w->live &= ~(1u << l);
    });
    if (w->live) runnable = advance(w, *threads, w->live);
  }
}

const char* TextLaunch::keep(std::string message) {
  std::lock_guard lock(mutex_);
  return messages_.emplace_back(std::move(message)).c_str();
}

void fail(sim_warp* w, int lane, std::string message) {
  const char* kept = launch_of(w).keep(std::move(message));
  w->sim->fail(w, lane, kept, 0);
  std::abort();  // not reached
}

}  // namespace kiln::sim
