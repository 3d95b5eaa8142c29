#include "runtime/kernel_module.h"

#include <dlpack/dlpack.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/tvm_ffi.h>

#include <cstring>

#include "runtime/arguments.h"
#include "runtime/raise.h"

namespace kiln::runtime {

namespace ffi = tvm::ffi;

namespace {

using Entry = int32_t (*)(void* const* args);
using Packed = int32_t (*)(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result);
using LastError = const char* (*)();

// What the module and each function that it handed out share.
struct Program {
  Source source;
  std::shared_ptr<const Library> library;    // neither this nor a launcher: source only
  std::shared_ptr<const Launcher> launcher;  // instead of a library
  std::vector<void*> entries;                // in the order of source.kernels
  LastError last_error = nullptr;
};

// "ErrorKind: message" of a kernel's own failure.
int raise_kernel_error(const KernelInfo& kernel, const Program& program, int32_t status) {
  std::string text = program.last_error ? program.last_error() : "";
  if (text.empty()) return raise("RuntimeError", kernel.name + ": the kernel returned " + std::to_string(status));
  size_t colon = text.find(": ");
  bool has_kind =
      colon != text.npos && colon > 0 && text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == colon;
  std::string kind = has_kind ? text.substr(0, colon) : "RuntimeError";
  return raise(kind, kernel.name + ": " + (has_kind ? text.substr(colon + 2) : text));
}

bool runs(const Program& program) { return program.library || program.launcher; }

// Where a kernel's arguments lie, without an allocation where they are few.
class Frame {
 public:
  explicit Frame(size_t n) {
    if (n <= kInline) return;
    more_slots_.resize(n), more_pointers_.resize(n);
    slots = more_slots_.data(), pointers = more_pointers_.data();
  }
  Slot* slots = inline_slots_;
  void** pointers = inline_pointers_;

 private:
  static constexpr size_t kInline = 24;
  Slot inline_slots_[kInline];
  void* inline_pointers_[kInline];
  std::vector<Slot> more_slots_;
  std::vector<void*> more_pointers_;
};

int launch(const Program& program, size_t index, const TVMFFIAny* args, int32_t count) {
  const KernelInfo& kernel = program.source.kernels[index];
  size_t n = kernel.params.size();
  Frame frame(n + kernel.launch_params.size());
  Place place{program.launcher->device_type(), program.launcher->reachable_types()};
  Fault fault = bind_arguments(kernel, args, count, frame.slots, place);
  if (!fault) {
    for (size_t i = 0; i < n; ++i) frame.pointers[i] = kernel.params[i].is_tensor_map ? frame.slots[i].pointer : &frame.slots[i];
    fault = program.launcher->launch(index, frame.pointers, frame.slots + n, place.device);
  }
  return fault ? raise(fault.kind, kernel.name + ": " + fault.message) : 0;
}

int call_entry(const Program& program, size_t index, const TVMFFIAny* args, int32_t count) {
  const KernelInfo& kernel = program.source.kernels[index];
  Frame frame(kernel.params.size());
  // Memory of other types that the host reads: DLPack's pinned and managed ones.
  constexpr int kReachable[] = {kDLCUDAHost, kDLROCMHost, kDLCUDAManaged};
  Place place{kDLCPU, kReachable};
  if (Fault fault = bind_arguments(kernel, args, count, frame.slots, place)) return raise(fault.kind, kernel.name + ": " + fault.message);
  for (size_t i = 0; i < kernel.params.size(); ++i) frame.pointers[i] = &frame.slots[i];
  int32_t status = reinterpret_cast<Entry>(program.entries[index])(frame.pointers);
  return status == 0 ? 0 : raise_kernel_error(kernel, program, status);
}

struct BoundKernel {
  std::shared_ptr<const Program> program;
  size_t index;
};

int call_kernel(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  const auto& bound = *static_cast<const BoundKernel*>(self);
  const Program& program = *bound.program;
  const KernelInfo& kernel = program.source.kernels[bound.index];
  result->type_index = kTVMFFINone;
  result->zero_padding = 0;
  result->v_int64 = 0;
  if (program.launcher) return launch(program, bound.index, args, count);
  if (!program.library) {
    return raise("RuntimeError",
                 "kernel '" + kernel.name + "' is not compiled: this module holds its source only; build it with a compiler at hand");
  }
  if (kernel.convention == CallConvention::kPlain) return call_entry(program, bound.index, args, count);
  int32_t status = reinterpret_cast<Packed>(program.entries[bound.index])(nullptr, args, count, result);
  return status == 0 ? 0 : raise_kernel_error(kernel, program, status);
}

constexpr std::string_view kFunctionsName = "kiln.functions";  // () -> Array<str>
constexpr std::string_view kArtifactName = "kiln.artifact";    // (format: str) -> bytes, or Array{code, message, place, hint}

ffi::Array<ffi::String> functions(const Program& program) {
  ffi::Array<ffi::String> names;
  for (const KernelInfo& k : program.source.kernels) names.push_back(k.name);
  return names;
}

ffi::Any to_ffi(const Result<std::string>& artifact) {
  if (artifact) return ffi::Bytes(artifact->data(), artifact->size());
  const Error& e = artifact.error();
  return ffi::Array<ffi::Any>{static_cast<int64_t>(e.code), ffi::String(e.message), ffi::String(e.place), ffi::String(e.hint)};
}

class KernelModule final : public ffi::ModuleObj {
 public:
  KernelModule(std::shared_ptr<const Program> program, Artifacts artifacts)
      : program_(std::move(program)), artifacts_(std::move(artifacts)) {}

