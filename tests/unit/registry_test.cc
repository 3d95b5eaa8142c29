// The semantics of the registry, with backends that are functions of this file (loaded through the importer for Python modules).
#include <gmock/gmock.h>

#include <map>
#include <stdexcept>

#include "kiln/device_codegen.h"
#include "registry/loader.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Target must_parse(std::string_view text) {
  Result<Target> target = Target::parse(text);
  if (!target) ADD_FAILURE() << target.error().to_string();
  return *target;
}

DeviceCodegen codegen(std::string name, TargetPredicate predicate = {}) { return {std::move(name), {}, {}, std::move(predicate)}; }

TargetPredicate has_key(std::string key) {
  return [key](const Target& target) { return target.has_key(key); };
}

const DeviceCodegen* add(std::string_view kind, DeviceCodegen entry, bool override = false) {
  Result<const DeviceCodegen*> result = register_device_codegen(kind, std::move(entry), override);
  if (!result) ADD_FAILURE() << result.error().to_string();
  return result ? *result : nullptr;
}

std::vector<std::string> allowed(const Target& target) {
  Result<std::vector<std::string>> names = allowed_device_codegens_for_target(target);
  if (!names) ADD_FAILURE() << names.error().to_string();
  return names ? *names : std::vector<std::string>{};
}

// Backends by module name; `loads` counts the calls.
struct FakeModule {
  std::function<Status()> init;
  int loads = 0;
};

class Registry : public testing::Test {
 protected:
  void SetUp() override {
    registry::set_python_importer([this](std::string_view name, std::string_view) -> Status {
      auto it = modules_.find(std::string(name));
      if (it == modules_.end()) return Error{Code::kIo, "no module named '" + std::string(name) + "'", "", ""};
      ++it->second.loads;
      return it->second.init();
    });
  }
  void TearDown() override { registry::set_python_importer({}); }

  FakeModule& lazy(const std::string& kind, const std::string& name, std::function<Status()> init) {
    modules_[name].init = std::move(init);
    EXPECT_TRUE(register_lazy_device_codegen(kind, name).ok());
    return modules_[name];
  }

  std::map<std::string, FakeModule> modules_;
};

// ---- entries ---------------------------------------------------------------------------------------------------

TEST_F(Registry, MatchesWithoutPredicateIsTrue) {
  Target target = must_parse("cuda -keys=sim");
  EXPECT_TRUE(codegen("a").matches(target));
  EXPECT_TRUE(codegen("a", has_key("sim")).matches(target));
  EXPECT_FALSE(codegen("a", has_key("gpu")).matches(target));
}

TEST_F(Registry, LowerPicksTheEntryPoint) {
  IRModule module(nullptr);
  Target target = must_parse("c");
  std::string called;
  DeviceCodegen entry = codegen("n");
  entry.build = [&](const IRModule&, const Target&) -> Result<kiln::Module> { return called = "build", kiln::Module(); };
  entry.build_without_compile = [&](const IRModule&, const Target&) -> Result<kiln::Module> { return called = "source", kiln::Module(); };
  EXPECT_TRUE(entry.lower(module, target, true).ok());
  EXPECT_EQ(called, "build");
  EXPECT_TRUE(entry.lower(module, target, false).ok());
  EXPECT_EQ(called, "source");
}

TEST_F(Registry, LowerWithoutTheEntryPointIsAnError) {
  IRModule module(nullptr);
  Result<kiln::Module> with = codegen("n").lower(module, must_parse("cuda"), true);
  EXPECT_EQ(with.error().code, Code::kUnsupported);
  EXPECT_EQ(with.error().to_string(), "device codegen 'n' for target 'cuda' does not support lowering with compilation");
  Result<kiln::Module> without = codegen("n").lower(module, must_parse("cuda"), false);
  EXPECT_EQ(without.error().to_string(), "device codegen 'n' for target 'cuda' does not support lowering without compilation");
}

