// What the lowerings of C-like languages share: operators of legal IR become calls of functions and helpers by name
// (Op::tirx_call_pure_extern).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "emit/math_functions.h"
#include "ir/rewriter.h"

namespace kiln::emit {

inline ir::DataType unsigned_of(int bits) { return {ir::TypeCode::kUInt, static_cast<uint8_t>(bits), 1}; }
// A format that no language here computes in: its values are bits.
inline bool is_small_float(ir::DataType t) { return t.is_floating() && t.bits <= 16; }
// "f32", "u8", "i64": the end of a helper's name.
std::string suffix(ir::DataType t);

// Operands first. A language says how it spells the rest.
class CallLowering : public ir::Rewriter {
 public:
  using Rewriter::Rewriter;
  const ir::Expr* expr(const ir::Expr* e) override;

 protected:
  // A call of `name`.
  const ir::Expr* named(ir::DataType t, std::string_view name, std::vector<const ir::Expr*> args, ir::SpanId span = 0);
  // A cast that the language has; none where the type is the same.
  const ir::Expr* plain_cast(ir::DataType t, const ir::Expr* e) { return e->dtype == t ? e : build.cast(t, e, e->span); }
  // Whether a number is not zero.
  const ir::Expr* to_bool(const ir::Expr* e);
  // The math function on the arguments from `first` on; of integers fabs is the absolute value, and rounding does nothing.
  const ir::Expr* math(const ir::Call* c, const MathFunction& f, size_t first);
  // printf: a small float reaches it as what C promotes a float to.
  const ir::Expr* printf(const ir::Call* c);

  virtual const ir::Expr* call(const ir::Call* c) = 0;
  // To another type, by what the language has for it.
  virtual const ir::Expr* cast(ir::DataType to, const ir::Expr* e) = 0;
  // kMin or kMax of numbers.
  virtual const ir::Expr* extremum(const ir::Binary* b) = 0;
  virtual std::string spelling_of(const MathFunction& f, ir::DataType t) const = 0;
  // The absolute value of an int32 or int64.
  virtual std::string_view absolute(ir::DataType t) const = 0;

 private:
  const ir::Expr* binary(const ir::Binary* b);
};

}  // namespace kiln::emit
