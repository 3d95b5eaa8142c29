#include "registry/ffi_bridge.h"

#include <dlfcn.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/tvm_ffi.h>

#include <mutex>

#include "driver/driver.h"
#include "kiln/device_codegen.h"
#include "registry/describe.h"
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
static ffi::Any to_ffi(const Module& module) {
  TVMFFIAny view = {};
  view.type_index = static_cast<TVMFFIObject*>(module.handle())->type_index;
  view.v_obj = static_cast<TVMFFIObject*>(module.handle());
  return ffi::Any(ffi::AnyView::CopyFromTVMFFIAny(view));
}

// Nothing when the value is no module.
static std::optional<Module> as_module(const ffi::Any& value) {
  std::optional<ffi::Module> module = value.as<ffi::Module>();
  if (!module) return std::nullopt;
  TVMFFIObject* object = reinterpret_cast<const TVMFFIAny*>(&value)->v_obj;
  TVMFFIObjectIncRef(object);
  return Module(object);
}

// The module that a codegen returned.
static Result<Module> module_returned(const ffi::Any& value, const std::string& who) {
  if (std::optional<Module> module = as_module(value)) return *module;
  return Error{Code::kInvalidArgument, who + " must return a Module, it returned " + std::string(value.GetTypeKey()), "", ""};
}

DeviceCodegenFunc global_func_device_codegen(std::string global_func_name) {
  return [name = std::move(global_func_name)](const IRModule& module, const Target& target) -> Result<Module> {
    std::optional<ffi::Function> function = ffi::Function::GetGlobal(std::string_view(name));
    if (!function) {
      return Error{Code::kNoCodegen, "global function '" + name + "' is not registered", "", "load the library that registers it first"};
    }
    std::string who = "global function '" + name + "'";
    ffi::Any result;
    try {
      result = (*function)(to_ffi(module), to_ffi(target));
    } catch (const ffi::Error& e) {
      return Error{Code::kInternal, who + " failed: " + std::string(e.kind()) + ": " + std::string(e.message()), "", ""};
    }
    return module_returned(result, who);
  };
}

