#include "backends/sim/checker/findings.h"

namespace kiln::sim::checker {

void Findings::add(std::string_view kind, std::string_view kernel, const Cause& cause, const Site& site,
                   const std::function<std::string()>& text, int64_t count) {
  Key key{std::string(kind), std::string(kernel), cause.number, cause.first, cause.last};
  auto [it, is_new] = index_.try_emplace(std::move(key), found_.size());
  if (is_new)
    found_.push_back({std::string(kind), std::string(kernel), site.place, text(), 0, site.line, cause.number, cause.first, cause.last});
  found_[it->second].count += count;
}

std::vector<Finding> Findings::take() {
  std::vector<Finding> all;
  for (Finding& f : found_) runtime::add_finding(all, std::move(f));
  index_.clear();
  found_.clear();
  return all;
}

}  // namespace kiln::sim::checker
