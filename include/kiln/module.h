// What a device codegen returns: a tvm-ffi module.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/error.h"

namespace kiln {

// Owning handle of a tvm-ffi ModuleObj (any kind, ours or another library's). Counts references through tvm-ffi's C API, so this header
// needs none of tvm-ffi's; `handle()` is a TVMFFIObjectHandle for those who link it.
class Module {
 public:
  Module() = default;
  // Takes over one reference.
  explicit Module(void* object) : object_(object) {}
  Module(const Module& other);
  Module(Module&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Module& operator=(Module other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Module();

  void* handle() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

  // Source text in `format` ("" is the module's own); empty when it has none.
  std::string inspect_source(std::string_view format = "") const;
  // The kind of the ModuleObj: "kiln" for those made here.
  std::string kind() const;
  bool has_function(std::string_view name) const;
  // Names of the kernels, in the order of the module; empty for another library's modules, which do not say.
  std::vector<std::string> functions() const;
  // Bytes of the artifact in `format` ("source", or what the codegen makes: "so", "obj", "asm", ...), made when asked for. A format that
  // the codegen lacks is an error that lists those it has.
  Result<std::string> artifact(std::string_view format) const;

 private:
  void* object_ = nullptr;
};

}  // namespace kiln
