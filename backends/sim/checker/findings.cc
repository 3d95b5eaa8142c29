#include "backends/sim/checker/findings.h"

namespace kiln::sim::checker {

void Findings::add(std::string_view kind, std::string_view kernel, uint64_t cause, std::string_view place,
                   const std::function<std::string()>& text) {
  auto [it, is_new] = index_.try_emplace({std::string(kind), std::string(kernel), cause}, found_.size());
  if (is_new) found_.push_back({std::string(kind), std::string(kernel), std::string(place), text(), 0, cause});
  ++found_[it->second].count;
}

std::vector<Finding> Findings::take() {
  index_.clear();
  return std::move(found_);
}

}  // namespace kiln::sim::checker
