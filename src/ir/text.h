// TVMScript: the text form of a module. parse(print(m)) equals m (see equal.h), spans aside.
#pragma once

#include <string>

#include "ir/ir.h"

namespace kiln::ir {

// The module as TVMScript. Names are kept and made unique by a suffix on a clash; where TVMScript's short form would lose something
// (a call's dtype, an annotation) the explicit form is printed. Deterministic; cannot fail.
std::string print(const Module& module);
// One statement or expression, for messages: no final newline, names as they are.
std::string print(const Expr* e);
std::string print(const Stmt* s);

// Reads what print() writes and what TVM's and TileLang's `mod.script()` print for a lowered module, as far as it is unambiguous.
// `file` names the text in errors ("file:line:column"). Nesting is bounded (kMaxDepth).
Result<ModulePtr> parse(std::string_view text, std::string_view file);

// Depth of expressions plus statements beyond which a module is refused by parser and importers; keeps recursion in bounds.
constexpr int kMaxDepth = 1000;

}  // namespace kiln::ir
