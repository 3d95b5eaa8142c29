#include "backends/sim/checker/clock.h"

#include <algorithm>

namespace kiln::sim::checker {

const Clock::Lanes* Clock::find(uint32_t agent) const {
  for (const Lanes& l : some_) {
    if (l.agent == agent) return &l;
  }
  return nullptr;
}

uint32_t Clock::known(uint32_t agent, int lane) const {
  const Lanes* l = some_.empty() ? nullptr : find(agent);
  return l ? l->at[static_cast<size_t>(lane)] : known(agent);
}

bool Clock::covers(uint32_t agent, uint32_t lanes, uint32_t epoch) const {
  if (epoch <= known(agent)) return true;
  const Lanes* l = some_.empty() ? nullptr : find(agent);
  if (!l) return lanes == 0;
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    if (l->at[static_cast<size_t>(__builtin_ctz(rest))] < epoch) return false;
  }
  return true;
}

Clock::Lanes& Clock::spread(uint32_t agent) {
  if (const Lanes* l = find(agent)) return const_cast<Lanes&>(*l);
  some_.push_back({agent, {}});
  some_.back().at.fill(known(agent));
  return some_.back();
}

void Clock::raise_all(uint32_t agent, uint32_t epoch) {
  if (agent >= all_.size()) all_.resize(agent + 1);
  if (epoch <= all_[agent]) return;
  all_[agent] = epoch;
  if (const Lanes* l = some_.empty() ? nullptr : find(agent)) {
    for (uint32_t& at : const_cast<Lanes*>(l)->at) at = std::max(at, epoch);
    settle(agent);
  }
}

void Clock::raise(uint32_t agent, uint32_t lanes, uint32_t epoch) {
  if (lanes == kAllLanes) return raise_all(agent, epoch);
  if (epoch <= known(agent) || lanes == 0) return;
  Lanes& l = spread(agent);
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    uint32_t& at = l.at[static_cast<size_t>(__builtin_ctz(rest))];
    at = std::max(at, epoch);
  }
  settle(agent);
}

void Clock::settle(uint32_t agent) {
  for (size_t i = 0; i < some_.size(); ++i) {
    if (some_[i].agent != agent) continue;
    auto [low, high] = std::minmax_element(some_[i].at.begin(), some_[i].at.end());
    if (agent >= all_.size()) all_.resize(agent + 1);
    all_[agent] = *low;
    if (*low != *high) return;
    some_[i] = some_.back();
    some_.pop_back();
    return;
  }
}

void Clock::join(const Clock& other) {
  if (all_.size() < other.all_.size()) all_.resize(other.all_.size());
  if (some_.empty()) {
    for (size_t i = 0; i < other.all_.size(); ++i) all_[i] = std::max(all_[i], other.all_[i]);
  } else {
    for (size_t i = 0; i < other.all_.size(); ++i) raise_all(static_cast<uint32_t>(i), other.all_[i]);
  }
  for (const Lanes& theirs : other.some_) {
    Lanes& l = spread(theirs.agent);
    for (size_t i = 0; i < kLanes; ++i) l.at[i] = std::max(l.at[i], theirs.at[i]);
    settle(theirs.agent);
  }
}

void Clock::clear() {
  all_.clear();
  some_.clear();
}

}  // namespace kiln::sim::checker
