// Small modules and the C that they become.
#include "tests/support/golden.h"

#include "backends/c/print.h"

namespace kiln::c {
namespace {

const std::string folder = "backends/c/tests/golden";

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, PrintsAsExpected) {
  golden::expect_printed(folder, GetParam(), "c", [](const ir::Module& module) { return print_source(module, *Target::parse("c")); });
}

INSTANTIATE_TEST_SUITE_P(C, Golden, testing::ValuesIn(golden::names(folder)), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kiln::c
