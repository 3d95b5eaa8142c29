// What a checked run finds.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "backends/sim/runtime/launch.h"
#include "runtime/device.h"

namespace kiln::sim::checker {

using runtime::Finding;

// What makes two occurrences the same finding, within a kind and a kernel: as runtime::add_finding says.
struct Cause {
  uint64_t number = 0;
  int first = 0, last = 0;  // stretches of the kernel's text
  bool is_narrow = false;   // what other occurrences of the cause may tell better
};

// Collects findings: one per kind and cause, with a count. The first occurrence gives the text. For one thread.
class Findings {
 public:
  void add(std::string_view kind, std::string_view kernel, const Cause& cause, const Site& site, const std::function<std::string()>& text,
           int64_t count = 1);
  std::vector<Finding> take();

 private:
  using Key = std::tuple<std::string, std::string, uint64_t, int, int, bool>;
  std::map<Key, size_t> index_;
  std::vector<Finding> found_;
  std::vector<bool> narrow_;  // of each
};

}  // namespace kiln::sim::checker
