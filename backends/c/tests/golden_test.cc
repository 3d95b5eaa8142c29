// Small modules and the C that they become. KILN_UPDATE_GOLDENS=1 rewrites the expected texts.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "backends/c/print.h"
#include "import/import.h"
#include "ir/verify.h"

namespace kiln::c {
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
  for (const auto& entry : fs::directory_iterator(fs::path(KILN_SOURCE_DIR) / "backends/c/tests/golden")) {
    if (entry.path().extension() == ".ir") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, PrintsAsExpected) {
  fs::path base = fs::path(KILN_SOURCE_DIR) / "backends/c/tests/golden" / GetParam();
  auto module = load_module(base.string() + ".ir");
  ASSERT_TRUE(module.ok()) << module.error().to_string();
  ASSERT_THAT(ir::verify(**module), testing::IsEmpty());
  auto source = print_source(**module, *Target::parse("c"));
  ASSERT_TRUE(source.ok()) << source.error().to_string();
  std::string expected = base.string() + ".expected.c";
  if (std::getenv("KILN_UPDATE_GOLDENS")) std::ofstream(expected) << source->text;
  EXPECT_EQ(source->text, read(expected));
}

INSTANTIATE_TEST_SUITE_P(C, Golden, testing::ValuesIn(golden_names()), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace kiln::c