TEST_F(Registry, FirstMatchingEntryInRegistrationOrder) {
  const DeviceCodegen* special = add("regtest_order", codegen("special", has_key("special")));
  const DeviceCodegen* plain = add("regtest_order", codegen("plain"));
  add("regtest_order", codegen("last"));
  EXPECT_EQ(*resolve_device_codegen(must_parse("regtest_order")), plain);
  EXPECT_EQ(*resolve_device_codegen(must_parse("regtest_order -keys=special")), special);
  EXPECT_THAT(allowed(must_parse("regtest_order")), ElementsAre("plain", "last"));
  EXPECT_THAT(allowed(must_parse("regtest_order -keys=special")), ElementsAre("special", "plain", "last"));
}

TEST_F(Registry, NameTwiceIsAnErrorUnlessOverridden) {
  const DeviceCodegen* first = add("regtest_twice", codegen("a"));
  add("regtest_twice", codegen("b"));
  Result<const DeviceCodegen*> again = register_device_codegen("regtest_twice", codegen("a"));
  EXPECT_EQ(again.error().code, Code::kInvalidArgument);
  EXPECT_EQ(again.error().message, "device codegen 'a' for target 'regtest_twice' is already registered");
  EXPECT_THAT(allowed(must_parse("regtest_twice")), ElementsAre("a", "b"));

  const DeviceCodegen* second = add("regtest_twice", codegen("a"), true);
  EXPECT_NE(first, second);
  EXPECT_EQ(first->name, "a");  // removed entries live on
  EXPECT_THAT(allowed(must_parse("regtest_twice")), ElementsAre("b", "a"));
}

TEST_F(Registry, SameNameForTwoKindsIsFine) {
  add("regtest_kind_a", codegen("same"));
  add("regtest_kind_b", codegen("same"));
  EXPECT_NE(*resolve_device_codegen(must_parse("regtest_kind_a")), *resolve_device_codegen(must_parse("regtest_kind_b")));
}

TEST_F(Registry, NoMatchNamesKindAndAvailableEntries) {
  Result<const DeviceCodegen*> none = resolve_device_codegen(must_parse("ext_dev"));
  EXPECT_EQ(none.error().code, Code::kNoCodegen);
  EXPECT_EQ(none.error().message, "no device codegen matches target 'ext_dev', available: <none>");
  EXPECT_THAT(allowed(must_parse("ext_dev")), IsEmpty());
  add("regtest_none", codegen("x", has_key("x")));
  add("regtest_none", codegen("y", has_key("y")));
  EXPECT_EQ(resolve_device_codegen(must_parse("regtest_none")).error().message,
            "no device codegen matches target 'regtest_none', available: x, y");
}

TEST_F(Registry, BadNamesAreErrors) {
  EXPECT_EQ(register_device_codegen("", codegen("a")).error().code, Code::kInvalidArgument);
  EXPECT_EQ(register_device_codegen("a b", codegen("a")).error().code, Code::kInvalidArgument);
  EXPECT_EQ(register_device_codegen("-x", codegen("a")).error().code, Code::kInvalidArgument);
  EXPECT_EQ(register_device_codegen("regtest_bad", codegen("")).error().message, "a device codegen needs a name");
  EXPECT_EQ(register_lazy_device_codegen("regtest_bad", "").error().code, Code::kInvalidArgument);
  EXPECT_FALSE(Target::parse("regtest_bad").ok());
}

TEST_F(Registry, Removal) {
  add("regtest_remove", codegen("a"));
  add("regtest_remove", codegen("b"));
  Target target = must_parse("regtest_remove");
  EXPECT_TRUE(remove_device_codegen("regtest_remove", "a"));
  EXPECT_FALSE(remove_device_codegen("regtest_remove", "a"));
  EXPECT_FALSE(remove_device_codegen("regtest_no_such_kind", "a"));
  EXPECT_THAT(allowed(target), ElementsAre("b"));
  add("regtest_remove", codegen("a"));
  EXPECT_THAT(allowed(target), ElementsAre("b", "a"));
}

