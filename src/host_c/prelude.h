// What goes before a printed C text.
#pragma once

#include <string>

#include "emit/functions.h"

namespace kiln::host_c {

struct Prelude {
  std::string includes;  // of the C library
  std::string helpers;   // those of helpers() that are used, each after those that it needs
};
// Of a text in which these words occur.
Prelude prelude(const emit::Names& used);

}  // namespace kiln::host_c
