// Prints calls on matrix fragments (wmma) and tensor memory (tcgen05).
#pragma once

#include "backends/sim/warp_printer.h"

namespace kiln::sim {

// Whether the printer has text for the operator, which the warp does as one.
bool is_tensor_call(const ir::Call* c);
// Why it has none for this call, or empty.
std::string tensor_call_fault(const ir::Call* c);
// Prints it; false for other operators.
bool print_tensor_call(WarpPrinter& p, const ir::Call* c, const WarpPrinter::Context& context);

}  // namespace kiln::sim
