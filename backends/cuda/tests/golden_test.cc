// Small modules and the CUDA C++ that they become, on sm_80 or the architecture at the end of their name.
#include "tests/support/golden.h"

#include "backends/cuda/print.h"

namespace kiln::cuda {
namespace {

const std::string folder = "backends/cuda/tests/golden";

class CudaGolden : public testing::TestWithParam<std::string> {};

TEST_P(CudaGolden, PrintsAsExpected) {
  size_t at = GetParam().find("sm_");
  Target target = *Target::parse("cuda -arch=" + (at == std::string::npos ? "sm_80" : GetParam().substr(at)));
  golden::expect_printed(folder, GetParam(), "cuda", [&](const ir::Module& module) { return print_source(module, *arch_of(target)); });
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaGolden, testing::ValuesIn(golden::names(folder)), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kiln::cuda
