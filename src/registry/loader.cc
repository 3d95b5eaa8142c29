#include "registry/loader.h"

#include <algorithm>
#include <exception>
#include <mutex>

#include "plugin/host.h"
#include "registry/backend.h"

namespace kiln::registry {

namespace {
struct Python {
  std::mutex mutex;
  PythonImporter importer;
  PythonFinder finder;
};
}  // namespace

static Python& python() {
  static auto* hooks = new Python;  // never destroyed: Python may outlive static destructors
  return *hooks;
}

void set_python_importer(PythonImporter importer) {
  std::lock_guard lock(python().mutex);
  python().importer = std::move(importer);
}

void set_python_finder(PythonFinder finder) {
  std::lock_guard lock(python().mutex);
  python().finder = std::move(finder);
}

static PythonImporter python_importer() {
  std::lock_guard lock(python().mutex);
  return python().importer;
}

PythonFinder python_finder() {
  std::lock_guard lock(python().mutex);
  return python().finder;
}

static bool is_library_path(std::string_view path) {
  return path.find('/') != path.npos || path.ends_with(".so") || path.ends_with(".dylib");
}

static const Manifest* find_manifest(std::string_view name) {
  const std::vector<Manifest>& all = manifests();
  auto it = std::find_if(all.begin(), all.end(), [&](const Manifest& m) { return m.name == name; });
  return it == all.end() ? nullptr : &*it;
}

std::string origin_of(std::string_view import_path) {
  std::string path(import_path);
  if (is_library_path(path)) return "library " + path;
  if (find_manifest(path)) return "manifest " + path;
  return "Python module " + path;
}

static Status run_python(std::string_view module, std::string_view folder) {
  if (PythonImporter import = python_importer()) return import(module, folder);
  return Error{Code::kInvalidArgument, "the Python module '" + std::string(module) + "' needs a process with Python", "",
               "run it through the Python package: python -m kiln"};
}

static Status run_manifest(const Manifest& manifest) {
  if (manifest.builtin) return manifest.builtin->init();
  if (!manifest.python.empty()) return run_python(manifest.python, manifest.python_path);
  return plugin::load(beside(manifest, manifest.library));
}

static Status run_module(std::string_view path) {
  if (python_importer()) return run_python(path, "");
  std::string known;
  for (const Manifest& m : manifests()) known += (known.empty() ? "" : ", ") + m.name;
  return Error{Code::kInvalidArgument, "no backend with a manifest has this name, and a Python module needs a process with Python", "",
               "backends with a manifest: " + (known.empty() ? "<none>" : known) + "; a shared library is given by its path"};
}

Status run_backend(std::string_view import_path) {
  try {
    if (is_library_path(import_path)) return plugin::load(std::string(import_path));
    if (const Manifest* manifest = find_manifest(import_path)) return run_manifest(*manifest);
    return run_module(import_path);
  } catch (const std::exception& e) {
    return Error{Code::kInternal, std::string("its initialisation threw: ") + e.what(), "", ""};
  } catch (...) {
    return Error{Code::kInternal, "its initialisation threw something that is not a std::exception", "", ""};
  }
}

}  // namespace kiln::registry
