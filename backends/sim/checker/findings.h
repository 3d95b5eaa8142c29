// What a checked run finds.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "runtime/device.h"

namespace kiln::sim::checker {

using runtime::Finding;

// Collects findings: one per kind and cause, with a count. The first occurrence gives the text. For one thread.
class Findings {
 public:
  // `cause` is what makes two occurrences the same, within a kind: usually the sites.
  void add(std::string_view kind, std::string_view kernel, uint64_t cause, std::string_view place,
           const std::function<std::string()>& text);
  std::vector<Finding> take();

 private:
  using Key = std::tuple<std::string, std::string, uint64_t>;
  std::map<Key, size_t> index_;
  std::vector<Finding> found_;
};

}  // namespace kiln::sim::checker
