// What kernels say and how they end; groups of matrix instructions; the table of all operations.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "backends/sim/runtime/bulk.h"
#include "backends/sim/runtime/matrix_operations.h"
#include "backends/sim/runtime/operations.h"
#include "backends/sim/runtime/tcgen05_operations.h"

namespace kiln::sim {

namespace {

constexpr size_t kMostPrinted = 1 << 20;  // bytes of a cluster; what comes after is dropped, as from the device's buffer
constexpr int kMostWidth = 512;

// The arguments of a format, in turn; none left reads as zero.
class Values {
 public:
  Values(const sim_value* values, int32_t count) : at_(values), end_(values + std::max(0, count)) {}
  sim_value take() { return at_ < end_ ? *at_++ : sim_value{SIM_VALUE_INT, {0}}; }

 private:
  const sim_value *at_, *end_;
};

template <class T>
void append(std::string& out, const std::string& spec, T value) {
  char text[2 * kMostWidth];
  int n = std::snprintf(text, sizeof text, spec.c_str(), value);
  if (n > 0) out.append(text, std::min(static_cast<size_t>(n), sizeof text - 1));
}

bool is_one_of(char c, const char* set) { return c != 0 && std::strchr(set, c) != nullptr; }

int number(const char*& p, Values& values) {
  if (*p == '*') {
    ++p;
    return static_cast<int>(std::clamp<int64_t>(values.take().as.i, 0, kMostWidth));
  }
  int n = 0;
  for (; *p >= '0' && *p <= '9'; ++p) n = std::min(kMostWidth, n * 10 + (*p - '0'));
  return n;
}

// One conversion, `p` behind its '%'. Only its form is taken from the text: the type of an argument is known from the argument.
void convert(const char*& p, Values& values, std::string& out) {
  std::string spec = "%";
  while (is_one_of(*p, "-+ #0")) spec += *p++;
  if (int width = number(p, values)) spec += std::to_string(width);
  if (*p == '.') {
    ++p;
    spec += "." + std::to_string(number(p, values));
  }
  bool is_long = false;
  for (; is_one_of(*p, "hlLqjzt"); ++p) is_long |= is_one_of(*p, "lqjzt");
  char c = *p;
  if (c == 0) return;
  ++p;
  if (c == '%') {
    out += '%';
  } else if (is_one_of(c, "di")) {
    int64_t v = values.take().as.i;
    append(out, spec + "lld", static_cast<long long>(is_long ? v : static_cast<int32_t>(v)));
  } else if (is_one_of(c, "uoxX")) {
    uint64_t v = values.take().as.u;
    append(out, spec + "ll" + c, static_cast<unsigned long long>(is_long ? v : static_cast<uint32_t>(v)));
  } else if (is_one_of(c, "fFeEgGaA")) {
    sim_value v = values.take();
    append(out, spec + c, v.kind == SIM_VALUE_FLOAT ? v.as.f : static_cast<double>(v.as.i));
  } else if (c == 'c') {
    append(out, spec + "c", static_cast<int>(values.take().as.i));
  } else if (c == 'p') {
    append(out, spec + "p", values.take().as.p);
  } else if (c == 's') {
    sim_value v = values.take();
    append(out, spec + "s", v.kind == SIM_VALUE_TEXT && v.as.p ? static_cast<const char*>(v.as.p) : "(not a text)");
  }
}

}  // namespace

namespace ops {

void trap(sim_warp* w, int lane, int32_t site) {
  cluster_of(w).fail("trap", warp_of(w), lane, site, [] { return "the kernel stopped itself (trap)"; });
}

void fail(sim_warp* w, int lane, const char* message, int32_t site) {
  cluster_of(w).fail("assert", warp_of(w), lane, site, [&] { return fmt::format("assertion failed: {}", message ? message : ""); });
}

void print(sim_warp* w, int, const char* format, const sim_value* values, int32_t count) {
  std::string& out = cluster_of(w).printed;
  Values rest(values, count);
  for (const char* p = format; *p && out.size() < kMostPrinted;) {
    if (*p != '%') {
      out += *p++;
    } else {
      convert(++p, rest, out);
    }
  }
}

void sleep(sim_warp* w, sim_mask, uint32_t, int32_t site) { cluster_of(w).spin(warp_of(w), site); }

uint64_t clock(sim_warp* w) {
  Cluster& c = cluster_of(w);
  c.ticks += 16;
  return c.ticks + 256 * c.steps;
}

void set_max_registers(sim_warp* w, sim_mask, int32_t count, int32_t, int32_t site) {
  if (count >= 24 && count <= 256 && count % 8 == 0) return;
  cluster_of(w).fail("launch_limit", warp_of(w), -1, site,
                     [&] { return fmt::format("setmaxnreg to {} registers: their number must be a multiple of 8 from 24 to 256", count); });
}

void wgmma_fence(sim_warp*, sim_mask, int32_t) {}

void wgmma_commit(sim_warp* w, sim_mask, int32_t) { ++warp_of(w).wgmma_groups; }

void wgmma_wait(sim_warp* w, sim_mask, int32_t pending, int32_t) {
  Warp& warp = warp_of(w);
  auto kept = static_cast<uint32_t>(std::max(0, pending));
  cluster_of(w).complete(
      [&](const Agent& a) { return a.queue == Agent::Queue::kWgmma && a.owner == &warp && a.group + kept < warp.wgmma_groups; });
}

// All tensor work of a cluster is done in the order of its issue, so that this comes after what it is to wait for.
void tcgen05_commit(sim_warp* w, int lane, void* barrier, int32_t blocks, int32_t site) {
  Cluster& c = cluster_of(w);
  Agent a;
  a.queue = Agent::Queue::kTensor;
  a.owner = &c;
  a.run = [&c, site, to_all = receivers(w, lane, barrier, barrier, 8, blocks, site)](std::vector<std::byte>&) {
    for (const Receiver& r : to_all) arrive_from_agent(c, r.barrier, site);
  };
  c.issue(std::move(a));
}

void tcgen05_wait(sim_warp*, sim_mask, int32_t) {}  // loads and stores of tensor memory are done at once

}  // namespace ops

const sim_api& api() {
  static const sim_api table = [] {
    sim_api a{};
    a.barrier_sync = ops::barrier_sync;
    a.barrier_arrive = ops::barrier_arrive;
    a.barrier_reduce = ops::barrier_reduce;
    a.sync_warp = ops::sync_warp;
    a.cluster_arrive = ops::cluster_arrive;
    a.cluster_wait = ops::cluster_wait;
    a.grid_sync = ops::grid_sync;
    a.fence = ops::fence;
    a.shuffle = ops::shuffle;
    a.vote = ops::vote;
    a.match_any = ops::match_any;
    a.match_all = ops::match_all;
    a.elect = ops::elect;
    a.reduce = ops::reduce;
    a.mbarrier_init = ops::mbarrier_init;
    a.mbarrier_inval = ops::mbarrier_inval;
    a.mbarrier_arrive = ops::mbarrier_arrive;
    a.mbarrier_arrive_drop = ops::mbarrier_arrive_drop;
    a.mbarrier_arrive_expect_tx = ops::mbarrier_arrive_expect_tx;
    a.mbarrier_expect_tx = ops::mbarrier_expect_tx;
    a.mbarrier_complete_tx = ops::mbarrier_complete_tx;
    a.mbarrier_test = ops::mbarrier_test;
    a.mbarrier_test_parity = ops::mbarrier_test_parity;
    a.mbarrier_wait = ops::mbarrier_wait;
    a.mbarrier_wait_parity = ops::mbarrier_wait_parity;
    a.cp_async = ops::cp_async;
    a.cp_async_commit = ops::cp_async_commit;
    a.cp_async_wait = ops::cp_async_wait;
    a.cp_async_arrive = ops::cp_async_arrive;
    a.bulk_load = ops::bulk_load;
    a.bulk_store = ops::bulk_store;
    a.bulk_reduce = ops::bulk_reduce;
    a.tensor_load = ops::tensor_load;
    a.tensor_store = ops::tensor_store;
    a.bulk_commit = ops::bulk_commit;
    a.bulk_wait = ops::bulk_wait;
    a.store_async = ops::store_async;
    a.bulk_zero = ops::bulk_zero;
    a.try_cancel = ops::try_cancel;
    a.atomic = ops::atomic;
    a.trap = ops::trap;
    a.fail = ops::fail;
    a.print = ops::print;
    a.sleep = ops::sleep;
    a.clock = ops::clock;
    a.set_max_registers = ops::set_max_registers;
    a.wgmma_fence = ops::wgmma_fence;
    a.wgmma_commit = ops::wgmma_commit;
    a.wgmma_wait = ops::wgmma_wait;
    a.tcgen05_commit = ops::tcgen05_commit;
    a.tcgen05_wait = ops::tcgen05_wait;
    a.mma = ops::mma;
    a.mma_sparse = ops::mma_sparse;
    a.ldmatrix = ops::ldmatrix;
    a.stmatrix = ops::stmatrix;
    a.wgmma = ops::wgmma;
    a.mma_scaled = ops::mma_scaled;
    a.wmma_load = ops::wmma_load;
    a.wmma_store = ops::wmma_store;
    a.wmma_mma = ops::wmma_mma;
    a.tcgen05_alloc = ops::tcgen05_alloc;
    a.tcgen05_dealloc = ops::tcgen05_dealloc;
    a.tcgen05_relinquish = ops::tcgen05_relinquish;
    a.tcgen05_move = ops::tcgen05_move;
    a.tcgen05_cp = ops::tcgen05_cp;
    a.tcgen05_shift = ops::tcgen05_shift;
    a.tcgen05_mma = ops::tcgen05_mma;
    return a;
  }();
  return table;
}

}  // namespace kiln::sim
