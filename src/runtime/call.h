// Calling a module's functions from C++.
#pragma once

#include <dlpack/dlpack.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "kiln/module.h"

namespace kiln::runtime {

// One argument; the caller keeps ownership.
struct Argument {
  enum class Kind : uint8_t { kNone, kTensor, kPointer, kInt, kFloat };
  Kind kind = Kind::kNone;
  union {
    const DLTensor* tensor = nullptr;
    void* pointer;
    int64_t integer;
    double floating;
  };
  static Argument of(const DLTensor* t) {
    Argument a;
    a.kind = Kind::kTensor, a.tensor = t;
    return a;
  }
  static Argument of(void* p) {
    Argument a;
    a.kind = Kind::kPointer, a.pointer = p;
    return a;
  }
  static Argument of(int64_t v) {
    Argument a;
    a.kind = Kind::kInt, a.integer = v;
    return a;
  }
  static Argument of(double v) {
    Argument a;
    a.kind = Kind::kFloat, a.floating = v;
    return a;
  }
};

// Calls a function of the module, of any kind, and drops what it returns. Errors: kInvalidArgument, a function that the module lacks, with
// those it has; kLaunch, what the callee reported, with the function as place.
Status call(const Module& module, std::string_view function, std::span<const Argument> args);

}  // namespace kiln::runtime
