// A folder and environment variables for one test, put back when it ends.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

namespace kiln {

class Scratch : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "kiln-test-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    for (const auto& [name, value] : saved_) {
      if (value)
        setenv(name.c_str(), value->c_str(), 1);
      else
        unsetenv(name.c_str());
    }
    std::filesystem::remove_all(folder_);
  }

  // Writes a file below the folder, with the folders that it needs; returns its path.
  std::string write(const std::string& name, const std::string& text) {
    std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  void set_environment(const std::string& name, const std::string& value) {
    const char* before = std::getenv(name.c_str());
    saved_.emplace(name, before ? std::optional<std::string>(before) : std::nullopt);
    setenv(name.c_str(), value.c_str(), 1);
  }

  std::filesystem::path folder_;

 private:
  std::map<std::string, std::optional<std::string>> saved_;
};

}  // namespace kiln
