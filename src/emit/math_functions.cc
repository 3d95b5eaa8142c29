#include "emit/math_functions.h"

namespace kiln::emit {

using ir::Op;

namespace {

constexpr MathFunction kMath[] = {
    {Op::tirx_acos, "acos", 1},
    {Op::tirx_acosh, "acosh", 1},
    {Op::tirx_asin, "asin", 1},
    {Op::tirx_asinh, "asinh", 1},
    {Op::tirx_atan, "atan", 1},
    {Op::tirx_atan2, "atan2", 2},
    {Op::tirx_atanh, "atanh", 1},
    {Op::kUnknown, "cbrt", 1},
    {Op::tirx_ceil, "ceil", 1},
    {Op::tirx_copysign, "copysign", 2},
    {Op::tirx_cos, "cos", 1},
    {Op::tl___cos, "cos", 1, true},
    {Op::tirx_cosh, "cosh", 1},
    {Op::tirx_erf, "erf", 1},
    {Op::kUnknown, "erfc", 1},
    {Op::tirx_exp, "exp", 1},
    {Op::tl___exp, "exp", 1, true},
    {Op::tirx_exp10, "exp10", 1},
    {Op::tl___exp10, "exp10", 1, true},
    {Op::tirx_exp2, "exp2", 1},
    {Op::kUnknown, "expm1", 1},
    {Op::tirx_fabs, "fabs", 1},
    {Op::kUnknown, "fdim", 2},
    {Op::tirx_floor, "floor", 1},
    {Op::tirx_fma, "fma", 3},
    {Op::tl_fma, "fma", 3},
    {Op::kUnknown, "fmax", 2},
    {Op::kUnknown, "fmin", 2},
    {Op::tirx_fmod, "fmod", 2},
    {Op::tirx_hypot, "hypot", 2},
    {Op::tirx_ldexp, "ldexp", 2},
    {Op::kUnknown, "lgamma", 1},
    {Op::tirx_log, "log", 1},
    {Op::tl___log, "log", 1, true},
    {Op::tirx_log10, "log10", 1},
    {Op::tl___log10, "log10", 1, true},
    {Op::tirx_log1p, "log1p", 1},
    {Op::tirx_log2, "log2", 1},
    {Op::tl___log2, "log2", 1, true},
    {Op::tirx_nearbyint, "nearbyint", 1},
    {Op::tirx_nextafter, "nextafter", 2},
    {Op::tirx_pow, "pow", 2},
    {Op::kUnknown, "remainder", 2},
    {Op::kUnknown, "rint", 1},
    {Op::tirx_round, "round", 1},
    {Op::tl_round_ties_away_from_zero, "round", 1},
    {Op::tirx_rsqrt, "rsqrt", 1},
    {Op::tl_ieee_frsqrt, "rsqrt", 1},
    {Op::tl_fast_rcp, "rcp_", 1},
    {Op::tirx_sigmoid, "sigmoid_", 1},
    {Op::tirx_sin, "sin", 1},
    {Op::tl___sin, "sin", 1, true},
    {Op::tirx_sinh, "sinh", 1},
    {Op::tirx_sqrt, "sqrt", 1},
    {Op::tirx_tan, "tan", 1},
    {Op::tl___tan, "tan", 1, true},
    {Op::tirx_tanh, "tanh", 1},
    {Op::kUnknown, "tgamma", 1},
    {Op::tirx_trunc, "trunc", 1},
    {Op::tl_max_nan, "max_nan_", 2},
    {Op::tl_min_nan, "min_nan_", 2},
    {Op::tl_max2_nan, "max_nan_", 2},
    {Op::tl_min2_nan, "min_nan_", 2},
};

}  // namespace

std::span<const MathFunction> math_functions() { return kMath; }

const MathFunction* math_function(Op op) {
  if (op == Op::kUnknown) return nullptr;
  for (const MathFunction& f : kMath) {
    if (f.op == op) return &f;
  }
  return nullptr;
}

const MathFunction* math_function_of_stem(std::string_view stem) {
  for (const MathFunction& f : kMath) {
    if (f.name == stem && !f.is_fast) return &f;
  }
  return nullptr;
}

const MathFunction* math_function(std::string_view name) {
  if (name.ends_with('_')) return nullptr;
  if (const MathFunction* f = math_function_of_stem(name)) return f;
  const MathFunction* f = name.ends_with('f') ? math_function_of_stem(name.substr(0, name.size() - 1)) : nullptr;
  return f && !f->name.ends_with('_') ? f : nullptr;
}

std::string common_spelling(const MathFunction& f, ir::DataType t) {
  std::string name(f.name);
  if (name.ends_with('_')) return name + (t.bits == 64 ? "f64" : "f32");
  return t.bits == 64 ? name : name + "f";
}

bool takes_integers(const MathFunction& f) {
  for (std::string_view name : {"fabs", "floor", "ceil", "trunc", "round", "nearbyint"}) {
    if (name == f.name) return true;
  }
  return false;
}

}  // namespace kiln::emit
