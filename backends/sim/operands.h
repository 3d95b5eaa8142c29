// What the printers of collectives share: operands that differ between lanes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/sim/warp_printer.h"
#include "intrinsics/arguments.h"

namespace kiln::sim {

// Operands of one collective: those that differ between lanes are arrays, filled by one loop.
class Operands {
 public:
  Operands(WarpPrinter& p, const WarpPrinter::Context& c) : p_(p), context_(c) {}

  // An array of 32 of that type.
  std::string array(std::string_view name, const std::string& type, const ir::Expr* e) {
    std::string n = p_.lane.names.fresh(name);
    arrays_.push_back({type + " " + n + "[32];", n + "[lane]", e, Kind::kValue});
    return n;
  }
  // The lanes' addresses of registers or memory: a sim_lanes.
  std::string lanes(std::string_view name, const intrinsics::Operand& o) {
    std::string n = p_.lane.names.fresh(name);
    arrays_.push_back({"sim_lanes " + n + ";", n + ".at[lane]", o.pointer, Kind::kPlace, o.offset});
    return n;
  }
  // A bit for each lane where the value is not 0.
  std::string bits(std::string_view name, const ir::Expr* e) {
    std::string n = p_.lane.names.fresh(name);
    arrays_.push_back({"sim_mask " + n + " = 0;", n, e, Kind::kBit});
    return n;
  }
  // The value, which the lanes agree on (that of the first lane, where that is not known).
  std::string agreed(std::string_view name, const std::string& type, const ir::Expr* e) {
    if (p_.same(e)) return p_.lane.str(e);
    std::string n = array(name, type, e);
    return n + "[__builtin_ctz(" + p_.mask_text(context_) + ")]";
  }

  // Declarations and the loop that fills them, in a block that the caller closes by end().
  void begin() {
    if (arrays_.empty()) return;
    for (const Array& a : arrays_) p_.lane.out.line(a.declaration);
    std::vector<const ir::Expr*> used;
    for (const Array& a : arrays_) {
      used.push_back(a.value);
      if (a.offset) used.push_back(a.offset);
    }
    p_.lane_begin(context_.mask, used);
    for (const Array& a : arrays_) {
      if (a.kind == Kind::kBit) p_.lane.out.line(a.element + " |= (sim_mask)(" + p_.lane.str(a.value) + " != 0) << lane;");
      if (a.kind == Kind::kValue) p_.lane.out.line(a.element + " = " + p_.lane.str(a.value) + ";");
      if (a.kind == Kind::kPlace) p_.lane.out.line(a.element + " = (void*)" + pointer(a) + ";");
    }
    p_.lane_end();
  }

 private:
  enum class Kind { kValue, kPlace, kBit };
  struct Array {
    std::string declaration, element;
    const ir::Expr* value;
    Kind kind;
    const ir::Expr* offset = nullptr;
  };
  std::string pointer(const Array& a) { return "(" + p_.lane.place(intrinsics::Operand{a.value, a.offset}) + ")"; }

  WarpPrinter& p_;
  const WarpPrinter::Context& context_;
  std::vector<Array> arrays_;
};

}  // namespace kiln::sim
