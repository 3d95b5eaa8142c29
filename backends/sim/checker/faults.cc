// Findings of a group, in words.
#include <fmt/format.h>

#include <algorithm>

#include "backends/sim/checker/checker.h"
#include "backends/sim/checker/group.h"

namespace kiln::sim::checker {

namespace {

const char* verb(Access a) {
  switch (a) {
    case Access::kRead: return "read";
    case Access::kWrite: return "write";
    case Access::kAtomicRead: return "atomic load";
    case Access::kAtomic: return "atomic update";
  }
  return "";
}

const char* engine_text(size_t engine) {
  static constexpr const char* kText[kEngines] = {"", "cp.async", "a bulk copy", "a bulk copy", "wgmma", "tcgen05"};
  return kText[engine];
}

// Causes of races: between threads that a barrier can order, or not.
constexpr uint64_t kOneGroup = 0, kTwoGroups = 1, kProxies = 2;

uintptr_t word_of(const std::byte* at) { return reinterpret_cast<uintptr_t>(at) / 4; }

std::string index_text(const int64_t (&index)[3]) {
  if (index[2]) return fmt::format("({}, {}, {})", index[0], index[1], index[2]);
  return index[1] ? fmt::format("({}, {})", index[0], index[1]) : std::to_string(index[0]);
}

}  // namespace

std::string Group::thread_text(int index, int lane) const {
  int per_block = checker_.warps_per_block(), w = index % per_block;
  std::string block = "block " + index_text(blocks_[static_cast<size_t>(index / per_block)].index);
  if (lane < 0) return fmt::format("warp {} of {}", w, block);
  return fmt::format("thread {} of {} (warp {}, lane {})", w * kLanes + lane, block, w, lane);
}

std::string Group::agent_text(const Entry& e) const {
  size_t engine = e.agent % kEngines, index = e.agent / kEngines;
  if (index >= warps_.size()) return "a copy that completes on " + barrier_text(barrier_agents_[e.agent - warps_.size() * kEngines], 0);
  bool is_one = e.lanes && (e.lanes & (e.lanes - 1)) == 0;
  std::string thread = thread_text(static_cast<int>(index), is_one || engine == 0 ? __builtin_ctz(e.lanes ? e.lanes : 1) : -1);
  return engine == 0 ? thread : fmt::format("{} of {}", engine_text(engine), thread);
}

// "'a', byte 64 of the shared memory of block 2".
std::string Group::place_text(const std::byte* at, uint32_t site) const {
  const std::string& buffer = checker_.site(site).buffer;
  std::string name = buffer.empty() ? "" : "'" + buffer + "', ";
  for (size_t i = 0; i < shared_.size(); ++i) {
    if (shared_[i].contains(at, 0))
      return fmt::format("{}byte {} of the shared memory of block {}", name, at - shared_[i].base(), index_text(blocks_[i].index));
  }
  if (const auto* region = checker_.nearest(at)) {
    auto offset = at - region->memory.base;
    return offset >= 0 ? fmt::format("{}byte {} of '{}' ({} bytes)", buffer == region->memory.name ? "" : name, offset, region->memory.name,
                                     region->memory.bytes)
                       : fmt::format("{}{} bytes before '{}'", name, -offset, region->memory.name);
  }
  return name + "an address that is in no memory";
}

std::string Group::barrier_text(const void* at, uint32_t site) const {
  return "the mbarrier at " + place_text(static_cast<const std::byte*>(at), site);
}

void Group::report(const char* kind, int index, int lane, uint32_t site, const std::string& message) {
  report(kind, checker_.statement(site), index, lane, site, [&] { return message; });
}

void Group::report(const char* kind, const Cause& cause, int index, int lane, uint32_t site, const std::function<std::string()>& message,
                   int64_t count) {
  checker_.findings_.add(
      kind, checker_.launch().kernel, cause, checker_.site(site),
      [&] { return fmt::format("{} {}{}", thread_text(index, lane), message(), checker_.line_text(site)); }, count);
}

void Group::explain_unwritten(const std::byte* at, size_t bytes) {
  if (unwritten_.empty()) return;
  for (uintptr_t word = word_of(at); word <= word_of(at + bytes - 1); ++word) raced_.insert(word);
}

void Group::race(const Entry& before, const Entry& now, const std::byte* at) {
  auto [first, last] = std::minmax(checker_.site(before.site).stretch, checker_.site(now.site).stretch);
  bool is_one_warp =
      before.group == number_ && before.agent == now.agent && now.agent / kEngines < warps_.size() && now.agent % kEngines == 0;
  Cause cause{before.group == number_ ? kOneGroup : kTwoGroups, first, last, is_one_warp};
  checker_.findings_.add("race", checker_.launch().kernel, cause, checker_.site(now.site), [&] {
    std::string elsewhere = before.group == number_ ? agent_text(before) : checker_.foreign_text(before);
    return fmt::format("the {} of {} by {}{} is not ordered after the {} by {}{}{}", verb(now.access), place_text(at, now.site),
                       agent_text(now), checker_.line_text(now.site), verb(before.access), elsewhere, checker_.site_text(before.site),
                       is_one_warp ? ": no __syncwarp between them" : "");
  });
}

void Group::unfenced(const Entry& write, const Entry& read, const std::byte* at) {
  auto [first, last] = std::minmax(checker_.site(write.site).stretch, checker_.site(read.site).stretch);
  checker_.findings_.add("race", checker_.launch().kernel, {kProxies, first, last}, checker_.site(read.site), [&] {
    return fmt::format("the read of {} by {}{}, in the async proxy, does not see the write by {}{}: no fence.proxy.async between them",
                       place_text(at, read.site), agent_text(read), checker_.line_text(read.site), agent_text(write),
                       checker_.site_text(write.site));
  });
}

void Group::out_of_bounds(int index, int lane, int64_t element, int64_t extent, uint32_t site) {
  exceeded_.insert(checker_.site(site).buffer);
  report("out_of_bounds", index, lane, site,
         fmt::format("accesses element {} of '{}', which has {}", element, checker_.site(site).buffer, extent));
}

void Group::uninitialised(int index, int lane, uint32_t site, int64_t element) {
  report("uninitialised", checker_.buffer(site), index, lane, site,
         [&] { return fmt::format("reads element {} of '{}', which nothing has written", element, checker_.site(site).buffer); });
}

// Reads of shared memory that nothing had written: not those that a race with the first write explains, nor of a buffer of which a write
// went astray.
void Group::tell_unwritten() {
  std::vector<const Unwritten*> in_order;
  for (const auto& [at, u] : unwritten_) in_order.push_back(&u);
  std::sort(in_order.begin(), in_order.end(), [](const Unwritten* a, const Unwritten* b) { return a->order < b->order; });
  for (const Unwritten* u : in_order) {
    bool is_race = false;
    if (checker_.told_unwritten_.contains(u->site)) continue;
    for (uintptr_t word = word_of(u->at); word <= word_of(u->at + u->bytes - 1); ++word) is_race |= raced_.contains(word);
    const std::string& buffer = checker_.site(u->site).buffer;
    if (is_race || (!buffer.empty() && exceeded_.contains(buffer))) continue;
    report(
        "uninitialised", checker_.buffer(u->site), u->warp, u->lane, u->site,
        [&] { return fmt::format("reads {}, which nothing has written", place_text(u->at, u->site)); }, u->count);
  }
  unwritten_.clear(), raced_.clear();
}

}  // namespace kiln::sim::checker