TEST_F(Registry, HandlesRemoveTheirOwnEntryOnly) {
  add("regtest_scoped", codegen("keep"));
  Target target = must_parse("regtest_scoped");
  {
    ScopedDeviceCodegen outer;
    {
      Result<ScopedDeviceCodegen> inner = register_scoped_device_codegen("regtest_scoped", codegen("a"));
      ASSERT_TRUE(inner.ok());
      outer = std::move(*inner);
    }
    EXPECT_THAT(allowed(target), ElementsAre("keep", "a"));
    EXPECT_EQ(outer.get()->name, "a");
    outer = std::move(*register_scoped_device_codegen("regtest_scoped", codegen("b")));
    EXPECT_THAT(allowed(target), ElementsAre("keep", "b"));
    add("regtest_scoped", codegen("b"), true);  // the handle's entry is gone: it must not remove this one
  }
  EXPECT_THAT(allowed(target), ElementsAre("keep", "b"));
  EXPECT_FALSE(register_scoped_device_codegen("regtest_scoped", codegen("b")).ok());
  EXPECT_THAT(allowed(target), ElementsAre("keep", "b"));
}

TEST_F(Registry, Ambiguity) {
  add("regtest_ambiguous", codegen("a"));
  add("regtest_ambiguous", codegen("b", has_key("b")));
  add("regtest_ambiguous", codegen("c", has_key("b")));
  EXPECT_EQ((*resolve_unambiguous_device_codegen(must_parse("regtest_ambiguous")))->name, "a");
  EXPECT_EQ(resolve_unambiguous_device_codegen(must_parse("regtest_ambiguous -keys=b")).error().message,
            "several device codegens match target 'regtest_ambiguous': a, b, c");
  EXPECT_EQ(resolve_unambiguous_device_codegen(must_parse("ext_dev")).error().message,
            "no device codegen matches target 'ext_dev', available: <none>");
}

TEST_F(Registry, PredicateThatThrowsPassesThroughAndLeavesTheRegistryIntact) {
  add("regtest_throw", codegen("bad", [](const Target&) -> bool { throw std::out_of_range("mine"); }));
  Target target = must_parse("regtest_throw");
  EXPECT_THROW((void)resolve_device_codegen(target), std::out_of_range);
  EXPECT_THROW((void)allowed_device_codegens_for_target(target), std::out_of_range);
  add("regtest_throw", codegen("good"));
  Explanation e = explain_device_codegen(target);  // an explanation goes on
  ASSERT_EQ(e.candidates.size(), 2u);
  EXPECT_TRUE(e.candidates[0].threw);
  EXPECT_EQ(e.candidates[0].reason, "its predicate threw: mine");
  EXPECT_TRUE(e.candidates[1].matches);
  ASSERT_TRUE(e.error.has_value());
  EXPECT_EQ(e.error->message, "device codegen 'bad' for target 'regtest_throw': its predicate threw: mine");
  EXPECT_TRUE(remove_device_codegen("regtest_throw", "bad"));
  EXPECT_THAT(allowed(target), ElementsAre("good"));
}

TEST_F(Registry, PredicateMayRegister) {
  add("regtest_reentrant", codegen("a", [](const Target&) {
        (void)register_device_codegen("regtest_reentrant", codegen("from_predicate"), true);
        return false;
      }));
  Target target = must_parse("regtest_reentrant");
  EXPECT_FALSE(resolve_device_codegen(target).ok());  // sees the list as it was at its start
  EXPECT_EQ((*resolve_device_codegen(target))->name, "from_predicate");
}

// ---- lazy loading ----------------------------------------------------------------------------------------------

TEST_F(Registry, LazyBackendLoadsOnceAtFirstUse) {
  FakeModule& module = lazy("regtest_lazy", "pkg.lazy", [] {
    add("regtest_lazy", codegen("from_module"));
    return Status(Ok{});
  });
  add("regtest_lazy", codegen("before"));
  Target target = must_parse("regtest_lazy");  // a kind with a lazy backend parses
  EXPECT_EQ(module.loads, 0);
  EXPECT_THAT(allowed(target), ElementsAre("before", "from_module"));
  EXPECT_THAT(allowed(target), ElementsAre("before", "from_module"));
  EXPECT_TRUE(resolve_device_codegen(target).ok());
  EXPECT_EQ(module.loads, 1);
}

TEST_F(Registry, SamePathAgainLoadsAgain) {
  FakeModule& module = lazy("regtest_again", "pkg.again", [] {
    add("regtest_again", codegen("again"));  // no override: what the first load registered is gone by now
    return Status(Ok{});
  });
  Target target = must_parse("regtest_again");
  EXPECT_THAT(allowed(target), ElementsAre("again"));
  ASSERT_TRUE(register_lazy_device_codegen("regtest_again", "pkg.again").ok());
  EXPECT_THAT(allowed(target), ElementsAre("again"));
  EXPECT_THAT(allowed(target), ElementsAre("again"));
  EXPECT_EQ(module.loads, 2);
}

