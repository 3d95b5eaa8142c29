// The end of a process that holds codegens and loaded backends. Each body runs in a process of its own, where sanitizers check the exit
// too.
#include <gmock/gmock.h>

#include <cstdlib>
#include <memory>
#include <thread>

#include "kiln/device_codegen.h"
#include "registry/loader.h"

namespace kiln {
namespace {

class RegistryExit : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

Target must_parse(std::string_view text) {
  Result<Target> target = Target::parse(text);
  if (!target) std::abort();
  return *target;
}

DeviceCodegen codegen(std::string name) {
  std::string state(1000, 'x');  // on the heap, reachable from the registry alone
  return {std::move(name), {}, {}, [state](const Target&) { return !state.empty(); }};
}

[[noreturn]] void exit_with(bool fine) { std::exit(fine ? 0 : 1); }

TEST_F(RegistryExit, WithCodegensBackendsAndLibraries) {
  auto body = [] {
    bool fine = resolve_device_codegen(must_parse("c")).ok();
    fine = fine && register_device_codegen("exittest", codegen("a")).ok() && register_device_codegen("exittest", codegen("a"), true).ok();
    fine = fine && register_lazy_device_codegen("exittest", KILN_TEST_LOUD).ok();
    fine = fine && !resolve_device_codegen(must_parse("exittest")).ok();  // opened; no backend
    exit_with(fine && explain_device_codegen(must_parse("exittest")).candidates.size() == 1);
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

TEST_F(RegistryExit, HandlesAndHandlersThatRunAtExit) {
  auto body = [] {
    static ScopedDeviceCodegen before;  // destroyed after what the registry makes below
    static Target target = must_parse("c");
    std::atexit([] {
      if (!resolve_device_codegen(target).ok()) std::abort();
      if (!register_device_codegen("exittest", codegen("late"), true).ok()) std::abort();
    });
    Result<ScopedDeviceCodegen> handle = register_scoped_device_codegen("exittest", codegen("scoped"));
    if (handle) before = std::move(*handle);
    exit_with(handle.ok());
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

TEST_F(RegistryExit, ThreadThatResolvesMeanwhile) {
  auto body = [] {
    Target target = must_parse("c");
    bool fine = resolve_device_codegen(target).ok();
    std::thread([target] {
      for (int i = 0;; ++i) {
        (void)register_device_codegen("exittest", codegen("n" + std::to_string(i % 100)), true);
        (void)resolve_device_codegen(target);
        (void)explain_device_codegen(target);
      }
    }).detach();
    std::this_thread::yield();
    exit_with(fine);
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

// A codegen whose destruction would fault, as one that needs an interpreter that is gone: the registry destroys none.
TEST_F(RegistryExit, CodegensAreNotDestroyed) {
  struct Fatal {
    bool armed = false;
    ~Fatal() {
      if (armed) std::abort();
    }
  };
  auto body = [] {
    auto fatal = std::make_shared<Fatal>();
    DeviceCodegen entry{"fatal", {}, {}, [fatal](const Target&) { return fatal->armed; }};
    bool fine = register_device_codegen("exittest", std::move(entry)).ok();
    fatal->armed = true;
    fine = fine && remove_device_codegen("exittest", "fatal");
    fatal.reset();
    auto kept = std::make_shared<Fatal>();
    registry::set_python_importer([kept](std::string_view, std::string_view) { return Status(Ok{}); });
    kept->armed = true;
    kept.reset();
    exit_with(fine);
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace kiln
