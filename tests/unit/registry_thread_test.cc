// Many threads at once; what ThreadSanitizer watches. A deadlock ends the process by its alarm.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "kiln/device_codegen.h"
#include "registry/backend.h"
#include "registry/loader.h"

namespace kiln {
namespace {

using testing::ElementsAre;

void on_threads(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  std::latch start(count);  // together, also where a thread's work is shorter than making it
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      work(i);
    });
  }
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

void add(std::string_view kind, std::string name, TargetPredicate predicate) {
  EXPECT_TRUE(register_device_codegen(kind, {std::move(name), {}, {}, std::move(predicate)}).ok());
}

void add_lazy(std::string_view kind, std::string_view path) { EXPECT_TRUE(register_lazy_device_codegen(kind, path).ok()); }

class RegistryThreads : public testing::Test {
 protected:
  void SetUp() override { alarm(120); }
  void TearDown() override {
    registry::set_python_importer({});
    alarm(0);
  }
};

TEST_F(RegistryThreads, RegisterResolveAndRemove) {
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

TEST_F(RegistryThreads, ReaderOfAnOverriddenNameNeverSeesNone) {
  add("threadtest_override", "a");
  Target target = must_parse("threadtest_override");
  std::atomic<bool> done = false;
  std::atomic<int> failures = 0;
  on_threads(5, [&](int thread) {
    for (int i = 0; thread == 0 && i < 2000; ++i) add("threadtest_override", "a", true);
    if (thread == 0) done = true;
    while (!done) {
      if (!resolve_device_codegen(target).ok()) ++failures;
      std::vector<std::string> names = *allowed_device_codegens_for_target(target);
      if (names != std::vector<std::string>{"a"}) ++failures;
    }
  });
  EXPECT_EQ(failures, 0);
}

TEST_F(RegistryThreads, FirstUsersWaitForOneLoad) {
  std::atomic<int> loads = 0;
  registry::set_python_importer([&](std::string_view, std::string_view) -> Status {
    ++loads;
    for (int i = 0; i < 50; ++i) {
      add("threadtest_load", "e" + std::to_string(i));
      std::this_thread::yield();
    }
    return Ok{};
  });
  add_lazy("threadtest_load", "pkg.load");
  Target target = must_parse("threadtest_load");
  std::atomic<int> failures = 0;
  on_threads(8, [&](int) {
    if (allowed_device_codegens_for_target(target)->size() != 50) ++failures;
  });
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(loads, 1);
}

TEST_F(RegistryThreads, FailingLoadsDoNotDisturbOtherRegistrations) {
  registry::set_python_importer([&](std::string_view, std::string_view) -> Status {
    add("threadtest_fail", "half");
    add("threadtest_fail", "base", true);
    return Error{Code::kInternal, "no", "", ""};
  });
  add("threadtest_fail", "base");
  add_lazy("threadtest_fail", "pkg.fail");
  Target target = must_parse("threadtest_fail");
  on_threads(8, [&](int thread) {
    for (int i = 0; i < 20; ++i) {
      EXPECT_FALSE(resolve_device_codegen(target).ok());
      if (i == 10) add("threadtest_fail", "t" + std::to_string(thread));
    }
  });
  std::vector<std::string> names;
  for (const Candidate& c : explain_device_codegen(target).candidates) names.push_back(c.name);
  ASSERT_EQ(names.size(), 9u);
  EXPECT_EQ(names[0], "base");
}

TEST_F(RegistryThreads, RegisteringDoesNotWaitForALoad) {
  std::atomic<bool> loading = false, registered = false;
  registry::set_python_importer([&](std::string_view, std::string_view) -> Status {
    loading = true;
    while (!registered) std::this_thread::yield();  // ends only if the other thread is not held up
    return Ok{};
  });
  add_lazy("threadtest_wait", "pkg.wait");
  Target target = must_parse("threadtest_wait");
  std::thread loader([&] { EXPECT_TRUE(explain_device_codegen(target).load_failures.empty()); });
  while (!loading) std::this_thread::yield();
  add("threadtest_wait_other", "x");
  EXPECT_TRUE(resolve_device_codegen(must_parse("threadtest_wait_other")).ok());
  registered = true;
  loader.join();
}

TEST_F(RegistryThreads, NewKindsFromAllThreads) {
  std::vector<std::atomic<int>> wins(20);
  on_threads(8, [&](int) {
    for (int i = 0; i < 20; ++i) {
      if (register_device_codegen("threadtest_new" + std::to_string(i), {"x", {}, {}, {}}).ok()) ++wins[static_cast<size_t>(i)];
      EXPECT_TRUE(resolve_device_codegen(must_parse("threadtest_new" + std::to_string(i))).ok());
    }
  });
  for (const std::atomic<int>& n : wins) EXPECT_EQ(n, 1);
}

TEST_F(RegistryThreads, PredicatesThatThrow) {
  std::atomic<bool> throws = true;
  add("threadtest_throw", "sometimes", [&](const Target&) -> bool {
    if (throws) throw std::out_of_range("mine");
    return true;
  });
  Target target = must_parse("threadtest_throw");
  std::atomic<int> caught = 0, wrong = 0;
  on_threads(8, [&](int thread) {
    std::string mine = "t" + std::to_string(thread);
    for (int i = 0; i < 100; ++i) {
      try {
        (void)resolve_device_codegen(target);
        ++wrong;
      } catch (const std::out_of_range& e) {
        if (e.what() == std::string("mine")) ++caught;
      }
      add("threadtest_throw", mine);
      Explanation e = explain_device_codegen(target);
      if (!e.candidates[0].threw || !e.error) ++wrong;
      if (!remove_device_codegen("threadtest_throw", mine)) ++wrong;
    }
  });
  EXPECT_EQ(caught, 800);
  EXPECT_EQ(wrong, 0);
  throws = false;
  EXPECT_THAT(*allowed_device_codegens_for_target(target), ElementsAre("sometimes"));
}

TEST_F(RegistryThreads, PredicatesThatUseTheRegistry) {
  registry::set_python_importer([](std::string_view, std::string_view) -> Status {
    add("threadtest_reenter_lazy", "loaded", true);
    return Ok{};
  });
  add("threadtest_reenter_other", "other");
  Target other = must_parse("threadtest_reenter_other");
  std::atomic<int> next = 0, wrong = 0;
  add("threadtest_reenter", "busy", [&](const Target& target) {
    std::string name = "x" + std::to_string(next++);
    add("threadtest_reenter_other", name);
    if (!resolve_device_codegen(other).ok()) ++wrong;
    if (!remove_device_codegen("threadtest_reenter_other", name)) ++wrong;
    add_lazy("threadtest_reenter_lazy", "pkg.reenter");
    if (!allowed_device_codegens_for_target(must_parse("threadtest_reenter_lazy")).ok()) ++wrong;
    return target.kind() == "threadtest_reenter";
  });
  Target target = must_parse("threadtest_reenter");
  on_threads(8, [&](int) {
    for (int i = 0; i < 50; ++i) {
      if (!resolve_device_codegen(target).ok() || explain_device_codegen(target).error) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(next, 800);
  EXPECT_THAT(*allowed_device_codegens_for_target(other), ElementsAre("other"));
}

TEST_F(RegistryThreads, SlowPredicateHoldsUpNobody) {
  registry::set_python_importer([](std::string_view, std::string_view) -> Status {
    add("threadtest_slow_lazy", "loaded");
    return Ok{};
  });
  std::atomic<bool> asked = false, others_done = false;
  add("threadtest_slow", "slow", [&](const Target&) {
    if (asked.exchange(true)) return true;
    while (!others_done) std::this_thread::yield();
    return true;
  });
  Target target = must_parse("threadtest_slow");
  std::thread slow([&] { EXPECT_TRUE(resolve_device_codegen(target).ok()); });
  while (!asked) std::this_thread::yield();
  on_threads(4, [&](int thread) {
    std::string mine = "t" + std::to_string(thread);
    EXPECT_EQ((*resolve_device_codegen(target))->name, "slow");
    add("threadtest_slow", mine);
    add("threadtest_slow", mine, true);
    EXPECT_TRUE(explain_device_codegen(target).chosen);
    EXPECT_TRUE(remove_device_codegen("threadtest_slow", mine));
    add_lazy("threadtest_slow_lazy", "pkg.slow");
    EXPECT_TRUE(resolve_device_codegen(must_parse("threadtest_slow_lazy")).ok());
  });
  others_done = true;
  slow.join();
}

TEST_F(RegistryThreads, HandlesRemoveTheirOwnEntry) {
  std::atomic<int> wrong = 0;
  add("threadtest_scoped", "base");
  Target target = must_parse("threadtest_scoped");
  on_threads(8, [&](int thread) {
    for (int i = 0; i < 100; ++i) {
      Result<ScopedDeviceCodegen> shared = register_scoped_device_codegen("threadtest_scoped", {"shared", {}, {}, {}});
      Result<ScopedDeviceCodegen> mine = register_scoped_device_codegen("threadtest_scoped", {"t" + std::to_string(thread), {}, {}, {}});
      std::vector<std::string> names = *allowed_device_codegens_for_target(target);
      if (!mine.ok() || std::count(names.begin(), names.end(), mine->get()->name) != 1) ++wrong;
      if (shared.ok() && std::count(names.begin(), names.end(), "shared") != 1) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_THAT(*allowed_device_codegens_for_target(target), ElementsAre("base"));
}

TEST_F(RegistryThreads, LoadThatFailsUntilItWorks) {
  std::atomic<int> loads = 0;
  registry::set_python_importer([&](std::string_view, std::string_view) -> Status {
    add("threadtest_recover", "loaded");
    if (++loads <= 5) return Error{Code::kInternal, "not yet", "", ""};
    return Ok{};
  });
  add_lazy("threadtest_recover", "pkg.recover");
  Target target = must_parse("threadtest_recover");
  std::atomic<int> failed = 0, wrong = 0;
  on_threads(8, [&](int) {
    for (int i = 0; i < 20; ++i) {
      Result<std::vector<std::string>> names = allowed_device_codegens_for_target(target);
      if (names && *names != std::vector<std::string>{"loaded"}) ++wrong;
      if (!names) ++failed;
    }
  });
  EXPECT_EQ(loads, 6);
  EXPECT_EQ(failed, 5);
  EXPECT_EQ(wrong, 0);
}

TEST_F(RegistryThreads, ReaderOfABackendThatLoadsAgainNeverSeesNone) {
  registry::set_python_importer([&](std::string_view, std::string_view) -> Status {
    add("threadtest_reload", "first");
    add("threadtest_reload", "second");
    return Ok{};
  });
  add_lazy("threadtest_reload", "pkg.reload");
  Target target = must_parse("threadtest_reload");
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  on_threads(5, [&](int thread) {
    for (int i = 0; thread == 0 && i < 2000; ++i) add_lazy("threadtest_reload", "pkg.reload");
    if (thread == 0) done = true;
    while (!done) {
      if (!resolve_device_codegen(target).ok()) ++wrong;
      if (allowed_device_codegens_for_target(target)->size() != 2) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST_F(RegistryThreads, ExplanationsWhileEverythingChanges) {
  std::atomic<int> loads = 0;
  registry::set_python_importer([&](std::string_view, std::string_view) -> Status {
    add("threadtest_explain", "lazy");
    if (++loads % 2 == 0) return Error{Code::kInternal, "every other time", "", ""};
    return Ok{};
  });
  add("threadtest_explain", "base");
  Target target = must_parse("threadtest_explain");
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  on_threads(5, [&](int thread) {
    for (int i = 0; thread == 0 && i < 500; ++i) {
      add("threadtest_explain", "base", true);
      add_lazy("threadtest_explain", "pkg.explain");
      add("threadtest_explain", "short");
      EXPECT_TRUE(remove_device_codegen("threadtest_explain", "short"));
    }
    if (thread == 0) done = true;
    while (!done) {
      Explanation e = explain_device_codegen(target);
      std::set<std::string> names;
      for (const Candidate& c : e.candidates) names.insert(c.name);
      if (names.size() != e.candidates.size() || !names.contains("base")) ++wrong;
      if (!e.chosen || e.chosen != e.candidates[0].codegen) ++wrong;
      if (e.error && e.load_failures.empty()) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

// A language's own lock, as Python's: the manifest source takes it, and threads that hold it use the registry for the first time. (First,
// when this test runs alone, as under ctest.)
TEST_F(RegistryThreads, FirstUseWithALockThatTheManifestSourceTakes) {
  static std::recursive_mutex interpreter;
  registry::set_manifest_source([] {
    std::lock_guard lock(interpreter);
    std::this_thread::yield();
    return std::vector<registry::ManifestText>();
  });
  on_threads(8, [&](int thread) {
    std::unique_lock lock(interpreter, std::defer_lock);
    if (thread % 2 == 0) lock.lock();
    EXPECT_FALSE(registry::manifests().empty());
    EXPECT_TRUE(Target::parse("c").ok());
    add("threadtest_first", "t" + std::to_string(thread));
  });
  registry::set_manifest_source({});
}

}  // namespace
}  // namespace kiln
