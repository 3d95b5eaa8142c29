#include "core.h"

#include <dlfcn.h>

#include <atomic>

#include "cli/cli.h"
#include "registry/ffi_bridge.h"

namespace kiln::python {

static std::atomic<bool> interpreter_runs = true;

bool python_runs() { return interpreter_runs.load(std::memory_order_acquire); }

Hooks& hooks() {
  static auto* instance = new Hooks;
  return *instance;
}

nb::str text(std::string_view utf8) {
  return nb::steal<nb::str>(PyUnicode_DecodeUTF8(utf8.data(), static_cast<Py_ssize_t>(utf8.size()), "replace"));
}

std::string_view utf8(nb::handle str) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(str.ptr(), &size);
  if (!data) throw nb::python_error();
  return {data, static_cast<size_t>(size)};
}

std::string class_name(nb::handle object) { return nb::cast<std::string>(object.type().attr("__name__")); }

std::string describe(const nb::python_error& error) {
  nb::object words = nb::steal(PyObject_Str(error.value().ptr()));
  if (!words.is_valid()) PyErr_Clear();
  std::string name = nb::cast<std::string>(error.type().attr("__name__"));
  std::string what = words.is_valid() ? nb::cast<std::string>(words) : "";
  return what.empty() ? name : name + ": " + what;
}

// The last KilnError of a callback on this thread; owned, and never released after the interpreter's end.
static thread_local PyObject* passing_error = nullptr;

static Code code_of(const std::string& name) {
  for (int i = 0; i < static_cast<int>(Code::kInternal); ++i) {
    if (code_name(static_cast<Code>(i)) == name) return static_cast<Code>(i);
  }
  return Code::kInternal;
}

Error error_of(const nb::python_error& raised) {
  nb::handle e = raised.value();
  auto field = [&](const char* name) { return nb::cast<std::string>(nb::str(e.attr(name))); };
  Error error{code_of(field("code")), field("message"), field("place"), field("hint")};
  Py_XDECREF(std::exchange(passing_error, nb::borrow(e).release().ptr()));
  return error;
}

void raise(const Error& error, nb::handle cause) {
  if (nb::object passing = nb::steal(std::exchange(passing_error, nullptr)); passing.is_valid()) {
    if (nb::cast<std::string>(nb::str(passing.attr("message"))) == error.message) {
      PyErr_SetObject(passing.type().ptr(), passing.ptr());
      throw nb::python_error();
    }
  }
  nb::object e = hooks().error(text(error.message), text(code_name(error.code)), text(error.place), text(error.hint));
  if (cause.is_valid()) PyException_SetCause(e.ptr(), nb::borrow(cause).release().ptr());
  PyErr_SetObject(e.type().ptr(), e.ptr());
  throw nb::python_error();
}

static int run_command(const std::vector<std::string>& args) {
  std::vector<const char*> argv;
  for (const std::string& arg : args) argv.push_back(arg.c_str());
  argv.push_back(nullptr);
  return without_gil([&] { return cli::main(static_cast<int>(args.size()), argv.data()); });
}

static void set_hooks(nb::kwargs given) {
  Hooks& h = hooks();
  std::pair<const char*, nb::object*> all[] = {
      {"error", &h.error},
      {"record", &h.record},
      {"target_json", &h.target_json},
      {"live_json", &h.live_json},
      {"module_json", &h.module_json},
      {"to_tvm_ffi", &h.to_tvm_ffi},
      {"import_backend", &h.import_backend},
      {"can_import", &h.can_import},
      {"manifests", &h.manifests},
  };
  for (auto& [name, slot] : all) {
    if (given.contains(name)) *slot = given[name];
  }
}

NB_MODULE(_core, m) {
  nb::set_leak_warnings(false);  // the registry keeps its entries for ever
  m.doc() = "Kiln's registry, importer and driver; use the modules `kiln` and `kiln.device_codegen`.";
  // Plug-ins in C take tvm-ffi's functions from the process, so its library must be visible to all.
  dlopen("libtvm_ffi.so", RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
  bind_target(m);
  bind_modules(m);
  bind_codegens(m);
  bind_loading(m);
  m.def("set_hooks", &set_hooks);
  m.def("run_command", &run_command);
  m.def("stop", [] { interpreter_runs.store(false, std::memory_order_release); });
  if (Status s = registry::register_ffi_globals(); !s) throw nb::import_error(s.error().to_string().c_str());
}

}  // namespace kiln::python
