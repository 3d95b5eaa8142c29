#include "registry/ffi_bridge.h"

#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/tvm_ffi.h>

#include <mutex>

#include "kiln/device_codegen.h"
#include "registry/registry.h"

namespace kiln {

namespace ffi = tvm::ffi;

// ---- objects ---------------------------------------------------------------------------------------------------
// tvm-ffi gives them their type index at the first use.

namespace {

class IRModuleObj : public ffi::Object {
 public:
  explicit IRModuleObj(IRModule value) : value(std::move(value)) {}
  IRModule value;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("kiln.IRModule", IRModuleObj, ffi::Object);
};

class TargetObj : public ffi::Object {
 public:
  explicit TargetObj(Target value) : value(std::move(value)) {}
  Target value;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("kiln.Target", TargetObj, ffi::Object);
};

}  // namespace

static ffi::Any to_ffi(const IRModule& module) { return ffi::ObjectRef(ffi::make_object<IRModuleObj>(module)); }
static ffi::Any to_ffi(const Target& target) { return ffi::ObjectRef(ffi::make_object<TargetObj>(target)); }

// A module that a function returned.
static Result<Module> module_of(const ffi::Any& value, const std::string& who) {
  std::optional<ffi::Module> module = value.as<ffi::Module>();
  if (!module) {
    return Error{Code::kInvalidArgument, who + " must return a Module, it returned " + std::string(value.GetTypeKey()), "", ""};
  }
  const TVMFFIAny* raw = reinterpret_cast<const TVMFFIAny*>(&value);
  TVMFFIObjectIncRef(raw->v_obj);
  return Module(raw->v_obj);
}

// Calls a device codegen of another language; what it throws becomes an error.
static Result<Module> call_codegen(const ffi::Function& function, const std::string& who, const IRModule& module, const Target& target) {
  ffi::Any result;
  try {
    result = function(to_ffi(module), to_ffi(target));
  } catch (const ffi::Error& e) {
    return Error{Code::kInternal, who + " failed: " + std::string(e.kind()) + ": " + std::string(e.message()), "", ""};
  }
  return module_of(result, who);
}

DeviceCodegenFunc global_func_device_codegen(std::string global_func_name) {
  return [name = std::move(global_func_name)](const IRModule& module, const Target& target) -> Result<Module> {
    std::optional<ffi::Function> function = ffi::Function::GetGlobal(std::string_view(name));
    if (!function) {
      return Error{Code::kNoCodegen, "global function '" + name + "' is not registered", "", "load the library that registers it first"};
    }
    return call_codegen(*function, "global function '" + name + "'", module, target);
  };
}

namespace registry {

// ---- global functions ------------------------------------------------------------------------------------------

[[noreturn]] static void raise(const Error& error) { TVM_FFI_THROW(ValueError) << error.to_string(); }

template <class T>
static T value_or_raise(Result<T> result) {
  if (!result) raise(result.error());
  return std::move(*result);
}

static Target target_of(const ffi::Any& value) {
  if (const auto* object = value.as<TargetObj>()) return object->value;
  std::optional<ffi::String> text = value.as<ffi::String>();
  if (!text) raise({Code::kInvalidArgument, "a target must be text or a kiln.Target, got " + std::string(value.GetTypeKey()), "", ""});
  return value_or_raise(Target::parse(std::string_view(text->data(), text->size())));
}

static const IRModule& ir_module_of(const ffi::Any& value) {
  const auto* object = value.as<IRModuleObj>();
  if (!object) raise({Code::kInvalidArgument, "a module must be a kiln.IRModule, got " + std::string(value.GetTypeKey()), "", ""});
  return object->value;
}

static DeviceCodegenFunc codegen_func(const ffi::Optional<ffi::Function>& function, const std::string& name) {
  if (!function) return {};
  return [f = *function, name](const IRModule& module, const Target& target) {
    return call_codegen(f, "device codegen '" + name + "'", module, target);
  };
}

static void register_codegen(const ffi::String& kind, const ffi::String& name, const ffi::Optional<ffi::Function>& build,
                             const ffi::Optional<ffi::Function>& build_without_compile, const ffi::Optional<ffi::Function>& supports_target,
                             bool override) {
  DeviceCodegen codegen;
  codegen.name = name;
  codegen.build = codegen_func(build, codegen.name);
  codegen.build_without_compile = codegen_func(build_without_compile, codegen.name);
  if (supports_target) codegen.supports_target = [f = *supports_target](const Target& target) { return f(to_ffi(target)).cast<bool>(); };
  value_or_raise(register_device_codegen(std::string(kind), std::move(codegen), override));
}

static const DeviceCodegen* named_codegen(const Target& target, const std::string& name) {
  const DeviceCodegen* resolved = value_or_raise(resolve_device_codegen(target));
  if (name.empty()) return resolved;
  for (const Entry* entry : target.slot()->list()) {
    if (entry->codegen.name == name) return &entry->codegen;
  }
  raise({Code::kNoCodegen, "target '" + target.kind() + "' has no device codegen '" + name + "'", "", ""});
}

static ffi::Any lower(const ffi::Any& module, const ffi::Any& target, const ffi::String& codegen, bool compile_device) {
  Target to = target_of(target);
  Module lowered = value_or_raise(named_codegen(to, codegen)->lower(ir_module_of(module), to, compile_device));
  if (!lowered) raise({Code::kInternal, "the device codegen returned an empty module", "", ""});
  TVMFFIAny view = {};
  view.type_index = static_cast<TVMFFIObject*>(lowered.handle())->type_index;
  view.v_obj = static_cast<TVMFFIObject*>(lowered.handle());
  return ffi::Any(ffi::AnyView::CopyFromTVMFFIAny(view));
}

static ffi::Array<ffi::String> allowed(const ffi::Any& target) {
  ffi::Array<ffi::String> names;
  for (const std::string& name : value_or_raise(allowed_device_codegens_for_target(target_of(target)))) names.push_back(name);
  return names;
}

static std::vector<std::pair<std::string, ffi::Function>> global_functions() {
  using ffi::Any;
  using ffi::Function;
  using ffi::String;
  return {
      {"kiln.parse_target", Function::FromTyped([](const Any& target) { return to_ffi(target_of(target)); })},
      {"kiln.target_to_json", Function::FromTyped([](const Any& target) { return String(target_of(target).to_json()); })},
      {"kiln.load_module", Function::FromTyped([](const String& path) { return to_ffi(value_or_raise(IRModule::load(path))); })},
      {"kiln.parse_module", Function::FromTyped([](const String& text, const String& file) {
         return to_ffi(value_or_raise(IRModule::parse(std::string(text), std::string(file))));
       })},
      {"kiln.module_script", Function::FromTyped([](const Any& module) { return String(ir_module_of(module).script()); })},
      {"kiln.register_device_codegen", Function::FromTyped(register_codegen)},
      {"kiln.register_lazy_device_codegen", Function::FromTyped([](const String& kind, const String& path) {
         value_or_raise(register_lazy_device_codegen(std::string(kind), std::string(path)));
       })},
      {"kiln.remove_device_codegen", Function::FromTyped([](const String& kind, const String& name) {
         return remove_device_codegen(std::string(kind), std::string(name));
       })},
      {"kiln.allowed_device_codegens_for_target", Function::FromTyped(allowed)},
      {"kiln.resolve_device_codegen",
       Function::FromTyped([](const Any& target) { return String(value_or_raise(resolve_device_codegen(target_of(target)))->name); })},
      {"kiln.lower", Function::FromTyped(lower)},
  };
}

Status register_ffi_globals() {
  static std::mutex mutex;
  static bool done = false;
  std::lock_guard lock(mutex);
  if (done) return Ok{};
  auto functions = global_functions();
  for (const auto& [name, function] : functions) {
    if (ffi::Function::GetGlobal(std::string_view(name))) {
      return Error{Code::kInvalidArgument, "the global function '" + name + "' exists already", "", "is another copy of Kiln loaded?"};
    }
  }
  for (const auto& [name, function] : functions) ffi::Function::SetGlobal(name, function);
  done = true;
  return Ok{};
}

}  // namespace registry
}  // namespace kiln
