// Options of the compiler in whose process Kiln runs.
#pragma once

#include <optional>
#include <string_view>

#include "kiln/target.h"

namespace kiln::runtime {

// The option `key` of the pass context that is current on this thread in TVM or TileLang: what was given to
// tvm.transform.PassContext(config={key: ...}). It is read by tvm-ffi's reflection, with no header of theirs. Nothing where no such
// compiler is loaded, the option is not set, or its value is of another type than an AttrValue's.
std::optional<AttrValue> live_pass_config(std::string_view key);

}  // namespace kiln::runtime
