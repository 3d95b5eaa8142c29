// PTX instructions as C++ (device/ptx_sim.h): a table of what the text shim knows.
#pragma once

#include "backends/sim/shim/ptx.h"
#include "backends/sim/shim/translate.h"

namespace kiln::sim {

struct InstructionContext {
  std::vector<MatrixForm>& forms;
};

// C++ statements for one instruction, without its guard. kUnsupported names an instruction that is not in the table, or a use of it.
Result<std::string> instruction(InstructionContext& context, const PtxStatement& s);

// The variable of a register: of "%3" the asm statement's operand, of "p" the one that the assembly declares.
std::string name_of_register(std::string_view text);

// The C++ type that holds a value of a PTX type ("u32", "b64", "f16x2": its bits); empty for others.
std::string_view cpp_type(std::string_view ptx_type);

// What the instructions' files share.
Error no_such_use(const PtxStatement& s);
bool has_part(const PtxStatement& s, std::string_view part);
// An operand's value as a C++ expression, of `type` when one is given. Vectors and addresses have none.
Result<std::string> value(const PtxOperand& o, std::string_view type = {});
Result<std::string> value(const PtxStatement& s, size_t operand, std::string_view type = {});
// The values of a vector, or of one operand, separated by commas.
Result<std::string> values(const PtxOperand& o, std::string_view type);
// The address of [a] or [a+4]: of shared memory as a 32-bit number, else as a pointer.
Result<std::string> address(const PtxStatement& s, size_t operand);
Result<std::string> shared_address(const PtxStatement& s, size_t operand);

using Handler = Result<std::string> (*)(InstructionContext&, const PtxStatement&);
struct HandlerRow {
  std::string_view opcode;  // or its first parts
  Handler handler;
  int operands;  // at least
};
// Of matrix instructions; of barriers and copies.
extern const std::vector<HandlerRow> kMatrixInstructions, kAsyncInstructions;

}  // namespace kiln::sim
