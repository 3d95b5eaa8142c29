#include "kiln/device_codegen.h"

#include <algorithm>
#include <exception>

#include "registry/backend.h"
#include "registry/loader.h"
#include "registry/registry.h"

namespace kiln {

using registry::Entry;
using registry::KindSlot;

Result<Module> DeviceCodegen::lower(const IRModule& mod, const Target& target, bool compile_device) const {
  const DeviceCodegenFunc& entry = compile_device ? build : build_without_compile;
  if (entry) return entry(mod, target);
  return Error{Code::kUnsupported,
               "device codegen '" + name + "' for target '" + target.kind() + "' does not support lowering " +
                   (compile_device ? "with" : "without") + " compilation",
               "", ""};
}

Result<const DeviceCodegen*> register_device_codegen(std::string_view target_kind, DeviceCodegen codegen, bool override) {
  Result<const Entry*> entry = registry::add_entry(target_kind, std::move(codegen), override);
  if (!entry) return entry.error();
  return &(*entry)->codegen;
}

Status register_lazy_device_codegen(std::string_view target_kind, std::string_view import_path) {
  return registry::add_lazy(target_kind, import_path);
}

static bool claims(const registry::ManifestFault& fault, const std::string& kind) {
  return std::find(fault.kinds.begin(), fault.kinds.end(), kind) != fault.kinds.end();
}

static std::string join(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out.empty() ? "<none>" : out;
}

static size_t entries_of(const registry::EntryList& list, const std::string& path) {
  return static_cast<size_t>(std::count_if(list.begin(), list.end(), [&](const Entry* entry) { return entry->path == path; }));
}

// Why a kind has no entry at all.
static std::string nothing_registered(KindSlot& slot) {
  std::vector<std::string> silent;
  for (const KindBackend& backend : registry::backends_of(slot)) {
    bool loaded = backend.state == KindBackend::State::kLoadedEarlier;
    if (loaded && entries_of(slot.list(), backend.path) == 0) silent.push_back("'" + backend.path + "'");
  }
  if (!silent.empty()) return "loaded, but registered no codegen for this kind: " + join(silent);
  for (const registry::ManifestFault& fault : registry::manifest_faults()) {
    if (claims(fault, slot.kind)) return "a manifest that claims this kind is left out: " + fault.error.to_string();
  }
  return "no backend serves this kind";
}

Error registry::none_matches(KindSlot& slot) {
  std::vector<std::string> names;
  for (const Entry* entry : slot.list()) names.push_back(entry->codegen.name);
  return Error{Code::kNoCodegen, "no device codegen matches target '" + slot.kind + "', available: " + join(names), "",
               names.empty() ? nothing_registered(slot) : "kiln resolve --explain tells why each one does not match"};
}

// Has `ask` walk the kind's list, with its backends loaded, until it says that it is done, or walked a list that no load was changing: a
// backend that loads again is without its codegens for a moment. Bounded, since a predicate may have a backend loaded each time.
template <class Ask>
static Status walk(KindSlot& slot, Ask ask) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    unsigned loads = slot.loads.load(std::memory_order_acquire);
    if (slot.needs_loading()) {
      if (Status s = registry::load_pending(slot, nullptr, &loads); !s) return s;
    }
    if (ask(slot.list()) || slot.loads.load(std::memory_order_acquire) == loads) break;
  }
  return Ok{};
}

static Status matches_of(const Target& target, std::vector<const DeviceCodegen*>& matches) {
  return walk(*target.slot(), [&](const registry::EntryList& list) {
    matches.clear();
    for (const Entry* entry : list) {
      if (entry->codegen.matches(target)) matches.push_back(&entry->codegen);
    }
    return false;
  });
}

static std::vector<std::string> names_of(const std::vector<const DeviceCodegen*>& codegens) {
  std::vector<std::string> names;
  for (const DeviceCodegen* codegen : codegens) names.push_back(codegen->name);
  return names;
}

Result<std::vector<std::string>> allowed_device_codegens_for_target(const Target& target) {
  std::vector<const DeviceCodegen*> matches;
  if (Status s = matches_of(target, matches); !s) return s.error();
  return names_of(matches);
}

