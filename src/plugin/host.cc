#include "plugin/host.h"

#include <dlfcn.h>
#include <tvm/ffi/c_api.h>

#include <memory>
#include <stdexcept>
#include <vector>

#include "base/temporary_folder.h"
#include "kiln/abi/plugin.h"
#include "kiln/device_codegen.h"
#include "runtime/kernel_module.h"

// The opaque structs of the interface.
struct KilnError {
  kiln::Error value;
};
struct KilnTarget {
  const kiln::Target& value;
  std::string json;  // made when asked for
};
struct KilnResult {
  kiln::Module module;
};

namespace {

// Artifacts with what they point to.
struct Printed {
  kiln::Source source;
  std::vector<KilnKernel> kernels;
  std::vector<std::vector<KilnParam>> params;
  std::vector<std::vector<KilnString>> launch_params;
  std::vector<std::string> dtypes, entries;
  KilnArtifacts artifacts = {};
};

}  // namespace

struct KilnModule {
  const kiln::IRModule& value;
  std::string script;                             // made when asked for
  std::vector<std::unique_ptr<Printed>> printed;  // what `print` gave during this request
};

namespace kiln::plugin {
namespace {

constexpr size_t kMaxKernels = 1 << 16, kMaxParams = 1 << 12, kMaxDims = 64;

std::string_view view(KilnString s) { return s.data ? std::string_view(s.data, s.size) : std::string_view(); }
std::string text(KilnString s) { return std::string(view(s)); }
KilnString borrowed(std::string_view s) { return {s.data(), s.size()}; }
KilnError* owned(Error error) { return new KilnError{std::move(error)}; }
KilnError* owned(Code code, std::string message) { return owned(Error{code, std::move(message), "", ""}); }

Error taken(KilnError* error) {
  std::unique_ptr<KilnError> owner(error);
  return std::move(owner->value);
}

// Host functions are called by C: what is thrown below them (callbacks of the program, lack of memory) becomes an error.
template <class F>
KilnError* guarded(F&& work) {
  try {
    return work();
  } catch (const std::exception& e) {
    return owned(Code::kInternal, std::string("an exception was thrown: ") + e.what());
  } catch (...) {
    return owned(Code::kInternal, "something that is not a std::exception was thrown");
  }
}

// Whether a struct that a plug-in filled covers the field.
template <class Struct, class Field>
bool has(const Struct& object, Field Struct::*field) {
  auto offset = reinterpret_cast<const char*>(&(object.*field)) - reinterpret_cast<const char*>(&object);
  return object.struct_size >= static_cast<size_t>(offset) + sizeof(Field);
}

// ---- errors ----------------------------------------------------------------------------------------------------

KilnError* error_create(int32_t code, KilnString message, KilnString place, KilnString hint) {
  bool known = code >= 0 && code <= static_cast<int32_t>(Code::kInternal);
  return owned(Error{known ? static_cast<Code>(code) : Code::kInternal, text(message), text(place), text(hint)});
}
void error_release(KilnError* error) { delete error; }
int32_t error_code(const KilnError* error) { return static_cast<int32_t>(error->value.code); }
KilnString error_message(const KilnError* error) { return borrowed(error->value.message); }
KilnString error_place(const KilnError* error) { return borrowed(error->value.place); }
KilnString error_hint(const KilnError* error) { return borrowed(error->value.hint); }

// ---- targets and modules ---------------------------------------------------------------------------------------

KilnString target_json(const KilnTarget* target) {
  auto* t = const_cast<KilnTarget*>(target);
  if (t->json.empty()) t->json = t->value.to_json();
  return borrowed(t->json);
}
KilnString target_kind(const KilnTarget* target) { return borrowed(target->value.kind()); }
KilnString target_attr(const KilnTarget* target, KilnString name) {
  auto it = target->value.attrs().find(view(name));
  const auto* value = it == target->value.attrs().end() ? nullptr : std::get_if<std::string>(&it->second);
  return value ? borrowed(*value) : KilnString{nullptr, 0};
}
int32_t target_has_key(const KilnTarget* target, KilnString key) { return target->value.has_key(view(key)) ? 1 : 0; }

KilnString module_script(const KilnModule* module) {
  auto* m = const_cast<KilnModule*>(module);
  if (m->script.empty()) m->script = m->value.script();
  return borrowed(m->script);
}

// ---- artifacts -------------------------------------------------------------------------------------------------

Result<KernelParam> param_of(const KilnParam& p) {
  KernelParam param;
  param.name = text(p.name);
  if (p.dtype.size > 0) {
    Result<ir::DataType> dtype = ir::parse_dtype(view(p.dtype));
    if (!dtype) return dtype.error();
    param.dtype = *dtype;
  } else if (!p.is_pointer) {
    return Error{Code::kInvalidArgument, "a scalar parameter needs a dtype", param.name, ""};
  }
  param.is_pointer = p.is_pointer != 0;
  param.is_read_only = p.is_read_only != 0;
  if (p.ndim > kMaxDims || (p.ndim > 0 && !p.shape))
    return Error{Code::kInvalidArgument, "a parameter's shape is not valid", param.name, ""};
  param.shape.assign(p.shape, p.shape + p.ndim);
  return param;
}

Result<KernelInfo> kernel_of(const KilnKernel& k) {
  KernelInfo kernel;
  kernel.name = text(k.name);
  kernel.symbol = kernel.entry = text(k.symbol);
  if (kernel.name.empty() || kernel.symbol.empty()) return Error{Code::kInvalidArgument, "a kernel needs a name and a symbol", "", ""};
  if (kernel.symbol.find('\0') != std::string::npos) return Error{Code::kInvalidArgument, "a symbol holds a NUL byte", kernel.name, ""};
  if (k.convention != KILN_CALL_POINTERS && k.convention != KILN_CALL_PACKED) {
    return Error{Code::kInvalidArgument, "there is no calling convention " + std::to_string(k.convention), kernel.name, ""};
  }
  kernel.convention = k.convention == KILN_CALL_PACKED ? CallConvention::kTvmFfiPacked : CallConvention::kPlain;
  if (k.num_params > kMaxParams || k.num_launch_params > kMaxParams || (k.num_params > 0 && !k.params) ||
      (k.num_launch_params > 0 && !k.launch_params)) {
    return Error{Code::kInvalidArgument, "a kernel's parameters are not valid", kernel.name, ""};
  }
  const char* at = reinterpret_cast<const char*>(k.params);  // by the plug-in's own struct size, which may be larger than ours
  for (size_t i = 0; i < k.num_params; ++i) {
    const auto& p = *reinterpret_cast<const KilnParam*>(at);
    if (!has(p, &KilnParam::ndim)) return Error{Code::kInvalidArgument, "a KilnParam is smaller than that of version 1", kernel.name, ""};
    Result<KernelParam> param = param_of(p);
    if (!param) return param.error();
    kernel.params.push_back(std::move(*param));
    at += p.struct_size;
  }
  for (size_t i = 0; i < k.num_launch_params; ++i) kernel.launch_params.push_back(text(k.launch_params[i]));
  return kernel;
}

Result<Source> source_of(const KilnArtifacts& a) {
  if (!has(a, &KilnArtifacts::num_kernels))
    return Error{Code::kInvalidArgument, "a KilnArtifacts is smaller than that of version 1", "", ""};
  if (a.num_kernels > kMaxKernels || (a.num_kernels > 0 && !a.kernels)) {
    return Error{Code::kInvalidArgument, "the list of kernels is not valid", "", ""};
  }
  Source source;
  source.format = text(a.format), source.text = text(a.source), source.entry_text = text(a.entry);
  const char* at = reinterpret_cast<const char*>(a.kernels);
  for (size_t i = 0; i < a.num_kernels; ++i) {
    const auto& k = *reinterpret_cast<const KilnKernel*>(at);
    if (!has(k, &KilnKernel::num_launch_params))
      return Error{Code::kInvalidArgument, "a KilnKernel is smaller than that of version 1", "", ""};
    Result<KernelInfo> kernel = kernel_of(k);
    if (!kernel) return kernel.error();
    source.kernels.push_back(std::move(*kernel));
    at += k.struct_size;
  }
  return source;
}

Result<Module> module_of(const KilnArtifacts& a) {
  Result<Source> source = source_of(a);
  if (!source) return source.error();
  runtime::Artifacts artifacts;
  std::string binary = text(a.binary);
  if (binary.empty()) return runtime::make_source_module(std::move(*source));
  Result<std::unique_ptr<TemporaryFolder>> folder = TemporaryFolder::make();
  if (!folder) return folder.error();
  if (Status s = (*folder)->write("kernels.so", binary); !s) return s.error();
  auto library = runtime::Library::open((*folder)->file("kernels.so"));  // stays mapped after the file is gone
  if (!library) return library.error();
  artifacts["so"] = [binary = std::move(binary)]() -> Result<std::string> { return binary; };
  return runtime::make_compiled_module(std::move(*source), std::move(*library), std::move(artifacts));
}

KilnError* result_set_artifacts(KilnResult* result, const KilnArtifacts* artifacts) {
  return guarded([&]() -> KilnError* {
    if (!artifacts) return owned(Code::kInvalidArgument, "the result of a codegen must be artifacts, got a null pointer");
    Result<Module> module = module_of(*artifacts);
    if (!module) return owned(module.error());
    result->module = std::move(*module);
    return nullptr;
  });
}

KilnError* result_set_module(KilnResult* result, void* tvm_ffi_module) {
  return guarded([&]() -> KilnError* {
    if (!runtime::is_module(tvm_ffi_module)) return owned(Code::kInvalidArgument, "the result of a codegen must be a tvm-ffi module");
    TVMFFIObjectIncRef(tvm_ffi_module);
    result->module = Module(tvm_ffi_module);
    return nullptr;
  });
}

// ---- printing by another codegen -------------------------------------------------------------------------------

std::unique_ptr<Printed> printed_of(Source source) {
  auto out = std::make_unique<Printed>();
  out->source = std::move(source);
  size_t n = 0;
  for (const KernelInfo& k : out->source.kernels) n += k.params.size();
  out->dtypes.reserve(n);  // the structs point into it
  for (size_t i = 0; i < out->source.kernels.size(); ++i) {
    const KernelInfo& k = out->source.kernels[i];
    std::vector<KilnParam>& params = out->params.emplace_back();
    for (const KernelParam& p : k.params) {
      std::string& dtype = out->dtypes.emplace_back(p.dtype == ir::kVoid ? "" : ir::to_string(p.dtype));
      params.push_back(
          {sizeof(KilnParam), borrowed(p.name), borrowed(dtype), p.is_pointer, p.is_read_only, p.shape.data(), p.shape.size()});
    }
    std::vector<KilnString>& tags = out->launch_params.emplace_back();
    for (const std::string& tag : k.launch_params) tags.push_back(borrowed(tag));
    out->entries.push_back(runtime::entry_symbol(k, i));
  }
  for (size_t i = 0; i < out->source.kernels.size(); ++i) {
    const KernelInfo& k = out->source.kernels[i];
    int32_t convention = k.convention == CallConvention::kTvmFfiPacked ? KILN_CALL_PACKED : KILN_CALL_POINTERS;
    out->kernels.push_back({sizeof(KilnKernel), borrowed(k.name), borrowed(out->entries[i]), convention, out->params[i].data(),
                            out->params[i].size(), out->launch_params[i].data(), out->launch_params[i].size()});
  }
  out->artifacts = {sizeof(KilnArtifacts), borrowed(out->source.format), borrowed(out->source.text), borrowed(out->source.entry_text), {},
                    out->kernels.data(),   out->kernels.size()};
  return out;
}

KilnError* print(const KilnRequest* request, KilnString target, const KilnArtifacts** out) {
  return guarded([&]() -> KilnError* {
    auto* module = const_cast<KilnModule*>(request->module);
    Result<Target> to = Target::parse(view(target));
    if (!to) return owned(to.error());
    Result<const DeviceCodegen*> codegen = resolve_device_codegen(*to);
    if (!codegen) return owned(codegen.error());
    Result<Module> lowered = (*codegen)->lower(module->value, *to, false);
    if (!lowered) return owned(lowered.error());
    const Source* source = runtime::source_of(*lowered);
    if (!source) {
      return owned(Code::kUnsupported, "codegen '" + (*codegen)->name + "' makes modules that do not tell their source's kernels");
    }
    Printed& printed = *module->printed.emplace_back(printed_of(*source));
    *out = &printed.artifacts;
    return nullptr;
  });
}

// ---- registration ----------------------------------------------------------------------------------------------

using Lower = KilnError* (*)(void*, const KilnRequest*, KilnResult*);

DeviceCodegenFunc lower_by(Lower lower, void* self, const std::string& name) {
  if (!lower) return {};
  return [lower, self, name](const IRModule& module, const Target& target) -> Result<Module> {
    KilnTarget borrowed_target{target, {}};
    KilnModule borrowed_module{module, {}, {}};
    KilnRequest request{sizeof(KilnRequest), &borrowed_target, &borrowed_module};
    KilnResult result;
    if (KilnError* error = lower(self, &request, &result)) return taken(error);
    if (!result.module) {
      return Error{Code::kInternal, "device codegen '" + name + "' reported success and gave no result", "",
                   "a plug-in calls result_set_module or result_set_artifacts"};
    }
    return std::move(result.module);
  };
}

KilnError* register_codegen(KilnString target_kind, const KilnCodegen* codegen, int32_t override_) {
  return guarded([&]() -> KilnError* {
    if (!codegen || !has(*codegen, &KilnCodegen::supports_target)) {
      return owned(Code::kInvalidArgument, "a KilnCodegen is smaller than that of version 1");
    }
    DeviceCodegen entry;
    entry.name = text(codegen->name);
    entry.build = lower_by(codegen->build, codegen->self, entry.name);
    entry.build_without_compile = lower_by(codegen->build_without_compile, codegen->self, entry.name);
    if (auto* supports = codegen->supports_target) {
      entry.supports_target = [supports, self = codegen->self](const Target& target) {
        KilnTarget borrowed_target{target, {}};
        int32_t supported = 0;
        // A predicate answers yes or no; its failure passes through the registry as that of any other callback does.
        if (KilnError* error = supports(self, &borrowed_target, &supported)) throw std::runtime_error(taken(error).to_string());
        return supported != 0;
      };
    }
    auto registered = register_device_codegen(view(target_kind), std::move(entry), override_ != 0);
    return registered ? nullptr : owned(registered.error());
  });
}

KilnError* register_lazy(KilnString target_kind, KilnString import_path) {
  return guarded([&]() -> KilnError* {
    Status s = register_lazy_device_codegen(view(target_kind), view(import_path));
    return s ? nullptr : owned(s.error());
  });
}

const KilnHost kHost = {
    sizeof(KilnHost),
    KILN_ABI_VERSION,
    {KILN_VERSION, sizeof(KILN_VERSION) - 1},
    error_create,
    error_release,
    error_code,
    error_message,
    error_place,
    error_hint,
    register_codegen,
    register_lazy,
    target_json,
    target_kind,
    target_attr,
    target_has_key,
    module_script,
    result_set_module,
    result_set_artifacts,
    print,
};

}  // namespace

static Result<const KilnPlugin*> plugin_of(void* library) {
  auto entry = reinterpret_cast<const KilnPlugin* (*)()>(dlsym(library, "kiln_plugin"));
  if (!entry) {
    return Error{Code::kInvalidArgument, "the library has no function kiln_plugin", "",
                 "include/kiln/abi/plugin.h says what a plug-in exports"};
  }
  const KilnPlugin* plugin = entry();
  bool versioned = plugin && has(*plugin, &KilnPlugin::abi_version);
  if (!versioned || plugin->abi_version != KILN_ABI_VERSION) {
    std::string version = versioned ? std::to_string(plugin->abi_version) : "none";
    return Error{Code::kInvalidArgument, "the plug-in has ABI version " + version + ", expected " + std::to_string(KILN_ABI_VERSION), "",
                 "build it with the headers of Kiln " KILN_VERSION};
  }
  if (!has(*plugin, &KilnPlugin::init) || !plugin->init) return Error{Code::kInvalidArgument, "the plug-in has no init function", "", ""};
  return plugin;
}

Status load(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return Error{Code::kIo, dlerror(), "", ""};
  Result<const KilnPlugin*> plugin = plugin_of(library);
  if (!plugin) {
    dlclose(library);  // so that a library that is built anew at this path is read anew
    return plugin.error();
  }
  // From here on never closed: its codegens may be in use until the process ends.
  if (KilnError* error = (*plugin)->init(&kHost)) return taken(error);
  return Ok{};
}

}  // namespace kiln::plugin
