// Many threads at once; what ThreadSanitizer watches.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "kiln/device_codegen.h"
#include "registry/loader.h"

namespace kiln {
namespace {

using testing::ElementsAre;

void on_threads(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(work, i);
  for (std::thread& t : threads) t.join();
}

Target must_parse(std::string_view text) {
  Result<Target> target = Target::parse(text);
  if (!target) ADD_FAILURE() << target.error().to_string();
  return *target;
}

void add(std::string_view kind, std::string name, bool override = false) {
  EXPECT_TRUE(register_device_codegen(kind, {std::move(name), {}, {}, {}}, override).ok());
}

TEST(RegistryThreads, RegisterResolveAndRemove) {
  add("threadtest_mix", "base");
  std::atomic<int> failures = 0;
  on_threads(8, [&](int thread) {
    std::string mine = "t" + std::to_string(thread);
    Target target = must_parse("threadtest_mix");
    for (int i = 0; i < 200; ++i) {
      add("threadtest_mix", mine);
      if (!resolve_device_codegen(target).ok()) ++failures;
      std::vector<std::string> names = *allowed_device_codegens_for_target(target);
      if (std::count(names.begin(), names.end(), mine) != 1) ++failures;
      if (!remove_device_codegen("threadtest_mix", mine)) ++failures;
      add("threadtest_kind_" + mine, "x", true);
    }
  });
  EXPECT_EQ(failures, 0);
  EXPECT_THAT(*allowed_device_codegens_for_target(must_parse("threadtest_mix")), ElementsAre("base"));
}

TEST(RegistryThreads, ReaderOfAnOverriddenNameNeverSeesNone) {
  add("threadtest_override", "a");
  Target target = must_parse("threadtest_override");
  std::atomic<bool> done = false;
  std::atomic<int> failures = 0;
  std::thread writer([&] {
    for (int i = 0; i < 2000; ++i) add("threadtest_override", "a", true);
    done = true;
  });
  on_threads(4, [&](int) {
    while (!done) {
      std::vector<std::string> names = *allowed_device_codegens_for_target(target);
      if (names != std::vector<std::string>{"a"}) ++failures;
    }
  });
  writer.join();
  EXPECT_EQ(failures, 0);
}

TEST(RegistryThreads, FirstUsersWaitForOneLoad) {
  std::atomic<int> loads = 0;
  registry::set_python_importer([&](std::string_view, std::string_view) -> Status {
    ++loads;
    for (int i = 0; i < 50; ++i) {
      add("threadtest_load", "e" + std::to_string(i));
      std::this_thread::yield();
    }
    return Ok{};
  });
  ASSERT_TRUE(register_lazy_device_codegen("threadtest_load", "pkg.load").ok());
  Target target = must_parse("threadtest_load");
  std::atomic<int> failures = 0;
  on_threads(8, [&](int) {
    if (allowed_device_codegens_for_target(target)->size() != 50) ++failures;
  });
  registry::set_python_importer({});
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(loads, 1);
}

TEST(RegistryThreads, FailingLoadsDoNotDisturbOtherRegistrations) {
  registry::set_python_importer([&](std::string_view, std::string_view) -> Status {
    add("threadtest_fail", "half");
    add("threadtest_fail", "base", true);
    return Error{Code::kInternal, "no", "", ""};
  });
  add("threadtest_fail", "base");
  ASSERT_TRUE(register_lazy_device_codegen("threadtest_fail", "pkg.fail").ok());
  Target target = must_parse("threadtest_fail");
  on_threads(8, [&](int thread) {
    for (int i = 0; i < 20; ++i) {
      EXPECT_FALSE(resolve_device_codegen(target).ok());
      if (i == 10) add("threadtest_fail", "t" + std::to_string(thread));
    }
  });
  std::vector<std::string> names;
  for (const Candidate& c : explain_device_codegen(target).candidates) names.push_back(c.name);
  registry::set_python_importer({});
  ASSERT_EQ(names.size(), 9u);
  EXPECT_EQ(names[0], "base");
}

TEST(RegistryThreads, RegisteringDoesNotWaitForALoad) {
  std::atomic<bool> loading = false, registered = false;
  registry::set_python_importer([&](std::string_view, std::string_view) -> Status {
    loading = true;
    while (!registered) std::this_thread::yield();  // ends only if the other thread is not held up
    return Ok{};
  });
  ASSERT_TRUE(register_lazy_device_codegen("threadtest_wait", "pkg.wait").ok());
  Target target = must_parse("threadtest_wait");
  std::thread loader([&] { EXPECT_TRUE(explain_device_codegen(target).load_failures.empty()); });
  while (!loading) std::this_thread::yield();
  add("threadtest_wait_other", "x");
  EXPECT_TRUE(resolve_device_codegen(must_parse("threadtest_wait_other")).ok());
  registered = true;
  loader.join();
  registry::set_python_importer({});
}

TEST(RegistryThreads, NewKindsFromAllThreads) {
  std::vector<std::atomic<int>> wins(20);
  on_threads(8, [&](int) {
    for (int i = 0; i < 20; ++i) {
      if (register_device_codegen("threadtest_new" + std::to_string(i), {"x", {}, {}, {}}).ok()) ++wins[static_cast<size_t>(i)];
      EXPECT_TRUE(resolve_device_codegen(must_parse("threadtest_new" + std::to_string(i))).ok());
    }
  });
  for (const std::atomic<int>& n : wins) EXPECT_EQ(n, 1);
}

}  // namespace
}  // namespace kiln
