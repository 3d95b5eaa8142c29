#include "runtime/kernel_module.h"

#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/tvm_ffi.h>

#include <cstring>

#include "runtime/arguments.h"

namespace kiln::runtime {

namespace ffi = tvm::ffi;

namespace {

using Entry = int32_t (*)(void* const* args);
using Packed = int32_t (*)(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result);
using LastError = const char* (*)();

// What the module and each function that it handed out share.
struct Program {
  Source source;
  std::shared_ptr<const Library> library;  // null: source only
  std::vector<void*> entries;              // in the order of source.kernels
  LastError last_error = nullptr;
};

// Without a backtrace: the message says it all, and the first one in a process costs 0.2 s.
int raise(std::string_view kind, const std::string& message) {
  TVMFFIByteArray k{kind.data(), kind.size()}, m{message.data(), message.size()}, no_backtrace{"", 0};
  TVMFFIObjectHandle error = nullptr;
  if (TVMFFIErrorCreate(&k, &m, &no_backtrace, &error) == 0) {
    TVMFFIErrorSetRaised(error);
    TVMFFIObjectDecRef(error);
  }
  return -1;
}

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
  if (!program.library) {
    return raise("RuntimeError",
                 "kernel '" + kernel.name + "' is not compiled: this module holds its source only; build it with a compiler at hand");
  }
  void* entry = program.entries[bound.index];
  int32_t status;
  if (kernel.convention == CallConvention::kTvmFfiPacked) {
    status = reinterpret_cast<Packed>(entry)(nullptr, args, count, result);
  } else {
    constexpr size_t kInline = 16;
    Slot inline_slots[kInline];
    void* inline_args[kInline];
    size_t n = kernel.params.size();
    std::vector<Slot> more_slots(n > kInline ? n : 0);
    std::vector<void*> more_args(n > kInline ? n : 0);
    Slot* slots = n > kInline ? more_slots.data() : inline_slots;
    void** pointers = n > kInline ? more_args.data() : inline_args;
    if (Fault fault = bind_arguments(kernel, args, count, slots)) return raise(fault.kind, kernel.name + ": " + fault.message);
    for (size_t i = 0; i < n; ++i) pointers[i] = &slots[i];
    status = reinterpret_cast<Entry>(entry)(pointers);
  }
  return status == 0 ? 0 : raise_kernel_error(kernel, program, status);
}

class KernelModule final : public ffi::ModuleObj {
 public:
  KernelModule(std::shared_ptr<const Program> program, Artifacts artifacts)
      : program_(std::move(program)), artifacts_(std::move(artifacts)) {}

  const char* kind() const final { return "kiln"; }
  int GetPropertyMask() const final { return program_->library ? ffi::Module::kRunnable : 0; }

  ffi::Optional<ffi::Function> GetFunction(const ffi::String& name) final {
    for (size_t i = 0; i < program_->source.kernels.size(); ++i) {
      if (program_->source.kernels[i].name != std::string_view(name.data(), name.size())) continue;
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
  std::vector<std::string> functions() const {
    std::vector<std::string> names;
    for (const KernelInfo& k : program_->source.kernels) names.push_back(k.name);
    return names;
  }

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

Result<Module> make_compiled_module(Source source, std::shared_ptr<const Library> library, Artifacts artifacts) {
  auto program = std::make_shared<Program>();
  for (size_t i = 0; i < source.kernels.size(); ++i) {
    const KernelInfo& k = source.kernels[i];
    std::string symbol = k.convention == CallConvention::kTvmFfiPacked ? k.symbol : "kiln_entry_" + std::to_string(i);
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
Result<std::string> Module::artifact(std::string_view format) const {
  if (!object_) return Error{Code::kInvalidArgument, "an empty module has no artifacts", "", ""};
  if (auto* own = dynamic_cast<runtime::KernelModule*>(module_of(object_))) return own->artifact(format);
  std::string text = inspect_source(format == "source" ? "" : format);
  if (!text.empty()) return text;
  return Error{Code::kUnsupported, "a module of kind '" + kind() + "' does not give '" + std::string(format) + "'", "", ""};
}
std::vector<std::string> Module::functions() const {
  auto* own = object_ ? dynamic_cast<runtime::KernelModule*>(module_of(object_)) : nullptr;
  return own ? own->functions() : std::vector<std::string>();
}

}  // namespace kiln
