#include "backends/sim/checker/checker.h"

#include <fmt/format.h>

#include <algorithm>

namespace kiln::sim::checker {

Checker::Checker(Launch launch, Findings& findings) : launch_(std::move(launch)), findings_(findings) {
  warps_ = static_cast<int>((launch_.threads + kLanes - 1) / kLanes);
  std::sort(launch_.global.begin(), launch_.global.end(), [](const Memory& a, const Memory& b) { return a.base < b.base; });
  for (const Memory& m : launch_.global) regions_.push_back({m, Shadow(m.base, m.bytes)});
}

Checker::~Checker() {
  if (!launch_.counts) return;
  for (runtime::AccessCount& c : counters_.take(launch_.kernel, launch_.sites)) launch_.counts->push_back(std::move(c));
}

Group& Checker::begin(std::vector<Group::Block> blocks) {
  std::vector<Shadow> shared;
  for (const Group::Block& b : blocks) {
    auto it =
        std::find_if(spare_.begin(), spare_.end(), [&](const Shadow& s) { return s.base() == b.shared && s.bytes() == b.shared_bytes; });
    if (it == spare_.end()) {
      shared.emplace_back(b.shared, b.shared_bytes);
      continue;
    }
    shared.push_back(std::move(*it));
    spare_.erase(it);
  }
  uint32_t number = next_group_++;
  auto group = std::make_unique<Group>(*this, number, std::move(blocks), std::move(shared));
  return *(groups_[number] = std::move(group));
}

void Checker::end(Group& group, bool has_finished) {
  group.settle_writes();
  group.tell_unwritten();
  if (has_finished) {
    group.check_block_barriers();
    group.check_bulk_reads();
  }
  for (Shadow& s : group.shared_) {
    s.reset();
    spare_.push_back(std::move(s));
  }
  for (const Group::Block& b : group.blocks_) first_block_[group.number_] = {b.index[0], b.index[1], b.index[2]};
  groups_.erase(group.number_);
}

void Checker::grid_sync() {
  for (auto& [number, group] : groups_) {
    group->settle_writes();
    group->barrier_complete(Group::kGridBarrier);
  }
  for (Region& r : regions_) r.shadow.reset();
}

void Checker::report(std::string_view kind, uint32_t number, const std::string& message) {
  if (kind == "uninitialised") told_unwritten_.insert(number);
  findings_.add(kind, launch_.kernel, statement(number), site(number), [&] { return message + line_text(number); });
}

// A statement may be printed several times. The first of its sites stands for all.
Cause Checker::statement(uint32_t number) const {
  const Site& of = site(number);
  auto is_same = [&](const Site& s) { return s.place == of.place && s.buffer == of.buffer; };
  auto it = of.place.empty() ? launch_.sites.end() : std::find_if(launch_.sites.begin(), launch_.sites.end(), is_same);
  return {it == launch_.sites.end() ? number : static_cast<uint64_t>(it - launch_.sites.begin())};
}

Cause Checker::buffer(uint32_t number) const {
  const Site& of = site(number);
  if (of.buffer.empty()) return {uint64_t{1} << 32, of.stretch, of.stretch};
  auto it = std::find_if(launch_.sites.begin(), launch_.sites.end(), [&](const Site& s) { return s.buffer == of.buffer; });
  return {static_cast<uint64_t>(it - launch_.sites.begin())};
}

Checker::Region* Checker::find(const std::byte* at) {
  if (last_ < regions_.size() && regions_[last_].shadow.contains(at, 0)) return &regions_[last_];
  auto it = std::upper_bound(regions_.begin(), regions_.end(), at, [](const std::byte* p, const Region& r) { return p < r.memory.base; });
  if (it == regions_.begin() || !std::prev(it)->shadow.contains(at, 0)) return nullptr;
  last_ = static_cast<size_t>(std::prev(it) - regions_.begin());
  return &regions_[last_];
}

// The region before or at a byte, else the first: what an access that is outside of all was probably meant for.
const Checker::Region* Checker::nearest(const std::byte* at) const {
  constexpr std::ptrdiff_t kNear = 1 << 20;
  const Region* best = nullptr;
  std::ptrdiff_t least = kNear;
  for (const Region& r : regions_) {
    std::ptrdiff_t away = at < r.memory.base ? r.memory.base - at : at - (r.memory.base + r.memory.bytes);
    if (away < least) best = &r, least = away;
  }
  return best;
}

std::string Checker::line_text(uint32_t number) const {
  const Site& s = site(number);
  return s.line ? fmt::format(" [kernel line {}]", s.line) : "";
}

std::string Checker::site_text(uint32_t number) const {
  const Site& s = site(number);
  return (s.place.empty() ? "" : " at " + s.place) + line_text(number);
}

std::string Checker::foreign_text(const Entry& e) const {
  auto live = groups_.find(e.group);
  if (live != groups_.end()) return live->second->agent_text(e);
  auto it = first_block_.find(e.group);
  if (it == first_block_.end()) return "another block";
  return fmt::format("a thread of block ({}, {}, {})", it->second[0], it->second[1], it->second[2]);
}

}  // namespace kiln::sim::checker
