// Where NVIDIA's libraries are looked for, on folders made for it; the library that is found is the stand-in for the driver.
#include "backends/cuda/toolkit.h"

#include <gmock/gmock.h>

#include "base/process.h"
#include "tests/unit/scratch.h"

namespace kiln::cuda {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// File names that no machine has, so that the system's own folders give nothing.
const LibraryName kName = {{"libkilntest.so.13", "libkilntest.so.12"}, "KILN_TEST_LIBRARY", "the test library", "kiln-test", "cuInit"};

class Toolkit : public Scratch {
 protected:
  void SetUp() override {
    Scratch::SetUp();
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH", "KILN_TEST_LIBRARY"}) set_environment(variable, "");
    set_environment("VIRTUAL_ENV", path("venv"));
  }

  std::string add_library(const std::string& name) {
    fs::create_directories(fs::path(path(name)).parent_path());
    fs::copy_file(KILN_TEST_PLUGINS "/libkiln_cuda_fake_driver.so", path(name));
    return path(name);
  }

  static std::string found() {
    auto library = load_library(kName);
    return library ? library->path : "error: " + library.error().to_string();
  }
};

TEST_F(Toolkit, TheNewestVersionIsFirst) {
  const std::string wheels = "venv/lib/python3.11/site-packages/nvidia/";
  std::string nine = add_library(wheels + "cu9/lib/libkilntest.so.13");
  EXPECT_EQ(found(), nine);
  std::string thirteen = add_library(wheels + "cu13/lib/libkilntest.so.12");  // by number, not by letter
  EXPECT_EQ(found(), thirteen);
  std::string newer_file = add_library(wheels + "cu13/lib/libkilntest.so.13");
  EXPECT_EQ(found(), newer_file);
  std::string newer_python = add_library("venv/lib/python3.12/site-packages/nvidia/cu12/lib/libkilntest.so.12");
  EXPECT_EQ(found(), newer_python);
}

TEST_F(Toolkit, WhatAPersonNamesComesFirst) {
  add_library("venv/lib/python3.11/site-packages/nvidia/cu13/lib/libkilntest.so.13");
  std::string of_path = add_library("path/lib/libkilntest.so.12");
  set_environment("CUDA_PATH", path("path"));
  EXPECT_EQ(found(), of_path);
  std::string of_home = add_library("home/lib64/libkilntest.so.12");
  set_environment("CUDA_HOME", path("home"));
  EXPECT_EQ(found(), of_home);
  std::string named = add_library("any_name.so");
  set_environment("KILN_TEST_LIBRARY", named);
  EXPECT_EQ(found(), named);
}

TEST_F(Toolkit, UnfitLibrariesArePassedOver) {
  set_environment("CUDA_HOME", path("home"));
  write("home/lib64/libkilntest.so.13", "no library");
  std::string fit = add_library("home/lib/libkilntest.so.12");
  EXPECT_EQ(found(), fit);

  LibraryName wants_more = kName;
  wants_more.function = "a_function_of_a_later_version";
  auto none = load_library(wants_more);
  ASSERT_FALSE(none.ok());  // the first that is there says why it does not do
  EXPECT_THAT(none.error().message, AllOf(HasSubstr("the test library cannot be used: "), HasSubstr("home/lib64/libkilntest.so.13"),
                                          HasSubstr("; looked in " + path("home/lib64") + ", ")));
  fs::remove(path("home/lib64/libkilntest.so.13"));
  none = load_library(wants_more);
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message, HasSubstr(fit + " lacks a_function_of_a_later_version, it is too old or another library"));
}

TEST_F(Toolkit, OfANamedFileTheReasonIsSaid) {
  add_library("venv/lib/python3.11/site-packages/nvidia/cu13/lib/libkilntest.so.13");  // no other takes its place
  std::string named = write("broken.so", "no library");
  set_environment("KILN_TEST_LIBRARY", named);
  EXPECT_THAT(found(), AllOf(HasSubstr("the test library cannot be used: " + named + ": "), HasSubstr("looked in KILN_TEST_LIBRARY"),
                             Not(HasSubstr("site-packages"))));
}

TEST_F(Toolkit, NothingFoundNamesEveryPlaceOnce) {
  set_environment("CUDA_HOME", "/usr/local/cuda");
  std::string message = found();
  EXPECT_THAT(message, AllOf(HasSubstr("the test library is not found; looked in "), HasSubstr("and the loader's folders"),
                             HasSubstr("the wheel kiln-test (and activate its environment)")));
  size_t first = message.find("/usr/local/cuda/lib64,");
  ASSERT_NE(first, std::string::npos) << message;
  EXPECT_EQ(message.find("/usr/local/cuda/lib64,", first + 1), std::string::npos) << message;
}

// The command with a compiler that only says that it ran.
class Nvcc : public Scratch {
 protected:
  void SetUp() override {
    Scratch::SetUp();
    std::string nvcc = write("nvcc", "#!/bin/sh\n[ \"$1\" = --version ] && { echo 'release 13.0, V13.0.88'; exit; }\necho ran >> '" +
                                         path("runs") + "'\necho code > out\n");
    fs::permissions(nvcc, fs::perms::owner_all);
    set_environment("KILN_NVCC", nvcc);
    set_environment("KILN_CUDA_COMPILER", "nvcc");
    set_environment("KILN_CACHE_DIR", path("cache"));
    set_environment("NVCC_APPEND_FLAGS", "");
    set_environment("NVCC_PREPEND_FLAGS", "");
  }

  // How often the compiler has run after one more build.
  size_t runs_after_build() {
    auto run = run_process({KILN_TEST_CLI, "build", KILN_SOURCE_DIR "/backends/cuda/tests/golden/vector_add.ir", "--target", "cuda",
                            "--emit", "cubin", "-o", path("cubin")},
                           60);
    EXPECT_TRUE(run.ok() && run->status == 0) << (run ? run->output : run.error().to_string());
    std::ifstream file(path("runs"));
    return static_cast<size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
  }
};

TEST_F(Nvcc, ItsOwnVariablesArePartOfTheCachesKey) {
  EXPECT_EQ(runs_after_build(), 1u);
  EXPECT_EQ(runs_after_build(), 1u);
  set_environment("NVCC_APPEND_FLAGS", "-O0");
  EXPECT_EQ(runs_after_build(), 2u);
  EXPECT_EQ(runs_after_build(), 2u);
  set_environment("NVCC_PREPEND_FLAGS", "-O0");
  EXPECT_EQ(runs_after_build(), 3u);
}

TEST_F(Nvcc, StandsInForANamedNvrtcThatDoesNotLoad) {
  unsetenv("KILN_CUDA_COMPILER");
  set_environment("KILN_NVRTC", write("nvrtc.so", "no library"));
  EXPECT_EQ(runs_after_build(), 1u);
}

}  // namespace
}  // namespace kiln::cuda
