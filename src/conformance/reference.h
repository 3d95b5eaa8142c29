// The reference evaluator: runs a function of a module over memory, by the meaning of the IR (docs/ir.md) and nothing else.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/value.h"
#include "ir/ir.h"
#include "kiln/error.h"

namespace kiln::conformance {

// Bytes of one tensor, and which of them have a value that the program defines. A format of fewer than 8 bits takes one byte an element.
struct Memory {
  std::vector<uint8_t> bytes;
  std::vector<bool> defined;

  explicit Memory(size_t size = 0) : bytes(size), defined(size, true) {}
};

struct Outcome {
  bool failed = false;  // an assertion did not hold
  std::string message;  // of the assertion: "ValueError: ..."
};

// Runs `function` with one memory for each pointer parameter and one value for each scalar parameter, in their order. Loops of every kind
// run in order, thread axes as loops. An Error of code kUnsupported: something that this evaluator has no rule for; kInvalidIr: an access
// out of bounds, an endless loop.
struct ReferenceArgument {
  Memory* memory = nullptr;  // null: a scalar
  Scalar scalar;
};
Result<Outcome> run_reference(const ir::Module& module, std::string_view function, const std::vector<ReferenceArgument>& args);

}  // namespace kiln::conformance
