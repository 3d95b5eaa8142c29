// Plug-ins over the C interface.
#include <gmock/gmock.h>

#include "kiln/device_codegen.h"

namespace kiln {
namespace {

using testing::HasSubstr;

constexpr const char* kAddOne = R"(@I.ir_module
class Module:
    @T.prim_func
    def add_one(A: T.handle("float32", "global")) -> T.int32:
        T.func_attr({"global_symbol": "add_one"})
        A_1 = T.decl_buffer((4,), data=A)
        for i in T.serial(0, 4):
            A_1[i] = A_1[i] + T.float32(1)
        return 0
)";

Target must_parse(std::string_view text) {
  Result<Target> target = Target::parse(text);
  if (!target) ADD_FAILURE() << target.error().to_string();
  return *target;
}

IRModule add_one() {
  Result<IRModule> module = IRModule::parse(kAddOne, "add_one");
  if (!module) ADD_FAILURE() << module.error().to_string();
  return *module;
}

class PluginTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_TRUE(register_lazy_device_codegen("plugintest_abi", KILN_TEST_PLUGINS "/libkiln_plugin_plain.so").ok());
    ASSERT_TRUE(resolve_device_codegen(must_parse("plugintest_abi")).ok());
  }
  static const DeviceCodegen& entry(std::string_view name) {
    for (const Candidate& c : explain_device_codegen(must_parse("plugintest_abi")).candidates) {
      if (c.name == name) return *c.codegen;
    }
    ADD_FAILURE() << "no codegen " << name;
    static const DeviceCodegen none;
    return none;
  }
  static Result<Module> lower(std::string_view name, std::string_view target = "plugintest_abi") {
    return entry(name).lower(add_one(), must_parse(target), true);
  }
};

TEST_F(PluginTest, PredicateAnswersOrFails) {
  EXPECT_EQ((*resolve_device_codegen(must_parse("plugintest_abi -keys=yes")))->name, "picky");
  EXPECT_EQ((*resolve_device_codegen(must_parse("plugintest_abi -keys=no")))->name, "echo");
  EXPECT_THROW((void)resolve_device_codegen(must_parse("plugintest_abi -keys=error")), std::runtime_error);
  EXPECT_EQ((*resolve_device_codegen(must_parse("plugintest_abi -keys=yes")))->name, "picky");
}

TEST_F(PluginTest, GetsTheModuleAndReturnsSource) {
  Result<Module> module = lower("echo");
  ASSERT_TRUE(module.ok()) << module.error().to_string();
  EXPECT_EQ(module->inspect_source("echo"), add_one().script());
  EXPECT_EQ(module->kind(), "kiln");
  EXPECT_TRUE(module->functions().empty());
}

TEST_F(PluginTest, PrintsByAnotherCodegen) {
  Result<Module> module = lower("reprint", "plugintest_abi -print=c");
  ASSERT_TRUE(module.ok()) << module.error().to_string();
  EXPECT_THAT(module->inspect_source(), HasSubstr("add_one(float"));
  EXPECT_EQ(module->functions(), std::vector<std::string>{"add_one"});
  EXPECT_THAT(lower("reprint", "plugintest_abi -print=metl").error().message, HasSubstr("target 'metl' is not known"));
}

TEST_F(PluginTest, ItsErrorsArriveWhole) {
  Error error = lower("refuse").error();
  EXPECT_EQ(error.code, Code::kUnsupported);
  EXPECT_EQ(error.to_string(), "here: this plug-in refuses everything (a hint)");
}

TEST_F(PluginTest, BadResultsAreNamed) {
  EXPECT_EQ(lower("nothing").error().message, "device codegen 'nothing' reported success and gave no result");
  EXPECT_THAT(lower("bad_binary").error().message, HasSubstr("kernels.so"));
  EXPECT_EQ(lower("bad_kernel").error().message, "a kernel needs a name and a symbol");
  EXPECT_EQ(lower("no_artifacts").error().message, "the result of a codegen must be artifacts, got a null pointer");
  EXPECT_EQ(lower("no_module").error().message, "the result of a codegen must be a tvm-ffi module");
}

// What a plug-in with that fault says when it is loaded.
std::string fault_of(const std::string& name) {
  std::string path = KILN_TEST_PLUGINS "/libkiln_plugin_" + name + ".so";
  EXPECT_TRUE(register_lazy_device_codegen("plugintest_" + name, path).ok());
  std::string message = resolve_device_codegen(must_parse("plugintest_" + name)).error().message;
  std::string prefix = "backend '" + path + "' for target 'plugintest_" + name + "' did not load: ";
  EXPECT_EQ(message.substr(0, prefix.size()), prefix);
  return message.substr(std::min(message.size(), prefix.size()));
}

TEST(Plugin, FaultyOnesAreRefused) {
  EXPECT_EQ(fault_of("old_abi"), "the plug-in has ABI version 999, expected 1");
  EXPECT_EQ(fault_of("no_init"), "the plug-in has no init function");
  EXPECT_EQ(fault_of("no_entry"), "the library has no function kiln_plugin");
  EXPECT_EQ(fault_of("small_codegen"), "a KilnCodegen is smaller than that of version 1");
}

// tests/plugins/plain.c of version 1 of the interface, as it was compiled then (x86-64, glibc) with KIND="plugintest_old".
TEST(Plugin, BinaryOfVersionOneLoads) {
  ASSERT_TRUE(register_lazy_device_codegen("plugintest_old", KILN_SOURCE_DIR "/tests/plugins/version_1.so").ok());
  Target target = must_parse("plugintest_old -print=c -keys=yes");
  Result<std::vector<std::string>> names = allowed_device_codegens_for_target(target);
  ASSERT_TRUE(names.ok()) << names.error().to_string();
  EXPECT_THAT(*names, testing::ElementsAre("picky", "echo", "reprint", "refuse", "nothing", "bad_binary", "bad_kernel", "no_module"));
  for (const Candidate& c : explain_device_codegen(target).candidates) {
    Result<Module> module = c.codegen->lower(add_one(), target, true);
    if (c.name == "echo") {
      EXPECT_EQ(module->inspect_source(), add_one().script());
    }
    if (c.name == "reprint") {
      EXPECT_THAT(module->inspect_source(), HasSubstr("add_one(float"));
    }
    if (c.name == "refuse") {
      EXPECT_EQ(module.error().to_string(), "here: this plug-in refuses everything (a hint)");
    }
  }
}

}  // namespace
}  // namespace kiln