Result<const DeviceCodegen*> resolve_device_codegen(const Target& target) {
  const DeviceCodegen* match = nullptr;
  Status status = walk(*target.slot(), [&](const registry::EntryList& list) {
    for (const Entry* entry : list) {
      if (entry->codegen.matches(target)) return match = &entry->codegen, true;
    }
    return false;
  });
  if (match) return match;
  return status ? registry::none_matches(*target.slot()) : status.error();
}

Result<const DeviceCodegen*> resolve_unambiguous_device_codegen(const Target& target) {
  std::vector<const DeviceCodegen*> matches;
  if (Status s = matches_of(target, matches); !s) return s.error();
  if (matches.empty()) return registry::none_matches(*target.slot());
  if (matches.size() == 1) return matches[0];
  return Error{Code::kNoCodegen, "several device codegens match target '" + target.slot()->kind + "': " + join(names_of(matches)), "",
               "choose one by name"};
}

static Candidate ask(const Entry& entry, const Target& target) {
  Candidate out{entry.codegen.name, false, entry.origin, "", &entry.codegen};
  try {
    out.matches = entry.codegen.matches(target);
    if (!out.matches) out.reason = "its predicate does not accept the target";
  } catch (const std::exception& e) {
    out.threw = true;
    out.reason = std::string("its predicate threw: ") + e.what();
  } catch (...) {
    out.threw = true;
    out.reason = "its predicate threw something that is not a std::exception";
  }
  return out;
}

// What a resolution fails with, if it fails: it stops at the first backend that does not load, then at the first predicate that throws
// before one accepts.
static std::optional<Error> failure_of(const Explanation& e, KindSlot& slot) {
  if (!e.load_failures.empty()) return e.load_failures[0];
  for (const Candidate& c : e.candidates) {
    if (c.matches) return {};
    if (c.threw) return Error{Code::kInternal, "device codegen '" + c.name + "' for target '" + e.kind + "': " + c.reason, "", ""};
  }
  return registry::none_matches(slot);
}

static void describe(KindBackend& backend, const registry::EntryList& list) {
  backend.origin = registry::origin_of(backend.path);
  for (const registry::Manifest& m : registry::manifests()) {
    if (m.name == backend.path) backend.source = m.path.empty() ? m.source : m.source + ": " + m.path;
  }
  backend.entries = entries_of(list, backend.path);
}

Explanation explain_device_codegen(const Target& target) {
  KindSlot& slot = *target.slot();
  Explanation out;
  out.kind = slot.kind;
  if (slot.needs_loading())
    (void)registry::load_pending(slot, &out.backends);
  else
    out.backends = registry::backends_of(slot);
  const registry::EntryList& list = slot.list();
  for (KindBackend& backend : out.backends) {
    describe(backend, list);
    if (backend.state == KindBackend::State::kLoadedNow) out.loaded.push_back(backend.path);
    if (backend.error) out.load_failures.push_back(*backend.error);
  }
  for (const registry::ManifestFault& fault : registry::manifest_faults()) {
    if (claims(fault, slot.kind)) out.left_out.push_back(fault.error);
  }
  for (const Entry* entry : list) {
    out.candidates.push_back(ask(*entry, target));
    if (out.candidates.back().matches && !out.chosen) out.chosen = &entry->codegen;
  }
  out.error = failure_of(out, slot);
  return out;
}

bool remove_device_codegen(std::string_view target_kind, std::string_view name) {
  return registry::remove_entry(target_kind, [&](const Entry& entry) { return entry.codegen.name == name; });
}

Result<ScopedDeviceCodegen> register_scoped_device_codegen(std::string_view target_kind, DeviceCodegen codegen) {
  Result<const DeviceCodegen*> entry = register_device_codegen(target_kind, std::move(codegen));
  if (!entry) return entry.error();
  return ScopedDeviceCodegen(std::string(target_kind), *entry);
}

static void remove_exactly(const std::string& kind, const DeviceCodegen* codegen) {
  if (codegen) registry::remove_entry(kind, [&](const Entry& entry) { return &entry.codegen == codegen; });
}

ScopedDeviceCodegen& ScopedDeviceCodegen::operator=(ScopedDeviceCodegen&& other) noexcept {
  if (this == &other) return *this;
  remove_exactly(kind_, entry_);
  kind_ = std::move(other.kind_);
  entry_ = std::exchange(other.entry_, nullptr);
  return *this;
}

ScopedDeviceCodegen::~ScopedDeviceCodegen() { remove_exactly(kind_, entry_); }

}  // namespace kiln
