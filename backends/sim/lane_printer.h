// Prints as C what one lane does.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "host_c/dialect.h"
#include "intrinsics/arguments.h"
#include "ir/ir.h"

namespace kiln::sim {

// A place that operations hand to the runtime by its number.
struct SiteKey {
  ir::SpanId span = 0;
  std::string buffer;  // whose elements it accesses; empty: none
  int line = 0;        // of what is printed after the helpers, from 1
  int elements = 1;    // that are one access of the printed kernel, a vector
  auto operator<=>(const SiteKey&) const = default;
};

// What the printed kernels of a module refer to by number, and helpers written for them.
struct Tables {
  std::vector<SiteKey> sites = {{}};           // the first stands for none
  std::map<SiteKey, int> site_numbers;         // of `sites`
  std::vector<std::string> forms;              // matrix instructions, as PTX names them
  std::map<std::string, std::string> helpers;  // C functions by name, in the order in which they are printed
  std::set<int> synchronising;                 // lines

  // The number of a place; 0, none, when there are too many.
  int site(const SiteKey& key);
  int form(const std::string& mnemonic);
};

// The walker of what one lane does. In its text `w` is the warp, `sim` its table of functions, `lane` the lane.
struct LanePrinter : host_c::CPrinter {
  // `checked`: accesses to memory go by the runtime's checks.
  LanePrinter(emit::Writer& out, const emit::Reserved& reserved, const host_c::Callees& callees, Tables& tables, bool checked);

  // ", 3": the number of the place that is being printed, as last argument.
  std::string site(std::string_view buffer = {}) {
    return ", " + std::to_string(tables.site({span, std::string(buffer), next_line(), elements}));
  }
  int next_line() const { return static_cast<int>(out.lines()) + 1; }
  // Elements of a vector that the statement accesses one by one.
  int elements_of(const ir::Store& s) const;
  // The address that an argument stands for: of the element that a load names, or a pointer.
  std::string address(const ir::Expr* e);
  // The address of an operand.
  std::string place(const intrinsics::Operand& o);

  Tables& tables;
  ir::SpanId span = 0;                    // of the statement that is being printed
  int elements = 1;                       // of vectors that it accesses
  std::map<const ir::Var*, int> vectors;  // loops over elements of a vector, by their variable, with their number
  const bool checked;
};

}  // namespace kiln::sim
