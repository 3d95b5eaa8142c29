// The Python extension `kiln._core`: what its files share.
//
// Whatever the registry may keep (entries, caches, hooks) is never released: entries are immortal, and C++ threads may outlive the
// interpreter. Every function here is called with the interpreter lock (GIL) held, unless it says otherwise.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <string_view>

#include "kiln/device_codegen.h"

namespace kiln::python {

namespace nb = nanobind;

// The half of the package that is written in Python: functions of kiln/_hooks.py, and classes.
struct Hooks {
  nb::object error;           // kiln.KilnError(message, code, place, hint)
  nb::object record;          // kiln.device_codegen.DeviceCodegen
  nb::object target_json;     // (dict) -> str
  nb::object live_json;       // (object with the attributes of a tvm Target) -> str, or None
  nb::object module_json;     // (tvm IRModule) -> str
  nb::object to_tvm_ffi;      // (handle as int) -> tvm_ffi.Module
  nb::object import_backend;  // (module, folder) -> None
  nb::object can_import;      // (module, folder) -> bool
  nb::object manifests;       // () -> [(json, place, source)]
};
Hooks& hooks();

// False once the interpreter ends. Any thread may ask, without the GIL; then it must not enter Python.
bool python_runs();

// Text of ours as a str; what is no UTF-8 becomes U+FFFD.
nb::str text(std::string_view utf8);
// A str's text; one that is no Unicode text (a lone surrogate) is a UnicodeEncodeError.
std::string_view utf8(nb::handle str);
// "ValueError: no such thing"
std::string describe(const nb::python_error& error);
// "int"
std::string class_name(nb::handle object);

// Runs `f` with the GIL released.
template <class F>
auto without_gil(F f) {
  nb::gil_scoped_release release;
  return f();
}

// A kiln.KilnError that a callback raised, as an Error: so a codegen in Python refuses as one in C++ does. The first raise() of an equal
// error on this thread raises the very object again.
Error error_of(const nb::python_error& raised);
// Throws a kiln.KilnError, with `cause` as its __cause__.
[[noreturn]] void raise(const Error& error, nb::handle cause = {});
template <class T>
T value_or_raise(Result<T> result) {
  if (!result) raise(result.error());
  return std::move(*result);
}

// The kiln.Target for what stands for a target: a kiln.Target, a text form, a dict, a live target of a compiler. Text and live targets are
// cached. TypeError for other types, KilnError for what no target can be.
nb::object target_object(nb::handle object);
inline const Target& as_target(nb::handle target_object) { return *nb::inst_ptr<Target>(target_object); }

// The module for a kiln.IRModule or a live module of a compiler.
IRModule ir_module_of(nb::handle object);
// The module that a codegen returned: a kiln.Module or a tvm_ffi.Module; anything else is an error that starts with `who`.
Result<Module> module_of(nb::handle object, const std::string& who);
nb::object to_tvm_ffi(const Module& module);

void bind_target(nb::module_& m);
void bind_modules(nb::module_& m);
void bind_codegens(nb::module_& m);
void bind_loading(nb::module_& m);

// The Python exception that the last import of a backend on this thread failed with; taking it leaves none. Null when there was none.
nb::object take_import_error();

}  // namespace kiln::python
