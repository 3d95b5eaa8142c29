#include "runtime/live_config.h"

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/reflection/accessor.h>
#include <tvm/ffi/tvm_ffi.h>

namespace kiln::runtime {

namespace ffi = tvm::ffi;

namespace {

// A reflected field of an object by its name; None when it has no such field.
ffi::Any field(const ffi::Object* object, std::string_view name) {
  ffi::Any value;
  const TVMFFITypeInfo* type = TVMFFIGetTypeInfo(object->type_index());
  ffi::reflection::ForEachFieldInfo(type, [&](const TVMFFIFieldInfo* f) {
    if (std::string_view(f->name.data, f->name.size) != name) return;
    auto* at = reinterpret_cast<char*>(const_cast<ffi::Object*>(object)) + f->offset;
    TVMFFIAny got{};
    if (f->getter(at, &got) == 0) value = ffi::details::AnyUnsafe::MoveTVMFFIAnyToAny(&got);
  });
  return value;
}

std::optional<AttrValue> plain(const ffi::Any& value) {
  if (value.type_index() == kTVMFFIBool) return AttrValue(value.cast<bool>());
  if (value.type_index() == kTVMFFIInt) return AttrValue(value.cast<int64_t>());
  if (value.type_index() == kTVMFFIFloat) return AttrValue(value.cast<double>());
  if (auto text = value.as<ffi::String>()) return AttrValue(std::string(*text));
  return std::nullopt;
}

std::optional<AttrValue> to_attr(const ffi::Any& value) {
  if (auto v = plain(value)) return v;
  if (auto list = value.as<ffi::Array<ffi::Any>>()) {
    std::vector<std::string> texts;
    for (const ffi::Any& item : *list) {
      auto text = item.as<ffi::String>();
      if (!text) return std::nullopt;
      texts.emplace_back(*text);
    }
    return AttrValue(std::move(texts));
  }
  // A number that the compiler holds as a node of its IR.
  if (auto node = value.as<ffi::ObjectRef>(); node && node->defined()) return plain(field(node->get(), "value"));
  return std::nullopt;
}

}  // namespace

std::optional<AttrValue> live_pass_config(std::string_view key) {
  try {  // tvm-ffi's own containers report by exceptions
    std::optional<ffi::Function> current = ffi::Function::GetGlobal("transform.GetCurrentPassContext");
    if (!current) return std::nullopt;
    ffi::Any context = (*current)();
    auto object = context.as<ffi::ObjectRef>();
    if (!object || !object->defined()) return std::nullopt;
    auto config = field(object->get(), "config").as<ffi::Map<ffi::String, ffi::Any>>();
    if (!config) return std::nullopt;
    auto found = config->find(ffi::String(key.data(), key.size()));
    return found == config->end() ? std::nullopt : to_attr((*found).second);
  } catch (const ffi::Error&) {
    return std::nullopt;
  }
}

}  // namespace kiln::runtime
