// Small modules and the C that they become for a warp, without what every text begins with.
#include "tests/support/golden.h"

#include "backends/sim/print.h"
#include "backends/sim_device.h"

namespace kiln::sim {
namespace {

const std::string folder = "backends/sim/tests/golden";

Result<Source> print_kernels(const ir::Module& module) {
  Result<Printed> printed = print_source(module, false);
  if (!printed) return printed.error();
  size_t at = printed->source.text.find(device::sim);
  EXPECT_NE(at, std::string::npos);
  printed->source.text.erase(0, at + device::sim.size() + 1);
  return printed->source;
}

class SimGolden : public testing::TestWithParam<std::string> {};

TEST_P(SimGolden, PrintsAsExpected) { golden::expect_printed(folder, GetParam(), "c", print_kernels); }

INSTANTIATE_TEST_SUITE_P(Sim, SimGolden, testing::ValuesIn(golden::names(folder)), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kiln::sim
