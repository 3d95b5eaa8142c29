// Backends that are Python modules, and manifests that Python packages bring.
#include "core.h"
#include "registry/backend.h"
#include "registry/loader.h"

namespace kiln::python {

// Never destroyed with the thread, which may not hold the GIL then.
static thread_local PyObject* import_error = nullptr;

nb::object take_import_error() { return nb::steal(std::exchange(import_error, nullptr)); }

static void keep_import_error(nb::handle exception) {
  take_import_error();
  import_error = nb::borrow(exception).release().ptr();
}

static Status import_backend(std::string_view module, std::string_view folder) {
  if (!python_runs()) return Error{Code::kUnsupported, "the Python interpreter has ended", "", ""};
  nb::gil_scoped_acquire acquire;
  try {
    hooks().import_backend(text(module), text(folder));
  } catch (const nb::python_error& e) {
    keep_import_error(e.value());
    return Error{Code::kInternal, describe(e), "", ""};
  }
  return Ok{};
}

static bool can_import(std::string_view module, std::string_view folder) {
  if (!python_runs()) return false;
  nb::gil_scoped_acquire acquire;
  return nb::cast<bool>(hooks().can_import(text(module), text(folder)));
}

static std::vector<registry::ManifestText> manifests() {
  std::vector<registry::ManifestText> out;
  if (!python_runs()) return out;
  nb::gil_scoped_acquire acquire;
  for (nb::handle item : hooks().manifests()) {
    out.push_back({nb::cast<std::string>(item[0]), nb::cast<std::string>(item[1]), nb::cast<std::string>(item[2])});
  }
  return out;
}

void bind_loading(nb::module_&) {
  registry::set_python_importer(import_backend);
  registry::set_python_finder(can_import);
  registry::set_manifest_source(manifests);
}

}  // namespace kiln::python
