// A shared library that stays loaded while someone holds it.
#pragma once

#include <memory>
#include <string>

#include "kiln/error.h"

namespace kiln::runtime {

class Library {
 public:
  // dlopen with every symbol resolved now and none made global. The error text is the loader's.
  static Result<std::shared_ptr<const Library>> open(const std::string& path);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // Address of a symbol, or null.
  void* find(const char* symbol) const;

 private:
  explicit Library(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace kiln::runtime