TEST_F(Registry, OneBackendForTwoKindsLoadsOnce) {
  auto init = [] {
    add("regtest_both_a", codegen("both"));
    add("regtest_both_b", codegen("both"));
    return Status(Ok{});
  };
  FakeModule& module = lazy("regtest_both_a", "pkg.both", init);
  lazy("regtest_both_b", "pkg.both", init);
  EXPECT_THAT(allowed(must_parse("regtest_both_b")), ElementsAre("both"));
  EXPECT_THAT(allowed(must_parse("regtest_both_a")), ElementsAre("both"));
  EXPECT_EQ(module.loads, 1);
}

TEST_F(Registry, FailedLoadReportsPathAndCauseRollsBackAndIsTriedAgain) {
  bool fails = true;
  add("regtest_fail", codegen("first"));
  add("regtest_fail", codegen("replaced"));
  add("regtest_fail", codegen("removed"));
  add("regtest_fail", codegen("last"));
  FakeModule& module = lazy("regtest_fail", "pkg.fail", [&]() -> Status {
    add("regtest_fail", codegen("new"));
    add("regtest_fail", codegen("replaced"), true);
    EXPECT_TRUE(remove_device_codegen("regtest_fail", "removed"));
    add("regtest_fail_other", codegen("other"));
    EXPECT_TRUE(register_lazy_device_codegen("regtest_fail_lazy", "pkg.other").ok());
    if (fails) return Error{Code::kToolchain, "no compiler", "", "install one"};
    return Ok{};
  });
  Target target = must_parse("regtest_fail");
  for (int i = 1; i <= 2; ++i) {
    Result<const DeviceCodegen*> result = resolve_device_codegen(target);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, Code::kToolchain);
    EXPECT_EQ(result.error().to_string(), "backend 'pkg.fail' for target 'regtest_fail' did not load: no compiler (install one)");
    EXPECT_EQ(module.loads, i);
    EXPECT_FALSE(Target::parse("regtest_fail_other").ok());
    EXPECT_FALSE(Target::parse("regtest_fail_lazy").ok());
  }
  EXPECT_FALSE(allowed_device_codegens_for_target(target).ok());
  Explanation explained = explain_device_codegen(target);
  std::vector<std::string> names;
  for (const Candidate& c : explained.candidates) names.push_back(c.name);
  EXPECT_THAT(names, ElementsAre("first", "replaced", "removed", "last"));  // as it was, in its order
  fails = false;
  EXPECT_THAT(allowed(target), ElementsAre("first", "last", "new", "replaced"));
  EXPECT_TRUE(Target::parse("regtest_fail_other").ok());
}

TEST_F(Registry, ExceptionInALoadRollsBackAndBecomesAnError) {
  lazy("regtest_raise", "pkg.raise", []() -> Status {
    add("regtest_raise", codegen("half"));
    throw std::runtime_error("boom");
  });
  EXPECT_EQ(resolve_device_codegen(must_parse("regtest_raise")).error().message,
            "backend 'pkg.raise' for target 'regtest_raise' did not load: its initialisation threw: boom");
  lazy("regtest_raise_int", "pkg.raise_int", []() -> Status { throw 3; });
  EXPECT_THAT(resolve_device_codegen(must_parse("regtest_raise_int")).error().message, HasSubstr("threw something"));
  EXPECT_THAT(explain_device_codegen(must_parse("regtest_raise")).candidates, IsEmpty());
}

TEST_F(Registry, LoadingBackendMayResolveItsOwnKindAndAddMore) {
  FakeModule& inner = lazy("regtest_inner_only", "pkg.inner", [] {
    add("regtest_outer", codegen("inner"));
    return Status(Ok{});
  });
  FakeModule& outer = lazy("regtest_outer", "pkg.outer", [] {
    add("regtest_outer", codegen("outer"));
    EXPECT_THAT(allowed(must_parse("regtest_outer")), ElementsAre("outer"));
    EXPECT_TRUE(register_lazy_device_codegen("regtest_outer", "pkg.outer").ok());  // is being loaded: nothing to do
    EXPECT_TRUE(register_lazy_device_codegen("regtest_outer", "pkg.inner").ok());
    return Status(Ok{});
  });
  EXPECT_THAT(allowed(must_parse("regtest_outer")), ElementsAre("outer", "inner"));
  EXPECT_EQ(outer.loads, 1);
  EXPECT_EQ(inner.loads, 1);
}

