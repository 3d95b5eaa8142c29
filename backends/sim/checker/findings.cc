#include "backends/sim/checker/findings.h"

namespace kiln::sim::checker {

void Findings::add(std::string_view kind, std::string_view kernel, const Cause& cause, const Site& site,
                   const std::function<std::string()>& text, int64_t count) {
  Key key{std::string(kind), std::string(kernel), cause.number, cause.first, cause.last, cause.is_narrow};
  auto [it, is_new] = index_.try_emplace(std::move(key), found_.size());
  if (is_new) narrow_.push_back(cause.is_narrow);
  if (is_new)
    found_.push_back({std::string(kind), std::string(kernel), site.place, text(), 0, site.line, cause.number, cause.first, cause.last});
  found_[it->second].count += count;
}

std::vector<Finding> Findings::take() {
  std::vector<Finding> all;
  for (bool is_narrow : {false, true}) {
    for (size_t i = 0; i < found_.size(); ++i) {
      if (narrow_[i] == is_narrow) runtime::add_finding(all, std::move(found_[i]));
    }
  }
  index_.clear(), found_.clear(), narrow_.clear();
  return all;
}

}  // namespace kiln::sim::checker