namespace registry {

// ---- global functions ------------------------------------------------------------------------------------------

// Without a backtrace: the text says it all, and the first one in a process costs 0.2 s.
[[noreturn]] static void raise(const Error& error) { throw ffi::Error("ValueError", error.to_string(), ""); }

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

// What the function throws passes through as it was, like what a predicate throws.
static DeviceCodegenFunc codegen_func(const ffi::Optional<ffi::Function>& function, const std::string& name) {
  if (!function) return {};
  return [f = *function, name](const IRModule& module, const Target& target) {
    return module_returned(f(to_ffi(module), to_ffi(target)), "device codegen '" + name + "'");
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

// An optional text argument: None and "" are the same.
static std::optional<std::string> text_or_none(const ffi::Optional<ffi::String>& text) {
  if (!text || (*text).size() == 0) return std::nullopt;
  return std::string(*text);
}

static ffi::Any lower(const ffi::Any& module, const ffi::Any& target, const ffi::Optional<ffi::String>& codegen, bool compile_device) {
  Target to = target_of(target);
  const DeviceCodegen* entry = value_or_raise(driver::choose_device_codegen(to, text_or_none(codegen)));
  return to_ffi(value_or_raise(entry->lower(ir_module_of(module), to, compile_device)));
}

static driver::BuildOptions build_options(const ffi::Any& target, const ffi::Optional<ffi::String>& codegen, bool compile) {
  driver::BuildOptions options;
  if (target != nullptr) options.target = target_of(target).to_json();
  options.codegen = text_or_none(codegen);
  options.compile = compile;
  return options;
}

static ffi::Any build(const ffi::Any& module, const ffi::Any& target, const ffi::Optional<ffi::String>& codegen, bool compile) {
  return to_ffi(value_or_raise(driver::build(ir_module_of(module), build_options(target, codegen, compile))).module);
}

static ffi::Any build_file(const ffi::String& path, const ffi::Any& target, const ffi::Optional<ffi::String>& codegen, bool compile) {
  return to_ffi(value_or_raise(driver::build_file(std::string(path), build_options(target, codegen, compile))).module);
}

static Module module_of(const ffi::Any& value) {
  if (std::optional<Module> module = as_module(value)) return *module;
  raise({Code::kInvalidArgument, "a lowered module must be a Module, got " + std::string(value.GetTypeKey()), "", ""});
}

static ffi::Array<ffi::String> to_ffi(const std::vector<std::string>& texts) {
  ffi::Array<ffi::String> out;
  for (const std::string& text : texts) out.push_back(text);
  return out;
}

// The file that this copy of the library was loaded from.
static std::string library_path() {
  Dl_info info;
  bool found = dladdr(reinterpret_cast<const void*>(&library_path), &info) != 0 && info.dli_fname;
  return found ? info.dli_fname : "";
}

using GlobalFunctions = std::vector<std::pair<std::string, ffi::Function>>;

template <class F>
static void add(GlobalFunctions& out, const char* name, F function) {
  out.emplace_back(std::string("kiln.") + name, ffi::Function::FromTyped(std::move(function)));
}

static GlobalFunctions registry_functions() {
  using ffi::Any;
  using ffi::String;
  GlobalFunctions out;
  add(out, "library_path", [] { return String(library_path()); });  // first: it claims the prefix for this copy
  add(out, "parse_target", [](const Any& target) { return to_ffi(target_of(target)); });
  add(out, "target_to_json", [](const Any& target) { return String(target_of(target).to_json()); });
  add(out, "register_device_codegen", register_codegen);
  add(out, "register_lazy_device_codegen",
      [](const String& kind, const String& path) { value_or_raise(register_lazy_device_codegen(std::string(kind), std::string(path))); });
  add(out, "remove_device_codegen",
      [](const String& kind, const String& name) { return remove_device_codegen(std::string(kind), std::string(name)); });
  add(out, "allowed_device_codegens_for_target",
      [](const Any& target) { return to_ffi(value_or_raise(allowed_device_codegens_for_target(target_of(target)))); });
  add(out, "resolve_device_codegen",
      [](const Any& target) { return String(value_or_raise(resolve_device_codegen(target_of(target)))->name); });
  add(out, "resolve_unambiguous_device_codegen",
      [](const Any& target) { return String(value_or_raise(resolve_unambiguous_device_codegen(target_of(target)))->name); });
  add(out, "explain_device_codegen", [](const Any& value) {
    Target target = target_of(value);
    return String(explanation_json(target, explain_device_codegen(target)));
  });
  add(out, "list_backends", [] { return String(backends_json()); });
  return out;
}

static GlobalFunctions module_functions() {
  using ffi::Any;
  using ffi::String;
  GlobalFunctions out;
  add(out, "load_module", [](const String& path) { return to_ffi(value_or_raise(IRModule::load(path))); });
  add(out, "parse_module", [](const String& text, const String& file) {
    return to_ffi(value_or_raise(IRModule::parse(std::string_view(text.data(), text.size()), std::string(file))));
  });
  add(out, "module_script", [](const Any& module) { return String(ir_module_of(module).script()); });
  add(out, "module_target", [](const Any& module) { return to_ffi(value_or_raise(driver::target_of(ir_module_of(module)))); });
  add(out, "lower", lower);
  add(out, "build", build);
  add(out, "build_file", build_file);
  add(out, "module_functions", [](const Any& module) { return to_ffi(module_of(module).functions()); });
  add(out, "module_artifact", [](const Any& module, const String& format) {
    return ffi::Bytes(value_or_raise(module_of(module).artifact(std::string_view(format.data(), format.size()))));
  });
  return out;
}

// Another copy of the library has the names; it says where it is.
static Error another_copy(const ffi::Function& its_path) {
  std::string theirs = std::string(its_path().cast<ffi::String>());
  return {Code::kInvalidArgument, "another copy of Kiln is loaded in this process and has registered its functions: " + theirs,
          library_path(), "use that copy: call its kiln.* functions, and load one libkiln only (a process has one registry)"};
}

Status register_ffi_globals() {
  static std::mutex mutex;
  static bool done = false;
  std::lock_guard lock(mutex);
  if (done) return Ok{};
  try {
    GlobalFunctions functions = registry_functions();
    for (auto& function : module_functions()) functions.push_back(std::move(function));
    for (const auto& [name, function] : functions) {
      std::optional<ffi::Function> taken = ffi::Function::GetGlobal(std::string_view(name));
      if (taken && name == functions[0].first) return another_copy(*taken);
      if (taken) {
        return Error{Code::kInvalidArgument, "the global function '" + name + "' exists already", "", "only Kiln may use names with kiln."};
      }
    }
    for (const auto& [name, function] : functions) ffi::Function::SetGlobal(name, function);
  } catch (const ffi::Error& e) {
    return Error{Code::kInternal, "cannot register the global functions: " + std::string(e.message()), "", ""};
  }
  done = true;
  return Ok{};
}

}  // namespace registry
}  // namespace kiln

// Called by name through tvm-ffi's loader: `load_module("libkiln.so")["kiln_init"]()`.
extern "C" __attribute__((visibility("default"))) int __tvm_ffi_kiln_init(void*, const TVMFFIAny*, int32_t, TVMFFIAny* result) {
  TVM_FFI_SAFE_CALL_BEGIN();
  kiln::registry::value_or_raise(kiln::registry::register_ffi_globals());
  result->type_index = kTVMFFINone;
  result->zero_padding = 0;
  result->v_int64 = 0;
  TVM_FFI_SAFE_CALL_END();
}
