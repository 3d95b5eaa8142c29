// What is said of warps that cannot go on.
#include <fmt/format.h>

#include <algorithm>

#include "backends/sim/checker/checker.h"
#include "backends/sim/runtime/state.h"

namespace kiln::sim {

namespace {

constexpr size_t kMostNamed = 8;  // places that a report names

std::string wait_text(const Warp& w) {
  switch (w.wait) {
    case Wait::kNone: return "runs";
    case Wait::kBarrier: {
      const auto& b = *static_cast<const NamedBarrier*>(w.waits_on);
      return fmt::format("waits at barrier {} ({} of {} threads are there)", w.wait_value, b.arrived, b.expected);
    }
    case Wait::kCluster: return "waits at the barrier of the cluster";
    case Wait::kGrid: return "waits at the barrier of the grid";
    case Wait::kMbarrier:
      return fmt::format("waits for the phase of parity {} of the mbarrier at {}, which {}", w.wait_value,
                         w.block->cluster->address_text(w.waits_on), mbarrier_text(w.waits_on));
    case Wait::kMbarrierInit:
      return fmt::format("uses the mbarrier at {}, which nothing has initialised", w.block->cluster->address_text(w.waits_on));
    case Wait::kSpin: return "looks again and again for something that does not come";
    case Wait::kTensorMemory: return "waits for columns of tensor memory";
  }
  return "";
}

struct Group {
  std::string text;
  const Warp* first;
  int warps;
};

}  // namespace

std::string warp_text(const Warp& w, int lane) {
  std::string text = fmt::format("block ({}, {}, {}), warp {}", w.block->x, w.block->y, w.block->z, w.warp);
  return lane < 0 ? text : text + fmt::format(", lane {}", lane);
}

std::string site_text(const Kernel& kernel, int32_t site) {
  if (site <= 0 || static_cast<size_t>(site) >= kernel.sites.size()) return "";
  const Site& s = kernel.sites[static_cast<size_t>(site)];
  if (!s.place.empty()) return s.place;
  return s.line ? fmt::format("line {} of the printed kernel", s.line) : "";
}

void Cluster::report(std::string_view kind, const Warp* w, int lane, int32_t site, std::string_view message) {
  failed_ = true;
  std::string text = fmt::format("kernel '{}': {}", launch.kernel.name, message);
  if (w) text += fmt::format(" [{}]", warp_text(*w, lane));
  std::lock_guard lock(launch.mutex);
  if (!launch.error || index < launch.error_index) {
    launch.error = Error{Code::kLaunch, std::move(text), site_text(launch.kernel, site), ""};
    launch.error_index = index;
  }
  if (launch.params.checker)
    launch.params.checker->report(kind, static_cast<uint32_t>(site),
                                  std::string(message) + (w ? fmt::format(" [{}]", warp_text(*w, lane)) : ""));
  launch.failed = true;
}

// All warps that have not finished wait for what no one will do.
void Cluster::deadlock() {
  std::vector<Group> groups;
  const char* kind = "deadlock";
  const Warp* first = nullptr;
  // What one warp lacks explains why the others wait.
  auto explains = [&](const Warp& w, const char* by) {
    if (kind == std::string_view("deadlock")) first = &w, kind = by;
  };
  for (const Block& b : blocks) {
    for (const auto& w : b.warps) {
      if (w->is_done || w->wait == Wait::kNone) continue;
      if (!first) first = w.get();
      if (w->wait == Wait::kMbarrier && mbarrier_misses_bytes(w->waits_on)) explains(*w, "tx_count");
      if (w->wait == Wait::kMbarrierInit) explains(*w, "uninitialised");
      std::string place = site_text(launch.kernel, w->site);
      std::string text = wait_text(*w) + (place.empty() ? "" : " at " + place);
      auto same = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.text == text; });
      if (same == groups.end()) {
        groups.push_back({std::move(text), w.get(), 1});
      } else {
        ++same->warps;
      }
    }
  }
  std::string list;
  for (size_t i = 0; i < groups.size() && i < kMostNamed; ++i) {
    const Group& g = groups[i];
    list += fmt::format("{}{}{} {}", i ? "; " : "", warp_text(*g.first),
                        g.warps > 1 ? fmt::format(" and {} more like it", g.warps - 1) : "", g.text);
  }
  if (groups.size() > kMostNamed) list += fmt::format("; and {} other kinds", groups.size() - kMostNamed);
  report(kind, nullptr, -1, first ? first->site : 0, "deadlock: no warp can go on: " + list);
}

void Cluster::give_up() { deadlock(); }

}  // namespace kiln::sim
