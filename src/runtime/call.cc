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

Error raised(std::string_view function) {
  TVMFFIObjectHandle handle = nullptr;
  TVMFFIErrorMoveFromRaised(&handle);
  if (!handle) return {Code::kLaunch, "the call failed without a message", std::string(function), ""};
  const TVMFFIErrorCell* cell = TVMFFIErrorGetCellPtr(handle);
  Error e{Code::kLaunch, std::string(cell->message.data, cell->message.size), "", ""};
  TVMFFIObjectDecRef(handle);
  return e;
}

}  // namespace

Status call(const Module& module, std::string_view function, std::span<const Argument> args) {
  auto* object = ffi::details::ObjectUnsafe::RawObjectPtrFromUnowned<ffi::Object>(static_cast<TVMFFIObject*>(module.handle()));
  ffi::Optional<ffi::Function> f = static_cast<ffi::ModuleObj*>(object)->GetFunction(ffi::String(function.data(), function.size()));
  if (!f.has_value()) {
    std::string known;
    for (const std::string& name : module.functions()) known += (known.empty() ? "" : ", ") + name;
    return Error{Code::kLaunch, "the module has no function '" + std::string(function) + "'", "", known.empty() ? "" : "it has " + known};
  }
  std::vector<TVMFFIAny> values;
  for (const Argument& a : args) values.push_back(to_any(a));
  TVMFFIAny result{};
  TVMFFIObjectHandle handle = ffi::details::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(f.value());
  if (TVMFFIFunctionCall(handle, values.data(), static_cast<int32_t>(values.size()), &result) != 0) return raised(function);
  if (result.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(result.v_obj);
  return Ok{};
}

}  // namespace kiln::runtime
