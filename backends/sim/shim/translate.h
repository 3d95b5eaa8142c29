// Inline assembly to C++ that runs on the host against device/ptx_sim.h.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "backends/sim/matrix/ldmatrix.h"
#include "backends/sim/matrix/mma.h"
#include "backends/sim/matrix/wgmma.h"
#include "backends/sim/matrix/wmma.h"
#include "kiln/error.h"

namespace kiln::sim {

// A matrix instruction of a text; the text names it by its index.
using MatrixForm = std::variant<Mma, MatrixMove, Wmma, Wgmma>;

// One asm statement of a C++ text.
struct AsmOperand {
  std::string constraint;  // "=r", "+f", "l", "n"
  std::string expression;  // C++
  bool is_output() const { return constraint.starts_with('=') || constraint.starts_with('+'); }
};
struct AsmStatement {
  std::string text;                  // escapes resolved, "%%" and "%0" as they are
  std::vector<AsmOperand> operands;  // outputs first
};

// One C++ statement (without the semicolon) that does the same. Forms that it needs are appended to `forms`. `number` tells it from other
// statements of the text, for labels. Errors: kUnsupported for an instruction that the shim does not know, kParse for text that is no PTX.
Result<std::string> translate(const AsmStatement& statement, int number, std::vector<MatrixForm>& forms);

}  // namespace kiln::sim
