// The registers that wgmma works with while their threads go on.
#include <fmt/format.h>

#include <algorithm>

#include "backends/sim/checker/checker.h"
#include "backends/sim/checker/group.h"

namespace kiln::sim::checker {

namespace {

// Causes of races of registers: no wait (which is also that of races in memory), no wgmma.fence.
constexpr uint64_t kNoWait = 0, kNoFence = 3;

}  // namespace

void Group::register_fault(uint64_t cause, int index, int lane, const Fragment& f, uint32_t site,
                           const std::function<std::string()>& message) {
  auto [first, last] = std::minmax(checker_.site(f.site).stretch, checker_.site(site).stretch);
  report("race", Cause{cause, first, last}, index, lane, site, message);
}

void Group::use_registers(const Operation& op, const sim_lanes& lanes, size_t bytes, uint32_t site) {
  Warp& w = warp(op.warp);
  Fragment now;
  for (size_t l = 0; l < kLanes; ++l) now.at[l] = static_cast<const std::byte*>(lanes.at[l]);
  now.bytes = bytes, now.site = site, now.group = op.epoch, now.is_in_flight = true;
  bool is_fenced = w.has_wgmma_fence;
  for (const Fragment& f : w.fragments) {
    if (!f.overlaps(0, now.at[0], bytes)) continue;
    bool is_same = f.at == now.at && f.bytes == bytes;
    if (f.is_in_flight && !is_same)
      register_fault(kNoWait, op.warp, -1, f, site, [&] {
        return "begins a wgmma with registers that the wgmma" + checker_.site_text(f.site) +
               " may still work with: no wgmma.wait_group between them";
      });
    if (f.is_touched)
      register_fault(kNoFence, op.warp, -1, f, site, [&] {
        return fmt::format("begins a wgmma with registers that {} accesses{} before: no wgmma.fence between them",
                           thread_text(op.warp, f.lane), checker_.site_text(f.touched_at));
      });
  }
  if (!is_fenced) register_fault(kNoFence, op.warp, -1, now, site, [] { return "begins a wgmma before any wgmma.fence"; });
  std::erase_if(w.fragments, [&](const Fragment& f) { return f.overlaps(0, now.at[0], bytes) && !f.is_in_flight; });
  auto it = std::find_if(w.fragments.begin(), w.fragments.end(), [&](const Fragment& f) { return f.at == now.at && f.bytes == bytes; });
  if (it != w.fragments.end())
    *it = now;
  else
    w.fragments.push_back(now);
}

void Group::check_registers(int index, int lane, const void* where, size_t bytes, Access access, uint32_t site) {
  auto* at = static_cast<const std::byte*>(where);
  for (Fragment& f : warp(index).fragments) {
    if (!f.overlaps(static_cast<size_t>(lane), at, bytes)) continue;
    if (f.is_in_flight)
      register_fault(kNoWait, index, lane, f, site, [&] {
        const std::string& buffer = checker_.site(site).buffer;
        return fmt::format("{} {} while the wgmma{} may still work with them: no wgmma.wait_group between the two",
                           writes(access) ? "writes" : "reads", buffer.empty() ? "registers" : "elements of '" + buffer + "'",
                           checker_.site_text(f.site));
      });
    if (!f.is_touched) f.is_touched = true, f.lane = lane, f.touched_at = site;
  }
}

void Group::wgmma_fence(int index) {
  Warp& w = warp(index);
  w.has_wgmma_fence = true;
  for (Fragment& f : w.fragments) f.is_touched = false;
}

}  // namespace kiln::sim::checker