TEST_F(Registry, FailedLoadUndoesTheLoadsWithinIt) {
  bool fails = true;
  FakeModule& inner = lazy("regtest_nest_inner", "pkg.nest_inner", [] {
    add("regtest_nest_inner", codegen("inner"));
    return Status(Ok{});
  });
  lazy("regtest_nest", "pkg.nest", [&]() -> Status {
    EXPECT_THAT(allowed(must_parse("regtest_nest_inner")), ElementsAre("inner"));
    if (fails) return Error{Code::kInternal, "no", "", ""};
    return Ok{};
  });
  EXPECT_FALSE(resolve_device_codegen(must_parse("regtest_nest")).ok());
  EXPECT_EQ(inner.loads, 1);
  EXPECT_THAT(allowed(must_parse("regtest_nest_inner")), ElementsAre("inner"));  // loaded anew
  EXPECT_EQ(inner.loads, 2);
  fails = false;
  EXPECT_THAT(allowed(must_parse("regtest_nest")), IsEmpty());
  EXPECT_EQ(inner.loads, 2);
}

TEST_F(Registry, BackendThatRegistersNothingLoadsOnceAndIsNamed) {
  FakeModule& module = lazy("regtest_silent", "pkg.silent", [] { return Status(Ok{}); });
  Target target = must_parse("regtest_silent");
  for (int i = 0; i < 3; ++i) {
    Result<const DeviceCodegen*> none = resolve_device_codegen(target);
    EXPECT_EQ(none.error().code, Code::kNoCodegen);
    EXPECT_EQ(none.error().message, "no device codegen matches target 'regtest_silent', available: <none>");
    EXPECT_EQ(none.error().hint, "loaded, but registered no codegen for this kind: 'pkg.silent'");
  }
  Explanation e = explain_device_codegen(target);
  EXPECT_EQ(module.loads, 1);
  ASSERT_EQ(e.backends.size(), 1u);
  EXPECT_EQ(e.backends[0].state, KindBackend::State::kLoadedEarlier);
  EXPECT_EQ(e.backends[0].entries, 0u);
  EXPECT_THAT(e.loaded, IsEmpty());
}

TEST_F(Registry, BackendsThatNeedEachOtherLoadOnceEach) {
  FakeModule& a = lazy("regtest_cycle_a", "pkg.cycle_a", [] {
    EXPECT_THAT(allowed(must_parse("regtest_cycle_b")), ElementsAre("b"));
    add("regtest_cycle_a", codegen("a"));
    return Status(Ok{});
  });
  FakeModule& b = lazy("regtest_cycle_b", "pkg.cycle_b", [] {
    EXPECT_THAT(allowed(must_parse("regtest_cycle_a")), IsEmpty());  // is being loaded further out
    Explanation e = explain_device_codegen(must_parse("regtest_cycle_a"));
    EXPECT_EQ(e.backends[0].state, KindBackend::State::kLoading);
    add("regtest_cycle_b", codegen("b"));
    return Status(Ok{});
  });
  EXPECT_THAT(allowed(must_parse("regtest_cycle_a")), ElementsAre("a"));
  EXPECT_THAT(allowed(must_parse("regtest_cycle_b")), ElementsAre("b"));
  EXPECT_EQ(a.loads, 1);
  EXPECT_EQ(b.loads, 1);
}

TEST_F(Registry, FailureWithinALoadThatGoesOnLeavesNoTrace) {
  lazy("regtest_swallow_inner", "pkg.swallow_inner", [] {
    add("regtest_swallow", codegen("half"));
    return Status(Error{Code::kInternal, "inner", "", ""});
  });
  lazy("regtest_swallow", "pkg.swallow", [] {
    add("regtest_swallow", codegen("outer"));
    EXPECT_EQ(resolve_device_codegen(must_parse("regtest_swallow_inner")).error().message,
              "backend 'pkg.swallow_inner' for target 'regtest_swallow_inner' did not load: inner");
    return Status(Ok{});
  });
  EXPECT_THAT(allowed(must_parse("regtest_swallow")), ElementsAre("outer"));
}

