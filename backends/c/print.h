// Prints a module as self-contained C.
#pragma once

#include "ir/ir.h"
#include "kiln/error.h"
#include "kiln/target.h"
#include "runtime/kernel_info.h"

namespace kiln::c {

// C11 text (which C++ compilers read too) with every function of the module and the helpers that it uses. Shifts of signed values and
// wrapping sums are as GCC and Clang define them (-fwrapv). The first thing that C cannot say is an error of code kUnsupported, with its
// place.
Result<Source> print_source(const ir::Module& module, const Target& target);

}  // namespace kiln::c
