// The plug-in's side of the interface: kiln/device_codegen.h's registration for a library that links kiln_sdk.
#include <memory>
#include <optional>
#include <stdexcept>

#include "ir/text.h"
#include "kiln/sdk.h"
#include "registry/registry.h"

namespace kiln {
namespace {

const KilnHost* host = nullptr;  // one table for the process; set by the first init
Status (*initialise)() = nullptr;

KilnString borrowed(std::string_view s) { return {s.data(), s.size()}; }
std::string_view view(KilnString s) { return s.data ? std::string_view(s.data, s.size) : std::string_view(); }

KilnError* owned(const Error& e) {
  return host->error_create(static_cast<int32_t>(e.code), borrowed(e.message), borrowed(e.place), borrowed(e.hint));
}

Status taken(KilnError* error) {
  if (!error) return Ok{};
  auto text = [&](KilnString s) { return std::string(view(s)); };
  Error out{static_cast<Code>(host->error_code(error)), text(host->error_message(error)), text(host->error_place(error)),
            text(host->error_hint(error))};
  host->error_release(error);
  return out;
}

// No exception crosses the interface.
template <class F>
KilnError* guarded(F&& work) {
  try {
    Status s = work();
    return s ? nullptr : owned(s.error());
  } catch (const std::exception& e) {
    return owned(Error{Code::kInternal, std::string("an exception was thrown: ") + e.what(), "", ""});
  } catch (...) {
    return owned(Error{Code::kInternal, "something that is not a std::exception was thrown", "", ""});
  }
}

// The target, parsed once for as long as this thread is asked about the same one.
Result<Target> target_of(const KilnTarget* target) {
  thread_local std::string last_json;
  thread_local std::optional<Target> last;
  std::string_view json = view(host->target_json(target));
  if (last && last_json == json) return *last;
  Result<Target> parsed = Target::parse(json);
  if (!parsed) return parsed;
  last_json = json, last = *parsed;
  return parsed;
}

KilnError* lower(const DeviceCodegenFunc& function, const KilnRequest* request, KilnResult* result) {
  return guarded([&]() -> Status {
    Result<Target> target = target_of(request->target);
    if (!target) return target.error();
    Result<ir::ModulePtr> module = ir::parse(view(host->module_script(request->module)), "module");
    if (!module) return module.error();
    Result<Module> lowered = function(IRModule(*module), *target);
    if (!lowered) return lowered.error();
    return taken(host->result_set_module(result, lowered->handle()));
  });
}

KilnError* build(void* self, const KilnRequest* request, KilnResult* result) {
  return lower(static_cast<const DeviceCodegen*>(self)->build, request, result);
}
KilnError* build_without_compile(void* self, const KilnRequest* request, KilnResult* result) {
  return lower(static_cast<const DeviceCodegen*>(self)->build_without_compile, request, result);
}
KilnError* supports_target(void* self, const KilnTarget* target, int32_t* supported) {
  return guarded([&]() -> Status {
    Result<Target> parsed = target_of(target);
    if (!parsed) return parsed.error();
    *supported = static_cast<const DeviceCodegen*>(self)->matches(*parsed) ? 1 : 0;
    return Ok{};
  });
}

KilnError* init(const KilnHost* table) {
  host = table;
  return guarded([] { return initialise(); });
}

}  // namespace

const KilnPlugin* sdk::plugin(Status (*init_function)()) {
  static const KilnPlugin plugin = {sizeof(KilnPlugin), KILN_ABI_VERSION, init};
  initialise = init_function;
  return &plugin;
}

Result<const DeviceCodegen*> register_device_codegen(std::string_view target_kind, DeviceCodegen codegen, bool override) {
  auto own = std::make_unique<DeviceCodegen>(std::move(codegen));
  KilnCodegen c = {sizeof(KilnCodegen),
                   borrowed(own->name),
                   own.get(),
                   own->build ? build : nullptr,
                   own->build_without_compile ? build_without_compile : nullptr,
                   own->supports_target ? supports_target : nullptr};
  if (Status s = taken(host->register_device_codegen(borrowed(target_kind), &c, override ? 1 : 0)); !s) return s.error();
  return own.release();  // entries of the registry live until the process ends
}

Status register_lazy_device_codegen(std::string_view target_kind, std::string_view import_path) {
  return taken(host->register_lazy_device_codegen(borrowed(target_kind), borrowed(import_path)));
}

// Other codegens are not on this side.
Explanation explain_device_codegen(const Target& target) {
  Explanation e;
  e.kind = target.kind();
  return e;
}

std::string IRModule::script() const { return ir::print(ir()); }

// Targets here come from the host, which knows the kinds; the registry's lists are not on this side.
namespace registry {
KindSlot* slot_for(std::string_view) { return nullptr; }
bool kind_in_use(std::string_view) { return true; }
std::vector<std::string> kinds_in_use() { return {}; }
}  // namespace registry

}  // namespace kiln
