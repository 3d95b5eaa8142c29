// What the TVMScript printer and parser share.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "ir/ir.h"

namespace kiln::ir::script {

// Whether text can hold the name as it is: an identifier that Python and the text form leave free.
bool is_identifier(std::string_view name);
// Names of the T namespace that are syntax of the text form, so that an operator of that name needs its explicit form.
bool is_reserved(std::string_view name);
// The operator that `T.<name>` means: "tirx.<name>" or "tl.<name>"; where there are both, whose text it is decides. kUnknown for none.
Op op_of_short_name(std::string_view name, bool tilelang);
// `name` in `T.<name>` for an operator, or empty when only the explicit form says it.
std::string_view short_name(Op op);
// The dtype that a call of `op` has when the text does not say it; false when there is none (too few arguments, explicit rules).
bool implied_dtype(Op op, List<const Expr*> args, DataType& dtype);
// Structural sameness of two expressions, variables and buffers by address.
bool same(const Expr* a, const Expr* b);

// Calls `on_var` for every mention of a variable in the function, and `on_buffer` for every mention of a buffer; where that returns true,
// what the buffer's layout mentions follows.
void for_each_name(const Function& f, const std::function<void(const Var*)>& on_var, const std::function<bool(const Buffer*)>& on_buffer);

}  // namespace kiln::ir::script
