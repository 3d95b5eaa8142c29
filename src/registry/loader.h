// Loads backends by import path.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "kiln/error.h"

namespace kiln::registry {

// Imports a Python module; set once by the Python package, which makes Python modules legal import paths. `folder` is put on sys.path while
// the module is imported; empty: nothing is.
using PythonImporter = std::function<Status(std::string_view module, std::string_view folder)>;
void set_python_importer(PythonImporter importer);

// Whether a Python module could be imported, told without importing it; set once by the Python package. `folder` as above.
using PythonFinder = std::function<bool(std::string_view module, std::string_view folder)>;
void set_python_finder(PythonFinder finder);
PythonFinder python_finder();  // empty in a process without Python

// What a path names, as Candidate::origin says it: "manifest c", "library /x/y.so", "Python module a.b".
std::string origin_of(std::string_view import_path);

// Runs the backend's initialisation: of a built-in backend, of the library of a manifest, of a shared library (a path with '/', or one that
// ends in .so or .dylib; see plugin/host.h), or by importing a Python module. The same path may be run again. What an initialisation throws
// becomes an error.
Status run_backend(std::string_view import_path);

}  // namespace kiln::registry
