// kiln.IRModule and kiln.Module.
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/tvm_ffi.h>

#include "core.h"
#include "driver/driver.h"

namespace kiln::python {

namespace ffi = tvm::ffi;

static bool is_tvm_ffi_object(nb::handle object) { return nb::hasattr(object.type(), "__chandle__"); }

static TVMFFIObject* handle_of(nb::handle object) {
  return static_cast<TVMFFIObject*>(PyLong_AsVoidPtr(nb::object(object.attr("__chandle__")()).ptr()));
}

IRModule ir_module_of(nb::handle object) {
  if (nb::isinstance<IRModule>(object) && nb::inst_ready(object)) return nb::cast<IRModule>(object);
  if (!is_tvm_ffi_object(object)) {
    throw nb::type_error(("a module must be a kiln.IRModule or a compiler's IRModule, got " + class_name(object)).c_str());
  }
  std::string json = nb::cast<std::string>(hooks().module_json(object));
  return value_or_raise(without_gil([&] { return IRModule::parse(json, "IRModule"); }));
}

Result<Module> module_of(nb::handle object, const std::string& who) {
  if (nb::isinstance<Module>(object) && nb::inst_ready(object)) return nb::cast<Module>(object);
  TVMFFIObject* handle = is_tvm_ffi_object(object) ? handle_of(object) : nullptr;
  if (!handle || !ffi::details::IsObjectInstance<ffi::ModuleObj>(handle->type_index)) {
    return Error{Code::kInvalidArgument, who + " must return a kiln.Module or a tvm_ffi.Module, it returned " + class_name(object), "", ""};
  }
  TVMFFIObjectIncRef(handle);
  return Module(handle);
}

nb::object to_tvm_ffi(const Module& module) { return hooks().to_tvm_ffi(nb::int_(reinterpret_cast<uintptr_t>(module.handle()))); }

static Module build(nb::handle module, nb::handle target, nb::handle codegen, bool compile) {
  IRModule ir = ir_module_of(module);
  driver::BuildOptions options;
  if (!target.is_none()) options.parsed_target = as_target(target_object(target));
  if (!codegen.is_none()) {
    if (!PyUnicode_Check(codegen.ptr())) throw nb::type_error(("codegen must be a str or None, got " + class_name(codegen)).c_str());
    options.codegen = utf8(codegen);
  }
  options.compile = compile;
  return value_or_raise(without_gil([&] { return driver::build(ir, options); })).module;
}

static nb::bytes artifact(const Module& module, const std::string& format) {
  std::string bytes = value_or_raise(without_gil([&] { return module.artifact(format); }));
  return nb::bytes(bytes.data(), bytes.size());
}

static IRModule load(const std::string& path) {
  return value_or_raise(without_gil([&] { return IRModule::load(path); }));
}

static nb::list function_names(const Module& module) {
  nb::list names;
  for (const std::string& name : module.functions()) names.append(text(name));
  return names;
}

void bind_modules(nb::module_& m) {
  nb::class_<IRModule>(m, "IRModule", nb::is_final(), "A device IRModule; immutable.")
      .def_static("load", &load, nb::arg("path"))
      .def_static(
          "parse", [](std::string_view code, const std::string& file) { return value_or_raise(IRModule::parse(code, file)); },
          nb::arg("text"), nb::arg("file") = "<text>")
      .def("script", [](const IRModule& module) { return text(module.script()); })
      .def("__str__", [](const IRModule& module) { return text(module.script()); });

  nb::class_<Module>(m, "Module", nb::is_final(), "Device code: a handle of a tvm-ffi module.")
      .def(
          "inspect_source", [](const Module& module, const std::string& format) { return text(module.inspect_source(format)); },
          nb::arg("format") = "")
      .def_prop_ro("kind", [](const Module& module) { return text(module.kind()); })
      .def_prop_ro("functions", &function_names)
      .def("artifact", &artifact, nb::arg("format"))
      .def("to_tvm_ffi", &to_tvm_ffi)
      .def(
          "get_function", [](const Module& module, nb::str name) { return to_tvm_ffi(module).attr("get_function")(name); }, nb::arg("name"))
      .def(
          "__getitem__", [](const Module& module, nb::str name) { return to_tvm_ffi(module).attr("get_function")(name); }, nb::arg("name"));

  m.def("build", &build, nb::arg("module"), nb::arg("target").none(), nb::arg("codegen").none(), nb::arg("compile"));

  // tvm_ffi makes its Python objects from what functions return, so one that returns what a handle refers to turns ours into its own.
  ffi::Function::SetGlobal("kiln.module_from_handle", ffi::Function::FromTyped([](int64_t handle) {
                             TVMFFIAny view = {};
                             view.v_obj = reinterpret_cast<TVMFFIObject*>(static_cast<uintptr_t>(handle));
                             view.type_index = view.v_obj->type_index;
                             return ffi::Any(ffi::AnyView::CopyFromTVMFFIAny(view));
                           }),
                           /*override=*/true);
}

}  // namespace kiln::python