  const char* kind() const final { return "kiln"; }
  int GetPropertyMask() const final { return runs(*program_) ? ffi::Module::kRunnable : 0; }

  // Beside the kernels: what Module asks of any module by name, as one made by a plug-in's copy of this class is not of this type here.
  ffi::Optional<ffi::Function> GetFunction(const ffi::String& name) final {
    std::string_view asked(name.data(), name.size());
    if (asked == kFunctionsName) return ffi::Function::FromTyped([program = program_] { return functions(*program); });
    if (asked == kArtifactName) {
      ffi::ObjectRef keep = ffi::GetRef<ffi::ObjectRef>(this);  // the caller may drop the module
      return ffi::Function::FromTyped([this, keep](const ffi::String& format) { return to_ffi(artifact({format.data(), format.size()})); });
    }
    for (size_t i = 0; i < program_->source.kernels.size(); ++i) {
      if (program_->source.kernels[i].name != asked) continue;
      TVMFFIObjectHandle handle = nullptr;
      auto* bound = new BoundKernel{program_, i};
      if (TVMFFIFunctionCreate(
              bound, &call_kernel, [](void* self) { delete static_cast<BoundKernel*>(self); }, &handle) != 0) {
        delete bound;
        return std::nullopt;
      }
      return ffi::Function(ffi::details::ObjectUnsafe::ObjectPtrFromOwned<ffi::FunctionObj>(static_cast<TVMFFIObject*>(handle)));
    }
    return std::nullopt;
  }
  bool ImplementsFunction(const ffi::String& name) final {
    for (const KernelInfo& k : program_->source.kernels) {
      if (k.name == std::string_view(name.data(), name.size())) return true;
    }
    return false;
  }
  ffi::String InspectSource(const ffi::String& format) const final {
    std::string_view f(format.data(), format.size());
    return f.empty() || f == program_->source.format ? program_->source.text : std::string();
  }

  Result<std::string> artifact(std::string_view format) const {
    if (format == "source" || format == program_->source.format) return program_->source.text;
    auto it = artifacts_.find(format);
    if (it != artifacts_.end()) return it->second();
    std::string known = "source";
    for (const auto& [name, make] : artifacts_) known += ", " + name;
    return Error{Code::kUnsupported, "this codegen does not make '" + std::string(format) + "'", "", "it makes " + known};
  }
  const Source& source() const { return program_->source; }

 private:
  std::shared_ptr<const Program> program_;
  Artifacts artifacts_;
};

Module wrap(std::shared_ptr<const Program> program, Artifacts artifacts) {
  auto object = ffi::make_object<KernelModule>(std::move(program), std::move(artifacts));
  return Module(ffi::details::ObjectUnsafe::MoveObjectPtrToTVMFFIObjectPtr(std::move(object)));
}

}  // namespace

Module make_source_module(Source source, Artifacts artifacts) {
  auto program = std::make_shared<Program>();
  program->source = std::move(source);
  return wrap(std::move(program), std::move(artifacts));
}

Module make_launched_module(Source source, std::shared_ptr<const Launcher> launcher, Artifacts artifacts) {
  auto program = std::make_shared<Program>();
  program->source = std::move(source);
  program->launcher = std::move(launcher);
  return wrap(std::move(program), std::move(artifacts));
}

std::string entry_symbol(const KernelInfo& kernel, size_t index) {
  if (!kernel.entry.empty()) return kernel.entry;
  return kernel.convention == CallConvention::kTvmFfiPacked ? kernel.symbol : "kiln_entry_" + std::to_string(index);
}

Result<Module> make_compiled_module(Source source, std::shared_ptr<const Library> library, Artifacts artifacts) {
  auto program = std::make_shared<Program>();
  for (size_t i = 0; i < source.kernels.size(); ++i) {
    const KernelInfo& k = source.kernels[i];
    std::string symbol = entry_symbol(k, i);
    void* entry = library->find(symbol.c_str());
    if (!entry) return Error{Code::kInternal, "the compiled library lacks the symbol '" + symbol + "'", "kernel " + k.name, ""};
    program->entries.push_back(entry);
  }
  program->last_error = reinterpret_cast<LastError>(library->find("kiln_last_error"));
  program->source = std::move(source);
  program->library = std::move(library);
  return wrap(std::move(program), std::move(artifacts));
}

}  // namespace kiln::runtime

