// Atomic accesses and updates: tl.atomic_*, tirx.atomic_add, atomicAdd and others.
#pragma once

#include <string_view>

#include "ir/ir.h"

namespace kiln::intrinsics {

// What an atomic operator or function does: arguments are, from `first` on, an address, `values` values and perhaps an order, as
// the number that C++ has for it (relaxed 0, ..., seq_cst 5).
struct Atomic {
  std::string_view op;             // "load", "store", "sum", "sub", "max", "min", "and", "or", "xor", "exch", "inc", "dec", "cas"; or none
  std::string_view scope = "gpu";  // "cta", "gpu", "sys"
  size_t first = 0, values = 1;
  explicit operator bool() const { return !op.empty(); }
};
Atomic atomic_of(const ir::Call* c);
// The element that it updates, or null.
const ir::Load* atomic_place(const ir::Call* c);

}  // namespace kiln::intrinsics
