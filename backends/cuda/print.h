// Prints a module as self-contained CUDA C++.
#pragma once

#include "backends/cuda/arch.h"
#include "emit/places.h"
#include "ir/ir.h"
#include "runtime/kernel_info.h"

namespace kiln::cuda {

// CUDA C++17 text, without an include, with every function of the module and the helpers that it uses. The first thing that the
// architecture or the backend lacks is an error of code kUnsupported, with its place.
Result<Source> print_source(const ir::Module& module, const Arch& arch, const emit::PlaceStyle& style = {});

}  // namespace kiln::cuda
