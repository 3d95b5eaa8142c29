#include "runtime/call.h"

#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/tvm_ffi.h>

#include <vector>

namespace kiln::runtime {

namespace ffi = tvm::ffi;

namespace {

TVMFFIAny to_any(const Argument& a) {
  TVMFFIAny v{};
  switch (a.kind) {
    case Argument::Kind::kNone: v.type_index = kTVMFFINone; break;
    case Argument::Kind::kTensor: v.type_index = kTVMFFIDLTensorPtr, v.v_ptr = const_cast<DLTensor*>(a.tensor); break;
    case Argument::Kind::kPointer: v.type_index = kTVMFFIOpaquePtr, v.v_ptr = a.pointer; break;
    case Argument::Kind::kInt: v.type_index = kTVMFFIInt, v.v_int64 = a.integer; break;
    case Argument::Kind::kFloat: v.type_index = kTVMFFIFloat, v.v_float64 = a.floating; break;
  }
  return v;
}

// The callee's error. Our own modules begin the message with the kernel's name, which is the place here.
Error raised(std::string_view function) {
  TVMFFIObjectHandle handle = nullptr;
  TVMFFIErrorMoveFromRaised(&handle);
  if (!handle) return {Code::kLaunch, "the call failed without a message", std::string(function), ""};
  const TVMFFIErrorCell* cell = TVMFFIErrorGetCellPtr(handle);
  std::string_view message(cell->message.data, cell->message.size);
  if (message.starts_with(function) && message.substr(function.size()).starts_with(": ")) message.remove_prefix(function.size() + 2);
  Error e{Code::kLaunch, std::string(message), std::string(function), ""};
  TVMFFIObjectDecRef(handle);
  return e;
}

ffi::Optional<ffi::Function> find_function(const Module& module, std::string_view name) {
  auto* object = ffi::details::ObjectUnsafe::RawObjectPtrFromUnowned<ffi::Object>(static_cast<TVMFFIObject*>(module.handle()));
  try {
    return static_cast<ffi::ModuleObj*>(object)->GetFunction(ffi::String(name.data(), name.size()));
  } catch (const ffi::Error&) {  // another library's module may refuse a name so
    return std::nullopt;
  }
}

Error no_function(const Module& module, std::string_view name) {
  std::string known;
  for (const std::string& f : module.functions()) known += (known.empty() ? "" : ", ") + f;
  return {Code::kInvalidArgument, "the module has no function '" + std::string(name) + "'", "", known.empty() ? "" : "it has " + known};
}

}  // namespace

Status call(const Module& module, std::string_view function, std::span<const Argument> args) {
  if (!module) return Error{Code::kInvalidArgument, "an empty module has no functions", std::string(function), ""};
  ffi::Optional<ffi::Function> f = find_function(module, function);
  if (!f.has_value()) return no_function(module, function);
  std::vector<TVMFFIAny> values;
  values.reserve(args.size());
  for (const Argument& a : args) values.push_back(to_any(a));
  TVMFFIAny result{};
  TVMFFIObjectHandle handle = ffi::details::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(f.value());
  if (TVMFFIFunctionCall(handle, values.data(), static_cast<int32_t>(values.size()), &result) != 0) return raised(function);
  if (result.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(result.v_obj);
  return Ok{};
}

}  // namespace kiln::runtime
