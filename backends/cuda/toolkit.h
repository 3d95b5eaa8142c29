// Where the parts of a CUDA toolkit are on this machine.
#pragma once

#include <string>
#include <vector>

#include "kiln/error.h"

namespace kiln::cuda {

// One of NVIDIA's libraries: its file names, newest first, the environment variable that may hold its path, what people call it, the PyPI
// package that brings it, and a function without which it is too old.
struct LibraryName {
  std::vector<const char*> files;
  const char* variable;
  const char* name;
  const char* package;
  const char* function;
};

struct LoadedLibrary {
  void* handle = nullptr;  // never closed: its threads may outlive any owner
  std::string path;
  size_t bytes = 0;  // size of the file, which tells builds of one version apart
};

// Looks at the path in the environment variable (that alone when it is set), then in CUDA_HOME, CUDA_PATH, the PyPI wheels in VIRTUAL_ENV
// or beside this library, /usr/local/cuda*, /opt/cuda and the loader's folders, and takes the first that loads and has the function. None:
// an error of code kToolchain that names all places, or the file that is there and why it does not do.
Result<LoadedLibrary> load_library(const LibraryName& name);

// The function `symbol` of a library; false when it has none.
template <class F>
bool bind(const LoadedLibrary& library, F*& function, const char* symbol);
void* find_symbol(const LoadedLibrary& library, const char* symbol);
template <class F>
bool bind(const LoadedLibrary& library, F*& function, const char* symbol) {
  function = reinterpret_cast<F*>(find_symbol(library, symbol));
  return function != nullptr;
}

// CUDA's own headers: the folder `include` of the toolkit that the file at `path` (a library or nvcc) belongs to, else of another; empty
// when there is none.
std::string include_folder(const std::string& path);

// nvcc in KILN_NVCC (that alone when it is set), CUDA_HOME, CUDA_PATH, PATH or /usr/local/cuda*. Not found: an error of code kToolchain
// that names the places.
Result<std::string> find_nvcc();

}  // namespace kiln::cuda
