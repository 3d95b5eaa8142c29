// Golden tests: small modules NAME.ir in a folder, and the texts NAME.expected.EXTENSION that they become. KILN_UPDATE_GOLDENS=1 in the
// environment rewrites the expected texts.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "import/import.h"
#include "ir/verify.h"

namespace kiln::golden {

// Names of the modules in `folder`, which is below the repository's root; in order.
inline std::vector<std::string> names(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(KILN_SOURCE_DIR) / folder)) {
    if (entry.path().extension() == ".ir") out.push_back(entry.path().stem());
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Expects that `print`, a function of an ir::Module that gives a Result<Source>, prints the module as the text beside it.
template <class Print>
void expect_printed(const std::string& folder, const std::string& name, const std::string& extension, Print print) {
  std::string base = std::filesystem::path(KILN_SOURCE_DIR) / folder / name;
  auto module = load_module(base + ".ir");
  ASSERT_TRUE(module.ok()) << module.error().to_string();
  ASSERT_THAT(ir::verify(**module), testing::IsEmpty());
  auto source = print(**module);
  ASSERT_TRUE(source.ok()) << source.error().to_string();
  std::string path = base + ".expected." + extension;
  if (std::getenv("KILN_UPDATE_GOLDENS")) std::ofstream(path) << source->text;
  std::stringstream expected;
  expected << std::ifstream(path).rdbuf();
  EXPECT_EQ(source->text, expected.str());
}

}  // namespace kiln::golden
