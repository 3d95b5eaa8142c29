// Small modules and the CUDA C++ that they become on sm_80.
#include "tests/support/golden.h"

#include "backends/cuda/print.h"

namespace kiln::cuda {
namespace {

const std::string folder = "backends/cuda/tests/golden";

class CudaGolden : public testing::TestWithParam<std::string> {};

TEST_P(CudaGolden, PrintsAsExpected) {
  golden::expect_printed(folder, GetParam(), "cuda",
                         [](const ir::Module& module) { return print_source(module, *arch_of(*Target::parse("cuda -arch=sm_80"))); });
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaGolden, testing::ValuesIn(golden::names(folder)), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kiln::cuda
