// Random sequences of calls on the registry, compared with a small model of its semantics. The model keeps plain lists, and a load that
// fails puts a copy of everything back; it shares nothing with the registry.
#include <gmock/gmock.h>

#include <map>
#include <optional>
#include <random>

#include "kiln/device_codegen.h"
#include "registry/loader.h"

namespace kiln {
namespace {

struct Step {  // of a backend's initialisation
  enum class What { kRegister, kOverride, kRemove, kLazy, kResolve, kFail } what;
  std::string kind, name;  // the name of a codegen, or an import path
};

struct Answer {  // of a call: a list of names, or an error
  std::vector<std::string> names;
  std::string error;
  bool operator==(const Answer&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Answer& a) { return out << testing::PrintToString(a.names) << " error: " << a.error; }

// ---- the model -------------------------------------------------------------------------------------------------

struct ModelEntry {
  std::string name, key, path;  // key: what the target must have; path: the backend that registered it
};

struct ModelState {
  std::map<std::string, std::vector<ModelEntry>> entries;  // by kind
  std::map<std::string, std::vector<std::string>> lazies;  // by kind: paths
  std::map<std::string, std::string> states;               // by path: pending, loading, loaded
};

struct Model {
  ModelState now;
  std::map<std::string, std::vector<Step>> scripts;  // by path
  std::vector<std::string> loading;                  // innermost last

  std::string add(const std::string& kind, const std::string& name, const std::string& key, bool override) {
    std::vector<ModelEntry>& list = now.entries[kind];
    auto same = [&](const ModelEntry& e) { return e.name == name; };
    if (std::any_of(list.begin(), list.end(), same) && !override)
      return "device codegen '" + name + "' for target '" + kind + "' is already registered";
    std::erase_if(list, same);
    list.push_back({name, key, loading.empty() ? "" : loading.back()});
    return "";
  }
  bool remove(const std::string& kind, const std::string& name) {
    return std::erase_if(now.entries[kind], [&](const ModelEntry& e) { return e.name == name; }) != 0;
  }
  void lazy(const std::string& kind, const std::string& path) {
    if (now.states[path] != "loading") now.states[path] = "pending";
    std::vector<std::string>& paths = now.lazies[kind];
    if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
  }
  std::string run(const Step& step) {
    switch (step.what) {
      case Step::What::kRegister: return add(step.kind, step.name, "", false);
      case Step::What::kOverride: return add(step.kind, step.name, "", true);
      case Step::What::kRemove: return remove(step.kind, step.name), "";
      case Step::What::kLazy: return lazy(step.kind, step.name), "";
      case Step::What::kResolve: return allowed(step.kind, "").error;
      case Step::What::kFail: return step.name;
    }
    return "";
  }
  std::string load(const std::string& kind, const std::string& path) {
    ModelState before = now;
    now.states[path] = "loading";
    for (auto& [_, list] : now.entries) std::erase_if(list, [&](const ModelEntry& e) { return e.path == path; });
    loading.push_back(path);
    std::string error;
    for (const Step& step : scripts[path]) {
      if (error.empty()) error = run(step);
    }
    loading.pop_back();
    if (!error.empty()) {
      now = before;
      return "backend '" + path + "' for target '" + kind + "' did not load: " + error;
    }
    now.states[path] = "loaded";
    return "";
  }
  Answer allowed(const std::string& kind, const std::string& key) {
    for (size_t i = 0; i < now.lazies[kind].size(); ++i) {
      std::string path = now.lazies[kind][i];
      if (now.states[path] != "pending") continue;
      if (std::string error = load(kind, path); !error.empty()) return {{}, error};
    }
    Answer out;
    for (const ModelEntry& e : now.entries[kind]) {
      if (e.key.empty() || e.key == key) out.names.push_back(e.name);
    }
    return out;
  }
  static std::string join(const std::vector<std::string>& names) {
    std::string out;
    for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
    return out.empty() ? "<none>" : out;
  }
  Answer resolve(const std::string& kind, const std::string& key, bool unambiguous) {
    Answer all = allowed(kind, key);
    if (!all.error.empty()) return all;
    if (all.names.empty()) {
      std::vector<std::string> available;
      for (const ModelEntry& e : now.entries[kind]) available.push_back(e.name);
      return {{}, "no device codegen matches target '" + kind + "', available: " + join(available)};
    }
    if (unambiguous && all.names.size() > 1) return {{}, "several device codegens match target '" + kind + "': " + join(all.names)};
    return {{all.names[0]}, ""};
  }
};

// ---- the registry ----------------------------------------------------------------------------------------------

Status add(const std::string& kind, const std::string& name, const std::string& key, bool override) {
  DeviceCodegen codegen{name, {}, {}, {}};
  if (!key.empty()) codegen.supports_target = [key](const Target& target) { return target.has_key(key); };
  Result<const DeviceCodegen*> entry = register_device_codegen(kind, std::move(codegen), override);
  return entry ? Status(Ok{}) : Status(entry.error());
}

Target target_of(const std::string& kind, const std::string& key) {
  Result<Target> target = Target::parse(kind + " -keys=" + (key.empty() ? "plain" : key));
  if (!target) ADD_FAILURE() << target.error().to_string();
  return *target;
}

Status run(const Step& step, const std::map<std::string, Target>& targets) {
  switch (step.what) {
    case Step::What::kRegister: return add(step.kind, step.name, "", false);
    case Step::What::kOverride: return add(step.kind, step.name, "", true);
    case Step::What::kRemove: return remove_device_codegen(step.kind, step.name), Status(Ok{});
    case Step::What::kLazy: return register_lazy_device_codegen(step.kind, step.name);
    case Step::What::kResolve: {
      Result<std::vector<std::string>> names = allowed_device_codegens_for_target(targets.at(step.kind));
      return names ? Status(Ok{}) : Status(names.error());
    }
    case Step::What::kFail: return Error{Code::kInternal, step.name, "", ""};
  }
  return Ok{};
}

Answer answer(const Result<std::vector<std::string>>& names) { return names ? Answer{*names, ""} : Answer{{}, names.error().message}; }
Answer answer(const Result<const DeviceCodegen*>& entry) {
  return entry ? Answer{{(*entry)->name}, ""} : Answer{{}, entry.error().message};
}

// ---- sequences -------------------------------------------------------------------------------------------------

class Sequence {
 public:
  explicit Sequence(unsigned seed) : random_(seed) {
    for (int i = 0; i < 3; ++i) {
      kinds_.push_back("model" + std::to_string(seed) + "_" + std::to_string(i));
      paths_.push_back("model" + std::to_string(seed) + ".p" + std::to_string(i));
      EXPECT_TRUE(add(kinds_.back(), "makes the kind known", "", false).ok());
      for (const char* key : {"", "a", "b"}) targets_.emplace(kinds_.back() + key, target_of(kinds_.back(), key));
      EXPECT_TRUE(remove_device_codegen(kinds_.back(), "makes the kind known"));
    }
    registry::set_python_importer([this](std::string_view path, std::string_view) -> Status {
      for (const Step& step : std::vector<Step>(model_.scripts[std::string(path)])) {
        if (Status s = run(step, targets_); !s) return s;
      }
      return Ok{};
    });
  }
  ~Sequence() { registry::set_python_importer({}); }

