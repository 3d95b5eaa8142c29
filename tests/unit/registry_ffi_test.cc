// The registry as other languages see it: tvm-ffi global functions.
#include <gmock/gmock.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/tvm_ffi.h>

#include "kiln/device_codegen.h"
#include "registry/ffi_bridge.h"

namespace kiln {
namespace {

namespace ffi = tvm::ffi;
using testing::HasSubstr;

class EmptyModule : public ffi::ModuleObj {
 public:
  const char* kind() const final { return "empty"; }
  ffi::Optional<ffi::Function> GetFunction(const ffi::String&) final { return std::nullopt; }
};

template <class... Args>
ffi::Any call(const std::string& name, Args&&... args) {
  EXPECT_TRUE(registry::register_ffi_globals().ok());
  return ffi::Function::GetGlobalRequired("kiln." + name)(std::forward<Args>(args)...);
}

// The message of what `work` throws.
std::string thrown(const std::function<void()>& work) {
  try {
    work();
  } catch (const ffi::Error& e) {
    return std::string(e.kind()) + ": " + std::string(e.message());
  }
  return "";
}

Target must_parse(std::string_view text) {
  Result<Target> target = Target::parse(text);
  if (!target) ADD_FAILURE() << target.error().to_string();
  return *target;
}

TEST(RegistryFfi, CodegenOfAnotherLanguageLowers) {
  ffi::Function build = ffi::Function::FromTyped([](const ffi::Any& module, const ffi::Any& target) {
    EXPECT_EQ(module.GetTypeKey(), "kiln.IRModule");
    EXPECT_EQ(std::string(call("target_to_json", target).cast<ffi::String>()), R"({"kind":"ffitest","tag":"","keys":["fast"]})");
    return ffi::Module(ffi::make_object<EmptyModule>());
  });
  ffi::Function supports = ffi::Function::FromTyped(
      [](const ffi::Any& target) { return call("target_to_json", target).cast<std::string>().find("fast") != std::string::npos; });
  call("register_device_codegen", "ffitest", "mine", build, nullptr, supports, false);
  EXPECT_EQ(call("resolve_device_codegen", "ffitest -keys=fast").cast<std::string>(), "mine");
  EXPECT_EQ(call("allowed_device_codegens_for_target", "ffitest").cast<ffi::Array<ffi::String>>().size(), 0u);

  Target target = must_parse("ffitest -keys=fast");
  const DeviceCodegen* entry = *resolve_device_codegen(target);
  Result<Module> lowered = entry->lower(IRModule(nullptr), target, true);
  ASSERT_TRUE(lowered.ok()) << lowered.error().to_string();
  EXPECT_TRUE(*lowered);
  EXPECT_EQ(entry->lower(IRModule(nullptr), target, false).error().code, Code::kUnsupported);

  EXPECT_TRUE(call("remove_device_codegen", "ffitest", "mine").cast<bool>());
  EXPECT_FALSE(call("remove_device_codegen", "ffitest", "mine").cast<bool>());
}

TEST(RegistryFfi, LowerCallsTheEntryOfThatName) {
  ffi::Function inner =
      ffi::Function::FromTyped([](const ffi::Any&, const ffi::Any&) { return ffi::Module(ffi::make_object<EmptyModule>()); });
  ffi::Function outer = ffi::Function::FromTyped([](const ffi::Any& module, const ffi::Any& target) {
    ffi::Any lowered = call("lower", module, target, "inner", false);
    EXPECT_EQ(lowered.cast<ffi::Module>()->kind(), std::string("empty"));
    return lowered;
  });
  call("register_device_codegen", "ffitest_lower", "outer", outer, nullptr, nullptr, false);
  call("register_device_codegen", "ffitest_lower", "inner", nullptr, inner, nullptr, false);
  Target target = must_parse("ffitest_lower");
  Result<Module> lowered = (*resolve_device_codegen(target))->lower(IRModule(nullptr), target, true);
  EXPECT_TRUE(lowered.ok()) << lowered.error().to_string();
  EXPECT_TRUE(remove_device_codegen("ffitest_lower", "outer"));
  EXPECT_TRUE(remove_device_codegen("ffitest_lower", "inner"));
}

TEST(RegistryFfi, ErrorsArriveWithMessageAndHint) {
  EXPECT_THAT(thrown([] { call("parse_target", "metl"); }),
              HasSubstr("ValueError: target 'metl' is not known (did you mean 'metal'? known: "));
  EXPECT_EQ(thrown([] { call("target_to_json", 3); }), "ValueError: a target must be text or a kiln.Target, got int");
  EXPECT_EQ(thrown([] { call("lower", nullptr, "c", "no_such", true); }),
            "ValueError: no device codegen 'no_such' for target kind 'c' (available: c)");
}

TEST(RegistryFfi, RegisteringTheGlobalsTwiceIsFine) {
  EXPECT_TRUE(registry::register_ffi_globals().ok());
  EXPECT_TRUE(registry::register_ffi_globals().ok());
}

TEST(GlobalFuncDeviceCodegen, LooksTheFunctionUpWhenCalled) {
  DeviceCodegenFunc codegen = global_func_device_codegen("kiln_test.build");
  Target target = must_parse("cuda");
  Result<Module> missing = codegen(IRModule(nullptr), target);
  EXPECT_EQ(missing.error().code, Code::kNoCodegen);
  EXPECT_EQ(missing.error().message, "global function 'kiln_test.build' is not registered");

  ffi::Function::SetGlobal("kiln_test.build", ffi::Function::FromTyped([](const ffi::Any&, const ffi::Any&) {
                             return ffi::Module(ffi::make_object<EmptyModule>());
                           }));
  Result<Module> lowered = codegen(IRModule(nullptr), target);
  ASSERT_TRUE(lowered.ok());
  EXPECT_TRUE(*lowered);

  ffi::Function::SetGlobal("kiln_test.build", ffi::Function::FromTyped([](const ffi::Any&, const ffi::Any&) { return 3; }), true);
  EXPECT_EQ(codegen(IRModule(nullptr), target).error().message, "global function 'kiln_test.build' must return a Module, it returned int");

  ffi::Function::SetGlobal(
      "kiln_test.build", ffi::Function::FromTyped([](const ffi::Any&, const ffi::Any&) -> int { TVM_FFI_THROW(TypeError) << "not today"; }),
      true);
  EXPECT_EQ(codegen(IRModule(nullptr), target).error().message, "global function 'kiln_test.build' failed: TypeError: not today");
}

TEST(GlobalFuncDeviceCodegen, PredicateOfAnotherLanguageThatThrowsPassesThrough) {
  ffi::Function supports = ffi::Function::FromTyped([](const ffi::Any&) -> bool { TVM_FFI_THROW(KeyError) << "mine"; });
  call("register_device_codegen", "ffitest_throw", "bad", nullptr, nullptr, supports, false);
  Target target = must_parse("ffitest_throw");
  EXPECT_EQ(thrown([&] { (void)resolve_device_codegen(target); }), "KeyError: mine");
  EXPECT_TRUE(remove_device_codegen("ffitest_throw", "bad"));
}

}  // namespace
}  // namespace kiln