namespace kiln {

namespace {

tvm::ffi::ModuleObj* module_of(void* handle) {
  return static_cast<tvm::ffi::ModuleObj*>(
      tvm::ffi::details::ObjectUnsafe::RawObjectPtrFromUnowned<tvm::ffi::Object>(static_cast<TVMFFIObject*>(handle)));
}

}  // namespace

const Source* runtime::source_of(const Module& module) {
  auto* own = module ? dynamic_cast<KernelModule*>(module_of(module.handle())) : nullptr;
  return own ? &own->source() : nullptr;
}
bool runtime::is_module(const void* object) { return object && static_cast<const TVMFFIObject*>(object)->type_index == kTVMFFIModule; }

Module::Module(const Module& other) : object_(other.object_) {
  if (object_) TVMFFIObjectIncRef(object_);
}
Module::~Module() {
  if (object_) TVMFFIObjectDecRef(object_);
}

// Another library's module may throw where ours would answer with nothing.
std::string Module::inspect_source(std::string_view format) const {
  if (!object_) return {};
  try {
    return std::string(module_of(object_)->InspectSource(tvm::ffi::String(format.data(), format.size())));
  } catch (const tvm::ffi::Error&) {
    return {};
  }
}
std::string Module::kind() const { return object_ ? module_of(object_)->kind() : ""; }
bool Module::has_function(std::string_view name) const {
  if (!object_) return false;
  try {
    return module_of(object_)->ImplementsFunction(tvm::ffi::String(name.data(), name.size()));
  } catch (const tvm::ffi::Error&) {
    return false;
  }
}

// What a function of the module returns; nothing when the module lacks it or it throws.
static std::optional<tvm::ffi::Any> ask(void* handle, std::string_view name, std::optional<std::string_view> argument = std::nullopt) {
  if (!handle) return std::nullopt;
  try {
    tvm::ffi::Optional<tvm::ffi::Function> f = module_of(handle)->GetFunction(tvm::ffi::String(name.data(), name.size()));
    if (!f) return std::nullopt;
    return argument ? (*f)(tvm::ffi::String(argument->data(), argument->size())) : (*f)();
  } catch (const tvm::ffi::Error&) {
    return std::nullopt;
  }
}

Result<std::string> Module::artifact(std::string_view format) const {
  if (!object_) return Error{Code::kInvalidArgument, "an empty module has no artifacts", "", ""};
  std::optional<tvm::ffi::Any> made = ask(object_, runtime::kArtifactName, format);
  if (auto bytes = made ? made->as<tvm::ffi::Bytes>() : std::nullopt) return std::string(bytes->data(), bytes->size());
  if (auto error = made ? made->as<tvm::ffi::Array<tvm::ffi::Any>>() : std::nullopt; error && error->size() == 4) {
    auto text = [&](int64_t i) { return (*error)[i].as<tvm::ffi::String>().value_or(tvm::ffi::String()); };
    int64_t code = (*error)[0].as<int64_t>().value_or(-1);
    bool known = code >= 0 && code <= static_cast<int64_t>(Code::kInternal);
    return Error{known ? static_cast<Code>(code) : Code::kInternal, std::string(text(1)), std::string(text(2)), std::string(text(3))};
  }
  std::string source = inspect_source(format == "source" ? "" : format);
  if (!source.empty()) return source;
  return Error{Code::kUnsupported, "a module of kind '" + kind() + "' does not give '" + std::string(format) + "'", "", ""};
}

std::vector<std::string> Module::functions() const {
  std::vector<std::string> names;
  std::optional<tvm::ffi::Any> listed = ask(object_, runtime::kFunctionsName);
  auto array = listed ? listed->as<tvm::ffi::Array<tvm::ffi::String>>() : std::nullopt;
  if (!array) return names;
  for (const tvm::ffi::String& name : *array) names.emplace_back(name);
  return names;
}

}  // namespace kiln
