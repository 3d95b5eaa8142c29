// The accesses of a group: order, conflicts, what the shadow keeps.
#include "backends/sim/checker/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backends/sim/checker/checker.h"

namespace kiln::sim::checker {

namespace {

constexpr size_t kMostUnordered = 64;  // accesses that a cell keeps; with more, the oldest are forgotten

uint32_t bit(int lane) { return lane < 0 ? kAllLanes : 1u << lane; }

bool is_same_time(const Entry& a, const Entry& b) {
  return a.group == b.group && a.agent == b.agent && a.epoch == b.epoch && a.access == b.access;
}

}  // namespace

void Knowledge::join(const Knowledge& other) {
  here.join(other.here);
  async.join(other.async);
  for (const auto& [group, clock] : other.elsewhere) elsewhere[group].join(clock);
}

Group::Group(Checker& checker, uint32_t number, std::vector<Block> blocks, std::vector<Shadow> shared)
    : checker_(checker), number_(number), blocks_(std::move(blocks)), shared_(std::move(shared)) {
  int64_t rest = checker.launch().threads % kLanes;
  warps_.resize(blocks_.size() * static_cast<size_t>(checker.warps_per_block()));
  for (size_t i = 0; i < warps_.size(); ++i) {
    bool is_last = (i + 1) % static_cast<size_t>(checker.warps_per_block()) == 0;
    if (is_last && rest) warps_[i].existing = warps_[i].live = (1u << rest) - 1;
  }
}

bool Group::is_ordered(int index, int lane, const Entry& before) const {
  const Warp& w = warp(index);
  const Knowledge* own = lane >= 0 ? w.lanes[static_cast<size_t>(lane)].get() : nullptr;
  if (before.group != number_) {
    for (const Knowledge* k : {&w.common, own}) {
      if (!k) continue;
      auto it = k->elsewhere.find(before.group);
      if (it != k->elsewhere.end() && it->second.covers(before.agent, before.lanes, before.epoch)) return true;
    }
    return false;
  }
  if (before.epoch <= w.common.here.known(before.agent)) return true;
  uint32_t open = before.lanes;  // not known to be over
  if (before.agent / kEngines == static_cast<size_t>(index)) {
    size_t engine = before.agent % kEngines;
    if (engine == 0) open &= ~bit(lane);
    if (engine != 0 && lane >= 0 && w.done[engine][static_cast<size_t>(lane)] >= before.epoch) open &= ~bit(lane);
  }
  for (; open; open &= open - 1) {
    int l = __builtin_ctz(open);
    if (before.epoch <= w.common.here.known(before.agent, l)) continue;
    if (own && before.epoch <= own->here.known(before.agent, l)) continue;
    return false;
  }
  return true;
}

// Whether a read gets what a write stored: some lane's write will do where all wrote the same.
bool Group::is_visible(int index, int lane, const Entry& write) const {
  if (is_ordered(index, lane, write)) return true;
  if (!write.is_same) return false;
  Entry one = write;
  for (uint32_t rest = write.lanes; rest; rest &= rest - 1) {
    one.lanes = rest & (~rest + 1);
    if (is_ordered(index, lane, one)) return true;
  }
  return false;
}

// Threads work in the generic proxy. So does cp.async by the letter of PTX, but compilers and libraries hand what it wrote to wgmma with no
// proxy fence, and devices run that; its writes are taken for visible.
bool Group::is_async_proxy(const Entry& e) const { return e.agent / kEngines >= warps_.size() || e.agent % kEngines != 0; }

// Whether a write that is ordered before was also made visible to the async proxy. Of several that wrote the same, one will do; a warp as a
// whole knows what any of its lanes does.
bool Group::is_fenced(int index, int lane, const Entry& write) const {
  const Warp& w = warp(index);
  auto knows = [&](int l) {
    auto of = [&](const Knowledge& k) { return write.epoch <= k.async.known(write.agent, l); };
    if (of(w.common)) return true;
    if (lane >= 0) return w.lanes[static_cast<size_t>(lane)] && of(*w.lanes[static_cast<size_t>(lane)]);
    return std::any_of(w.lanes.begin(), w.lanes.end(), [&](const auto& own) { return own && of(*own); });
  };
  uint32_t known = 0;
  for (uint32_t rest = write.lanes; rest; rest &= rest - 1) {
    int l = __builtin_ctz(rest);
    if (knows(l)) known |= bit(l);
  }
  return write.is_same ? known != 0 : known == write.lanes;
}

Shadow* Group::find(const std::byte* at, size_t bytes, bool& is_shared) {
  for (Shadow& s : shared_) {
    if (s.contains(at, bytes)) return is_shared = true, &s;
  }
  is_shared = false;
  auto* region = checker_.find(at);
  return region && region->shadow.contains(at, bytes) ? &region->shadow : nullptr;
}

// An access that an entry does not allow; null: none. A read is fine when one of several writes of the same value is ordered before it.
const Entry* Group::conflict_of(Shadow& shadow, Cell& cell, int index, int lane, const Entry& now) {
  auto clashes = [&](const Entry& e) {
    if (!e.epoch || !conflict(e.access, now.access)) return false;
    return writes(now.access) ? !is_ordered(index, lane, e) : !is_visible(index, lane, e);
  };
  const Entry* found = clashes(cell.write) ? &cell.write : clashes(cell.read) ? &cell.read : nullptr;
  if (!shadow.has_more(cell) || (found && writes(now.access))) return found;
  if (!found && cell.write.epoch && !writes(now.access) && !is_atomic(cell.write.access)) return nullptr;
  for (const Entry& e : shadow.more(cell)) {
    if (found && e.access == Access::kWrite && is_visible(index, lane, e)) return nullptr;
    if (!found && clashes(e)) found = &e;
  }
  return found;
}

void Group::keep_read(Shadow& shadow, Cell& cell, int index, int lane, const Entry& now) {
  if (is_same_time(cell.read, now)) {
    cell.read.lanes |= now.lanes;
    return;
  }
  if (!cell.read.epoch || is_ordered(index, lane, cell.read)) {
    cell.read = now;
    return;
  }
  std::vector<Entry>& more = shadow.more(cell);
  for (Entry& e : more) {
    if (!is_same_time(e, now)) continue;
    e.lanes |= now.lanes;
    return;
  }
  std::erase_if(more, [&](const Entry& e) { return !writes(e.access) && is_ordered(index, lane, e); });
  if (more.size() == kMostUnordered) more.erase(more.begin());
  more.push_back(now);
}

void Group::keep_atomic(Shadow& shadow, Cell& cell, int index, int lane, const Entry& now) {
  if (is_same_time(cell.write, now)) {
    cell.write.lanes |= now.lanes;
    return;
  }
  auto is_over = [&](const Entry& e) { return !e.epoch || is_ordered(index, lane, e); };
  if (!is_over(cell.write) || !is_over(cell.read) || shadow.has_more(cell)) {
    std::vector<Entry>& more = shadow.more(cell);
    more.push_back(cell.write);
    more.push_back(cell.read);
    std::erase_if(more, is_over);
    if (more.size() > kMostUnordered) more.erase(more.begin());
  }
  cell.write = now;
  cell.read = {};
}

void Group::keep(Shadow& shadow, Cell& cell, int index, int lane, const Entry& now) {
  if (!writes(now.access)) return keep_read(shadow, cell, index, lane, now);
  cell.is_written = true;
  if (now.access == Access::kAtomic) return keep_atomic(shadow, cell, index, lane, now);
  cell.write = now;
  cell.read = {};
  shadow.drop_more(cell);
}

// The writes that were in doubt have happened.
void Group::settle_writes() {
  std::vector<Doubtful> all = std::move(doubtful_);
  doubtful_.clear();
  for (const Doubtful& d : all) {
    bool same = std::memcmp(d.at, d.old.data(), d.bytes) == 0;
    if (!same) race(d.before, d.now, d.at);
    d.shadow->visit(d.at, d.bytes, [&](Cell& cell, const std::byte* first, size_t size) {
      if (!same && !cell.is_written) explain_unwritten(first, size);
      cell.is_written = true;
      if (!same) return keep(*d.shadow, cell, d.warp, d.lane, d.now);
      if (is_same_time(cell.write, d.now)) {
        cell.write.lanes |= d.now.lanes;
        cell.write.is_same = true;
        return;
      }
      std::vector<Entry>& more = d.shadow->more(cell);
      for (Entry& e : more) {
        if (!is_same_time(e, d.now)) continue;
        e.lanes |= d.now.lanes;
        e.is_same = true;
        return;
      }
      if (more.size() == kMostUnordered) more.erase(more.begin());
      more.push_back(d.now);
    });
  }
}

bool Group::is_there(int index, int lane, const Entry& now, const std::byte* at, size_t bytes) {
  size_t natural = std::min<size_t>(bytes & (~bytes + 1), 16);
  if (natural && reinterpret_cast<uintptr_t>(at) % natural != 0) {
    report("misaligned", index, lane, now.site,
           fmt::format("{} of {} bytes at {}, which is not a multiple of {}", writes(now.access) ? "a write" : "a read", bytes,
                       place_text(at, now.site), natural));
    return false;
  }
  bool is_shared;
  if (find(at, bytes, is_shared)) return true;
  report("out_of_bounds", index, lane, now.site,
         fmt::format("{} of {} bytes at {}, outside of all memory of the launch", writes(now.access) ? "a write" : "a read", bytes,
                     place_text(at, now.site)));
  return false;
}

bool Group::record(int index, int lane, const Entry& now, const void* where, size_t bytes, bool may_wait) {
  if (!doubtful_.empty()) settle_writes();
  auto* at = static_cast<const std::byte*>(where);
  if (bytes == 0) return true;
  if (!is_there(index, lane, now, at, bytes)) return false;
  bool is_shared, is_told = false;
  Shadow& shadow = *find(at, bytes, is_shared);
  shadow.visit(at, bytes, [&](Cell& cell, const std::byte* first, size_t size) {
    if (is_shared && !cell.is_written && now.access != Access::kWrite && !is_told) {
      is_told = true;
      Unwritten& u =
          unwritten_.try_emplace({first, now.site}, Unwritten{unwritten_.size(), first, size, index, lane, now.site}).first->second;
      ++u.count;
    }
    if (const Entry* before = conflict_of(shadow, cell, index, lane, now)) {
      if (may_wait && now.access == Access::kWrite) {
        Doubtful& d = doubtful_.emplace_back(Doubtful{&shadow, first, size, index, lane, now, *before, {}});
        std::memcpy(d.old.data(), first, size);
        return;
      }
      Entry copy = *before;
      race(copy, now, first);
      if (!cell.is_written) explain_unwritten(first, size);
    } else if (is_shared && now.access == Access::kRead && cell.write.epoch && is_async_proxy(now) && !is_async_proxy(cell.write) &&
               !is_fenced(index, lane, cell.write)) {
      unfenced(cell.write, now, first);
    }
    keep(shadow, cell, index, lane, now);
  });
  return true;
}

bool Group::access(int index, int lane, const void* at, size_t bytes, Access access, uint32_t site) {
  warp(index).has_accessed = true;
  return record(index, lane, {number_, agent(index, Engine::kThread), static_cast<uint16_t>(site), warp(index).epoch, bit(lane), access},
                at, bytes, true);
}

void Group::count(int index, int lane, const void* at, size_t bytes, Access access, uint32_t site) {
  Counters* counters = checker_.counters();
  if (!counters) return;
  bool is_shared;
  if (!bytes || !find(static_cast<const std::byte*>(at), bytes, is_shared)) return;
  uint64_t key = static_cast<uint64_t>(number_) << 32 | static_cast<uint32_t>(index);
  counters->add(key, lane, at, bytes, is_shared, access, site, checker_.site(site).elements);
}

void Group::count(std::span<const Piece> request, Access access, uint32_t site) {
  if (Counters* counters = checker_.counters()) counters->add(request, true, access, site);
}

bool Group::access(const Operation& op, const void* at, size_t bytes, Access access, uint32_t site) {
  if (op.agent == agent(op.warp, Engine::kBulkRead)) last_bulk_read_[{op.warp, op.lane}] = {op.epoch, site, at};
  return record(op.warp, op.lane, {number_, op.agent, static_cast<uint16_t>(site), op.epoch, op.lanes, access}, at, bytes, false);
}

}  // namespace kiln::sim::checker
