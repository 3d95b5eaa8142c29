#include "backends/sim/shim/translate.h"

#include <fmt/format.h>

#include "backends/sim/shim/instructions.h"

namespace kiln::sim {

namespace {

// The C++ type of the register that a constraint asks for; empty for a constraint that inline PTX has not.
std::string_view register_type(std::string_view constraint) {
  switch (constraint.empty() ? ' ' : constraint.back()) {
    case 'h': return "unsigned short";
    case 'r': return "unsigned";
    case 'l': return "unsigned long long";
    case 'f': return "float";
    case 'd': return "double";
    case 'n': return "long long";
    default: return {};
  }
}

// "<4>" is no part of the name here: r<4> declares r0 to r3, which no text of ours does.
Result<std::string> declaration(const PtxStatement& s) {
  std::string_view type = s.opcode == "pred" ? "bool" : cpp_type(s.opcode);
  if (type.empty()) return Error{Code::kUnsupported, "the text shim has no registers of type '." + s.opcode + "'", "", ""};
  std::string out(type);
  for (size_t i = 0; i < s.operands.size(); ++i) out += (i ? ", " : " ") + name_of_register(s.operands[i].text);
  return out + "; ";
}

}  // namespace

Result<std::string> translate(const AsmStatement& statement, int number, std::vector<MatrixForm>& forms) {
  auto ptx = parse_ptx(statement.text);
  if (!ptx) return ptx.error();
  std::string before, after, body;
  for (size_t i = 0; i < statement.operands.size() && !ptx->empty(); ++i) {
    const AsmOperand& o = statement.operands[i];
    std::string_view type = register_type(o.constraint);
    if (type.empty()) return Error{Code::kUnsupported, "the constraint '" + o.constraint + "' of inline assembly is not known", "", ""};
    bool written_only = o.constraint.starts_with('=');
    before += written_only ? fmt::format("{} kt{}; ", type, i) : fmt::format("{0} kt{1} = ({0})({2}); ", type, i, o.expression);
    if (o.is_output()) after += fmt::format("{0} = (__typeof__({0}))kt{1}; ", o.expression, i);
  }
  InstructionContext context{forms};
  for (const PtxStatement& s : *ptx) {
    switch (s.kind) {
      case PtxStatement::Kind::kOpen: body += "{ "; break;
      case PtxStatement::Kind::kClose: body += "} "; break;
      case PtxStatement::Kind::kLabel: body += fmt::format("kl{}_{}:; ", number, s.opcode); break;
      case PtxStatement::Kind::kRegisters: {
        auto text = declaration(s);
        if (!text) return text.error();
        body += *text;
        break;
      }
      case PtxStatement::Kind::kInstruction: {
        Result<std::string> text = s.opcode == "bra" || s.opcode == "bra.uni"
                                       ? fmt::format("goto kl{}_{};", number, s.operands.empty() ? "" : s.operands[0].text)
                                       : instruction(context, s);
        if (!text) return text.error();
        if (!s.guard.empty()) body += fmt::format("if ({}{}) ", s.guard_negated ? "!" : "", name_of_register(s.guard));
        body += "{ " + *text + " } ";
        break;
      }
    }
  }
  return "do { " + before + body + after + "} while (0)";
}

}  // namespace kiln::sim
