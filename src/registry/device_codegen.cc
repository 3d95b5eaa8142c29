#include "kiln/device_codegen.h"

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

static std::string join(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out.empty() ? "<none>" : out;
}

static Error none_matches(const KindSlot& slot) {
  std::vector<std::string> names;
  for (const Entry* entry : slot.list()) names.push_back(entry->codegen.name);
  return Error{Code::kNoCodegen, "no device codegen matches target '" + slot.kind + "', available: " + join(names), "",
               names.empty() ? "no backend serves this kind" : "kiln resolve --explain tells why each one does not match"};
}

Result<std::vector<std::string>> allowed_device_codegens_for_target(const Target& target) {
  KindSlot& slot = *target.slot();
  if (slot.needs_loading()) {
    if (Status s = registry::load_pending(slot); !s) return s.error();
  }
  std::vector<std::string> names;
  for (const Entry* entry : slot.list()) {
    if (entry->codegen.matches(target)) names.push_back(entry->codegen.name);
  }
  return names;
}

Result<const DeviceCodegen*> resolve_device_codegen(const Target& target) {
  KindSlot& slot = *target.slot();
  if (slot.needs_loading()) {
    if (Status s = registry::load_pending(slot); !s) return s.error();
  }
  for (const Entry* entry : slot.list()) {
    if (entry->codegen.matches(target)) return &entry->codegen;
  }
  return none_matches(slot);
}

Result<const DeviceCodegen*> resolve_unambiguous_device_codegen(const Target& target) {
  KindSlot& slot = *target.slot();
  if (slot.needs_loading()) {
    if (Status s = registry::load_pending(slot); !s) return s.error();
  }
  const DeviceCodegen* match = nullptr;
  std::vector<std::string> names;
  for (const Entry* entry : slot.list()) {
    if (!entry->codegen.matches(target)) continue;
    match = &entry->codegen;
    names.push_back(match->name);
  }
  if (names.empty()) return none_matches(slot);
  if (names.size() == 1) return match;
  return Error{Code::kNoCodegen, "several device codegens match target '" + slot.kind + "': " + join(names), "", "choose one by name"};
}

Explanation explain_device_codegen(const Target& target) {
  KindSlot& slot = *target.slot();
  registry::LoadReport report;
  if (slot.needs_loading()) (void)registry::load_pending(slot, &report);
  Explanation out;
  out.kind = slot.kind;
  out.loaded = std::move(report.loaded);
  out.load_failures = std::move(report.failures);
  for (const Entry* entry : slot.list()) {
    bool matches = entry->codegen.matches(target);
    if (matches && !out.chosen) out.chosen = &entry->codegen;
    out.candidates.push_back(
        {entry->codegen.name, matches, entry->origin, matches ? "" : "its predicate does not accept the target", &entry->codegen});
  }
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
