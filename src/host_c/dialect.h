// C as a dialect of the C family.
#pragma once

#include "emit/c_family.h"

namespace kiln::host_c {

extern const emit::Dialect dialect;

// Exact text of a floating literal; a format that C lacks is its bits.
std::string float_literal(ir::DataType t, double value);

// The C name of each function of the module that is printed, by the module's name for it; set while a module is printed.
struct Callees {
  struct Callee {
    std::string symbol;
    bool has_status = false;  // returns int32_t: 0, or -1 when it failed
    ir::DataType ret;
  };
  std::map<std::string, Callee, std::less<>> by_name;
};

// The walker with what calls need to know.
struct CPrinter : emit::CFamily {
  // `d`: this dialect, or one made of it.
  CPrinter(emit::Writer& out, const emit::Reserved& reserved, const Callees& callees, const emit::Dialect& d = dialect)
      : CFamily(d, out, reserved), callees(callees) {}
  const Callees& callees;
  // The function being printed returns a status: it has none of its own, and can fail.
  bool has_status = false;
};

// Whether `s` may leave its function with an error.
bool can_fail(const ir::Stmt* s, const Callees& callees);

}  // namespace kiln::host_c