TEST_F(Registry, ReloadThatFailsKeepsWhatTheFirstLoadRegistered) {
  bool fails = false;
  lazy("regtest_reload", "pkg.reload", [&]() -> Status {
    if (fails) return Error{Code::kInternal, "broken", "", ""};
    add("regtest_reload", codegen("mine"));
    return Ok{};
  });
  Target target = must_parse("regtest_reload");
  EXPECT_THAT(allowed(target), ElementsAre("mine"));
  fails = true;
  ASSERT_TRUE(register_lazy_device_codegen("regtest_reload", "pkg.reload").ok());
  EXPECT_FALSE(resolve_device_codegen(target).ok());
  Explanation e = explain_device_codegen(target);
  ASSERT_EQ(e.candidates.size(), 1u);
  EXPECT_EQ(e.candidates[0].name, "mine");
  EXPECT_EQ(e.backends[0].entries, 1u);
  EXPECT_EQ(e.chosen, e.candidates[0].codegen);
  EXPECT_EQ(e.error->message, "backend 'pkg.reload' for target 'regtest_reload' did not load: broken");  // as a resolution says
  fails = false;
  EXPECT_THAT(allowed(target), ElementsAre("mine"));
}

TEST_F(Registry, ModuleWithoutPythonIsAnError) {
  registry::set_python_importer({});
  ASSERT_TRUE(register_lazy_device_codegen("regtest_python", "pkg.mod").ok());
  EXPECT_EQ(
      resolve_device_codegen(must_parse("regtest_python")).error().message,
      "backend 'pkg.mod' for target 'regtest_python' did not load: no backend with a manifest has this name, and a Python module needs a "
      "process with Python");
}

// ---- explanation -----------------------------------------------------------------------------------------------

TEST_F(Registry, ExplanationTellsEverything) {
  add("regtest_explain", codegen("no", has_key("never")));
  const DeviceCodegen* yes = add("regtest_explain", codegen("yes"));
  lazy("regtest_explain", "pkg.broken", [] { return Status(Error{Code::kIo, "broken", "", ""}); });
  lazy("regtest_explain", "pkg.fine", [] {
    add("regtest_explain", codegen("fine"));
    return Status(Ok{});
  });
  Explanation e = explain_device_codegen(must_parse("regtest_explain"));
  EXPECT_EQ(e.kind, "regtest_explain");
  EXPECT_EQ(e.chosen, yes);
  EXPECT_THAT(e.loaded, ElementsAre("pkg.fine"));
  ASSERT_EQ(e.load_failures.size(), 1u);
  EXPECT_EQ(e.load_failures[0].message, "backend 'pkg.broken' for target 'regtest_explain' did not load: broken");
  ASSERT_EQ(e.candidates.size(), 3u);
  EXPECT_EQ(e.candidates[0].name, "no");
  EXPECT_FALSE(e.candidates[0].matches);
  EXPECT_EQ(e.candidates[0].reason, "its predicate does not accept the target");
  EXPECT_EQ(e.candidates[0].origin, "registered by the program");
  EXPECT_EQ(e.candidates[1].reason, "");
  ASSERT_EQ(e.backends.size(), 2u);
  EXPECT_EQ(e.backends[0].path, "pkg.broken");
  EXPECT_EQ(e.backends[0].origin, "Python module pkg.broken");
  EXPECT_EQ(e.backends[0].source, "");
  EXPECT_EQ(e.backends[0].state, KindBackend::State::kFailed);
  EXPECT_EQ(e.backends[0].error->message, e.load_failures[0].message);
  EXPECT_EQ(e.backends[1].state, KindBackend::State::kLoadedNow);
  EXPECT_EQ(e.backends[1].entries, 1u);
  EXPECT_EQ(e.error->message, e.load_failures[0].message);  // what a resolution says
  EXPECT_EQ(e.candidates[2].name, "fine");
  EXPECT_EQ(e.candidates[2].origin, "Python module pkg.fine");
}

}  // namespace
}  // namespace kiln
