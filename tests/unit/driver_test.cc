#include "driver/driver.h"

#include <gtest/gtest.h>

namespace kiln::driver {
namespace {

constexpr const char* kModule = KILN_SOURCE_DIR "/tests/corpus/corpus/c/vadd_i32/device.json.gz";

TEST(Driver, BuildsAFileAndTimesTheSteps) {
  BuildOptions options;
  options.compile = false;
  auto built = build_file(kModule, options);
  ASSERT_TRUE(built) << built.error().to_string();
  EXPECT_EQ(built->target.kind(), "c");
  EXPECT_EQ(built->codegen, "c");
  std::vector<std::string> steps;
  for (const Timing& t : built->timings) {
    steps.push_back(t.step);
    EXPECT_GE(t.milliseconds, 0);
  }
  EXPECT_EQ(steps, (std::vector<std::string>{"import", "verify", "resolve", "print"}));
  EXPECT_EQ(built->module.functions(), std::vector<std::string>{"vadd_kernel"});
  auto source = built->module.artifact("source");
  ASSERT_TRUE(source);
  EXPECT_NE(source->find("vadd_kernel"), std::string::npos);
}

TEST(Driver, SameInputSameBytes) {
  BuildOptions options;
  options.compile = false;
  auto a = build_file(kModule, options), b = build_file(kModule, options);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(*a->module.artifact("source"), *b->module.artifact("source"));
}

TEST(Driver, ScriptAndFileGiveTheSameSource) {
  auto m = IRModule::load(kModule);
  ASSERT_TRUE(m);
  auto again = IRModule::parse(m->script(), "text");
  ASSERT_TRUE(again) << again.error().to_string();
  BuildOptions options;
  options.compile = false;
  auto a = build(*m, options), b = build(*again, options);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(*a->module.artifact("source"), *b->module.artifact("source"));
}

TEST(Driver, TheTargetOfTheModule) {
  auto m = IRModule::load(kModule);
  ASSERT_TRUE(m);
  auto t = target_of(*m);
  ASSERT_TRUE(t) << t.error().to_string();
  EXPECT_EQ(t->kind(), "c");
}

TEST(Driver, Errors) {
  BuildOptions options;
  options.compile = false;
  auto missing = build_file("/nonexistent/kiln.json", options);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kIo);
  options.codegen = "fortran";
  auto codegen = build_file(kModule, options);
  ASSERT_FALSE(codegen);
  EXPECT_EQ(codegen.error().code, Code::kNoCodegen);
  EXPECT_EQ(codegen.error().message, "no device codegen 'fortran' for target kind 'c'");
  EXPECT_EQ(codegen.error().hint, "available: c");
  options.target = "cuda", options.codegen = "sim";  // there, and for other targets of the kind
  auto other = build_file(kModule, options);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kNoCodegen);
  EXPECT_EQ(other.error().message.find("device codegen 'sim' does not serve the target 'cuda"), 0u) << other.error().message;
  EXPECT_EQ(other.error().hint, "kiln resolve TARGET --explain says which does");
  options.codegen.reset();
  options.target = "metl";
  auto target = build_file(kModule, options);
  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().code, Code::kUnknownTarget);
  options.target = "ext_dev";
  auto none = build_file(kModule, options);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kNoCodegen);
}

}  // namespace
}  // namespace kiln::driver
