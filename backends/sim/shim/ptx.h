// The PTX of inline assembly, parsed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kiln/error.h"

namespace kiln::sim {

struct PtxOperand {
  enum class Kind : uint8_t {
    kRegister,  // `text` is its name; "%3" is the fourth operand of the asm statement
    kNumber,    // `text` as it is written
    kSpecial,   // `text` is the name without '%': "tid.x"
    kSink,      // _
    kVector,    // {a, b}: `items`
    kAddress,   // [a], [a+16], [a, {b, c}]: `items` are its parts; `offset` is added to the first
    kPair,      // a|b: `items`
  };
  Kind kind = Kind::kRegister;
  std::string text;
  std::string offset;
  std::vector<PtxOperand> items;
};

struct PtxStatement {
  enum class Kind : uint8_t { kInstruction, kLabel, kRegisters, kOpen, kClose };
  Kind kind = Kind::kInstruction;
  std::string opcode;                // of an instruction; the name of a label; the type of declared registers: "pred"
  std::string guard;                 // @p: the register; empty without one
  bool guard_negated = false;        // @!p
  std::vector<PtxOperand> operands;  // of an instruction; the declared registers
};

// Parses the text of one asm statement after its escapes are resolved: "%%" names a special register. Errors (kParse) quote what is not
// understood.
Result<std::vector<PtxStatement>> parse_ptx(std::string_view text);

// The parts of an opcode: "cp.async.wait_group" has three; "::" parts nothing.
std::vector<std::string_view> parts_of(std::string_view opcode);

}  // namespace kiln::sim
