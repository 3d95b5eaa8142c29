// The runtime's entries for matrix instructions, and the forms that they take.
#pragma once

#include <memory>
#include <string_view>

#include "backends/sim/runtime/sim.h"
#include "kiln/error.h"

namespace kiln::sim {

// What an entry takes as `form`, from the text of the instruction: its mnemonic; of wgmma, then the signs of a and b (-1: negated), which
// of them have K innermost (1 or 0), and the selector of metadata; of tcgen05.ld and st with shape 16x32bx2, the offset of the upper half.
Result<std::shared_ptr<const void>> make_form(std::string_view text);

}  // namespace kiln::sim