  // One call on both; false when they disagree.
  bool step() {
    std::string kind = pick(kinds_), name = pick({"n0", "n1", "n2", "n3"}), key = pick({"", "a", "b"}), path = pick(paths_);
    const Target& target = targets_.at(kind + key);
    switch (number(9)) {
      case 0:
      case 1: {
        bool override = number(2) == 0;
        Status s = add(kind, name, key, override);
        return same("register " + name, s ? Answer{} : Answer{{}, s.error().message}, {{}, model_.add(kind, name, key, override)});
      }
      case 2: return same("remove " + name, flag(remove_device_codegen(kind, name)), flag(model_.remove(kind, name)));
      case 3: model_.lazy(kind, path); return same("lazy " + path, flag(register_lazy_device_codegen(kind, path).ok()), flag(true));
      case 4: model_.scripts[path] = script(); return true;
      case 5:
      case 6: return same("allowed", answer(allowed_device_codegens_for_target(target)), model_.allowed(kind, key));
      case 7: return same("resolve", answer(resolve_device_codegen(target)), model_.resolve(kind, key, false));
      default: return same("unambiguous", answer(resolve_unambiguous_device_codegen(target)), model_.resolve(kind, key, true));
    }
  }

  // The lists of all kinds, as an explanation shows them.
  bool same_lists() {
    bool same = true;
    for (const std::string& kind : kinds_) {
      for (const std::string& path : paths_) model_.scripts[path] = {};  // so that loading all is like loading one by one
      (void)model_.allowed(kind, "");
      Explanation e = explain_device_codegen(targets_.at(kind));
      std::vector<std::string> names, expected;
      for (const Candidate& c : e.candidates) names.push_back(c.name);
      for (const ModelEntry& entry : model_.now.entries[kind]) expected.push_back(entry.name);
      EXPECT_EQ(names, expected);
      same = same && names == expected;
    }
    return same;
  }

 private:
  size_t number(size_t below) { return std::uniform_int_distribution<size_t>(0, below - 1)(random_); }
  std::string pick(const std::vector<std::string>& from) { return from[number(from.size())]; }
  static Answer flag(bool value) { return {{value ? "true" : "false"}, ""}; }
  std::vector<Step> script() {
    std::vector<Step> steps;
    for (size_t i = number(5); i > 0; --i) {
      auto what = static_cast<Step::What>(number(6));
      std::string name = what == Step::What::kLazy ? pick(paths_) : what == Step::What::kFail ? "no luck" : pick({"n0", "n1", "m0", "m1"});
      steps.push_back({what, pick(kinds_), name});
    }
    return steps;
  }
  static bool same(const std::string& call, const Answer& got, const Answer& expected) {
    EXPECT_EQ(got, expected) << call;
    return got == expected;
  }

  std::mt19937 random_;
  std::vector<std::string> kinds_, paths_;
  std::map<std::string, Target> targets_;
  Model model_;
};

TEST(RegistryModel, RandomSequencesAgree) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    Sequence sequence(seed);
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(sequence.step()) << "seed " << seed << ", call " << i;
    ASSERT_TRUE(sequence.same_lists()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace kiln
