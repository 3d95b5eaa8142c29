// Structural equality of modules.
#pragma once

#include <string>

#include "ir/ir.h"

namespace kiln::ir {

// Whether two modules say the same: same functions in the same order, same statements and expressions, Vars and Buffers mapped one to one.
// Spans and the names of Vars and Buffers are not compared (text must rename some to be unambiguous), but function names are.
// On a difference `*why`, when given, gets one line that names it.
bool equal(const Module& a, const Module& b, std::string* why = nullptr);

}  // namespace kiln::ir
