// Targets from attribute values.
#pragma once

#include "ir/ir.h"
#include "kiln/target.h"

namespace kiln {

// The target that a function's `target` attribute holds: a kTarget or kMap with kind, tag, keys and host, attributes beside them or in a
// map `attrs`; a kString is read as Target::parse does. Errors as Target::parse.
Result<Target> target_from_value(const ir::Value& value);

}  // namespace kiln
