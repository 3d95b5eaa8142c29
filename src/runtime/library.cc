#include "runtime/library.h"

#include <dlfcn.h>

namespace kiln::runtime {

Result<std::shared_ptr<const Library>> Library::open(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* why = dlerror();
    return Error{Code::kIo, std::string("cannot load the library: ") + (why ? why : "no reason given"), path, ""};
  }
  return std::shared_ptr<const Library>(new Library(handle));
}

Library::~Library() { dlclose(handle_); }

void* Library::find(const char* symbol) const { return dlsym(handle_, symbol); }

}  // namespace kiln::runtime
