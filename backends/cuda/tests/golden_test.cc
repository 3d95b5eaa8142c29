// Small modules and the CUDA C++ that they become on sm_80. KILN_UPDATE_GOLDENS=1 rewrites the expected texts.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "backends/cuda/print.h"
#include "import/import.h"
#include "ir/verify.h"

namespace kiln::cuda {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> golden_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(fs::path(KILN_SOURCE_DIR) / "backends/cuda/tests/golden")) {
    if (entry.path().extension() == ".ir") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class CudaGolden : public testing::TestWithParam<std::string> {};

TEST_P(CudaGolden, PrintsAsExpected) {
  fs::path base = fs::path(KILN_SOURCE_DIR) / "backends/cuda/tests/golden" / GetParam();
  auto module = load_module(base.string() + ".ir");
  ASSERT_TRUE(module.ok()) << module.error().to_string();
  ASSERT_THAT(ir::verify(**module), testing::IsEmpty());
  auto source = print_source(**module, *arch_of(*Target::parse("cuda -arch=sm_80")));
  ASSERT_TRUE(source.ok()) << source.error().to_string();
  std::string expected = base.string() + ".expected.cuda";
  if (std::getenv("KILN_UPDATE_GOLDENS")) std::ofstream(expected) << source->text;
  EXPECT_EQ(source->text, read(expected));
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaGolden, testing::ValuesIn(golden_names()), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kiln::cuda
