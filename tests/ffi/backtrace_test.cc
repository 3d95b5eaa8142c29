// Failures are values: none makes tvm-ffi take a backtrace, whose first one in a process costs 0.2 s.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <tvm/ffi/tvm_ffi.h>

#include <functional>

#include "driver/driver.h"
#include "kiln/device_codegen.h"
#include "registry/ffi_bridge.h"

static int backtraces = 0;

// Stands before libtvm_ffi's own in the order of look-up.
extern "C" const TVMFFIByteArray* TVMFFIBacktrace(const char* file, int line, const char* function, int cross_boundary) {
  ++backtraces;
  auto real = reinterpret_cast<decltype(&TVMFFIBacktrace)>(dlsym(RTLD_NEXT, "TVMFFIBacktrace"));
  return real(file, line, function, cross_boundary);
}

namespace kiln {
namespace {

namespace ffi = tvm::ffi;

TEST(Backtraces, AreCounted) {
  int before = backtraces;
  EXPECT_THROW(TVM_FFI_THROW(ValueError) << "one", ffi::Error);
  EXPECT_GT(backtraces, before);
}

TEST(Backtraces, NoneForFailuresInCpp) {
  int before = backtraces;
  EXPECT_FALSE(Target::parse("metl").ok());
  Target target = *Target::parse("nvptx");
  EXPECT_FALSE(resolve_device_codegen(target).ok());
  EXPECT_FALSE(explain_device_codegen(target).chosen);
  ASSERT_TRUE(register_lazy_device_codegen("backtrace_lazy", "/nonexistent/libx.so").ok());
  EXPECT_FALSE(resolve_device_codegen(*Target::parse("backtrace_lazy")).ok());
  EXPECT_FALSE(IRModule::parse("{", "file").ok());
  EXPECT_FALSE(driver::build_file("/nonexistent.json", {}).ok());
  EXPECT_FALSE(global_func_device_codegen("backtrace.missing")(IRModule(nullptr), target).ok());
  EXPECT_FALSE((DeviceCodegen{"none", {}, {}, {}}).lower(IRModule(nullptr), target, true).ok());
  EXPECT_EQ(backtraces, before);
}

TEST(Backtraces, NoneForErrorsOfTheGlobalFunctions) {
  ASSERT_TRUE(registry::register_ffi_globals().ok());
  auto fails = [](const char* name, const char* argument) {
    EXPECT_THROW(ffi::Function::GetGlobalRequired(name)(argument), ffi::Error) << name;
  };
  int before = backtraces;
  fails("kiln.parse_target", "metl");
  fails("kiln.resolve_device_codegen", "nvptx");
  fails("kiln.load_module", "/nonexistent.json");
  fails("kiln.module_functions", "text");
  EXPECT_EQ(backtraces, before);
}

}  // namespace
}  // namespace kiln
