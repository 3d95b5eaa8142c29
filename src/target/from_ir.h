// Targets from attribute values.
#pragma once

#include "ir/ir.h"
#include "kiln/target.h"

namespace kiln {

// The target that a function's `target` attribute holds: a kTarget or kMap with kind, tag, keys and host, attributes beside them or in a
// map `attrs`; a kString is read as Target::parse does. Errors as Target::parse.
Result<Target> target_from_value(const ir::Value& value);

// A target that a compiler in this process holds, as JSON in the form that Target::parse reads. That compiler checked it, so any kind and
// any attribute is taken; attributes of a type that no text form has are left out.
Result<Target> live_target_from_json(std::string_view json);

}  // namespace kiln
