#include "conformance/scalar_ops.h"

#include <cmath>
#include <map>

namespace kiln::conformance {

namespace {

using ir::DataType;
using ir::ExprKind;
using ir::Op;

bool is_float(const Scalar& v) { return v.type.is_floating(); }
Scalar boolean(bool v) { return {ir::kBool, v, 0, true}; }

int sign_of(Integer v) { return v < 0 ? -1 : 1; }
Integer lowest(DataType t) { return t.is_int() ? -(static_cast<Integer>(1) << (t.bits - 1)) : 0; }
Integer highest(DataType t) { return (static_cast<Integer>(1) << (t.is_int() ? t.bits - 1 : t.bits)) - 1; }

Scalar divide(ExprKind kind, const Scalar& a, const Scalar& b) {
  DataType t = a.type;
  if (b.integer == 0) return undefined(t);
  Integer q = a.integer / b.integer, r = a.integer % b.integer;
  if (q > highest(t)) return undefined(t);
  bool inexact_below = r != 0 && sign_of(r) != sign_of(b.integer);
  switch (kind) {
    case ExprKind::kDiv: return make_integer(t, q);
    case ExprKind::kMod: return make_integer(t, r);
    case ExprKind::kFloorDiv: return make_integer(t, inexact_below ? q - 1 : q);
    default: return make_integer(t, inexact_below ? r + b.integer : r);
  }
}

Scalar shift(ExprKind kind, const Scalar& a, const Scalar& b) {
  if (b.integer < 0 || b.integer >= a.type.bits) return undefined(a.type);
  auto n = static_cast<int>(b.integer);
  if (kind == ExprKind::kShiftRight) return make_integer(a.type, a.integer >> n);
  return make_integer(a.type, a.integer * (static_cast<Integer>(1) << n));
}

Scalar integer_binary(ExprKind kind, const Scalar& a, const Scalar& b) {
  Integer x = a.integer, y = b.integer;
  auto result = [&](Integer v) { return make_integer(a.type, v); };
  switch (kind) {
    case ExprKind::kAdd: return result(x + y);
    case ExprKind::kSub: return result(x - y);
    case ExprKind::kMul: return result(static_cast<Integer>(static_cast<unsigned __int128>(x) * static_cast<unsigned __int128>(y)));
    case ExprKind::kDiv:
    case ExprKind::kMod:
    case ExprKind::kFloorDiv:
    case ExprKind::kFloorMod: return divide(kind, a, b);
    case ExprKind::kMin: return result(x < y ? x : y);
    case ExprKind::kMax: return result(x < y ? y : x);
    case ExprKind::kBitAnd: return result(x & y);
    case ExprKind::kBitOr: return result(x | y);
    case ExprKind::kBitXor: return result(x ^ y);
    case ExprKind::kShiftLeft:
    case ExprKind::kShiftRight: return shift(kind, a, b);
    default: return undefined(a.type);
  }
}

// A double holds the operands exactly, and one operation in double rounded once more to a format of at most 24 bits of precision is the
// correctly rounded one (S. A. Figueroa, "When is double rounding innocuous?", 1995).
Scalar float_binary(ExprKind kind, const Scalar& a, const Scalar& b) {
  double x = a.floating, y = b.floating;
  auto result = [&](double v) { return make_floating(a.type, v); };
  switch (kind) {
    case ExprKind::kAdd: return result(x + y);
    case ExprKind::kSub: return result(x - y);
    case ExprKind::kMul: return result(x * y);
    case ExprKind::kDiv: return result(x / y);
    case ExprKind::kMod: return result(std::fmod(x, y));
    case ExprKind::kFloorDiv: return result(std::floor(x / y));
    case ExprKind::kFloorMod: return result(x - std::floor(x / y) * y);
    case ExprKind::kMin: return result(std::isnan(x) || y < x ? y : x);
    case ExprKind::kMax: return result(std::isnan(x) || y > x ? y : x);
    default: return undefined(a.type);
  }
}

bool compare(ExprKind kind, auto x, auto y) {
  switch (kind) {
    case ExprKind::kEQ: return x == y;
    case ExprKind::kNE: return x != y;
    case ExprKind::kLT: return x < y;
    case ExprKind::kLE: return x <= y;
    case ExprKind::kGT: return x > y;
    default: return x >= y;
  }
}

using Function1 = long double (*)(long double);
using Function2 = long double (*)(long double, long double);

long double sigmoid(long double x) { return 1 / (1 + std::exp(-x)); }
long double exp10(long double x) { return std::pow(10.0L, x); }
long double reciprocal_root(long double x) { return 1 / std::sqrt(x); }
long double reciprocal(long double x) { return 1 / x; }
long double identity(long double x) { return x; }

// In long double, which has 11 bits more than float64: the one rounding to the format is right but for rare ties.
const std::map<Op, Function1>& functions_of_one() {
  static const std::map<Op, Function1> all = {
      {Op::tirx_acos, std::acos},
      {Op::tirx_acosh, std::acosh},
      {Op::tirx_asin, std::asin},
      {Op::tirx_asinh, std::asinh},
      {Op::tirx_atan, std::atan},
      {Op::tirx_atanh, std::atanh},
      {Op::tirx_ceil, std::ceil},
      {Op::tirx_cos, std::cos},
      {Op::tl___cos, std::cos},
      {Op::tirx_cosh, std::cosh},
      {Op::tirx_erf, std::erf},
      {Op::tirx_exp, std::exp},
      {Op::tl___exp, std::exp},
      {Op::tirx_exp10, exp10},
      {Op::tl___exp10, exp10},
      {Op::tirx_exp2, std::exp2},
      {Op::tirx_fabs, std::fabs},
      {Op::tl_abs2, std::fabs},
      {Op::tirx_floor, std::floor},
      {Op::tirx_log, std::log},
      {Op::tl___log, std::log},
      {Op::tirx_log10, std::log10},
      {Op::tl___log10, std::log10},
      {Op::tirx_log1p, std::log1p},
      {Op::tirx_log2, std::log2},
      {Op::tl___log2, std::log2},
      {Op::tirx_nearbyint, std::nearbyint},
      {Op::tirx_round, std::round},
      {Op::tl_round_ties_away_from_zero, std::round},
      {Op::tirx_rsqrt, reciprocal_root},
      {Op::tl_ieee_frsqrt, reciprocal_root},
      {Op::tl_fast_rcp, reciprocal},
      {Op::tl_ieee_frcp, reciprocal},
      {Op::tirx_sigmoid, sigmoid},
      {Op::tirx_sin, std::sin},
      {Op::tl___sin, std::sin},
      {Op::tirx_sinh, std::sinh},
      {Op::tirx_tan, std::tan},
      {Op::tl___tan, std::tan},
      {Op::tirx_tanh, std::tanh},
      {Op::tirx_trunc, std::trunc},
      {Op::tirx_likely, identity},
  };
  return all;
}

long double minimum_nan(long double a, long double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::fmin(a, b); }
long double maximum_nan(long double a, long double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::fmax(a, b); }

const std::map<Op, Function2>& functions_of_two() {
  static const std::map<Op, Function2> all = {
      {Op::tirx_atan2, std::atan2},   {Op::tirx_copysign, std::copysign}, {Op::tirx_fmod, std::fmod},    {Op::tirx_hypot, std::hypot},
      {Op::tirx_pow, std::pow},       {Op::tl_max_nan, maximum_nan},      {Op::tl_min_nan, minimum_nan}, {Op::tl_max2_nan, maximum_nan},
      {Op::tl_min2_nan, minimum_nan}, {Op::tl_pow_of_int, std::pow},
  };
  return all;
}

// Operators that are another name of a node.
const std::map<Op, ExprKind>& operators() {
  static const std::map<Op, ExprKind> all = {
      {Op::tl_add2, ExprKind::kAdd},
      {Op::tl_ieee_add, ExprKind::kAdd},
      {Op::tl_sub2, ExprKind::kSub},
      {Op::tl_ieee_sub, ExprKind::kSub},
      {Op::tl_mul2, ExprKind::kMul},
      {Op::tl_ieee_mul, ExprKind::kMul},
      {Op::tl_fmul, ExprKind::kMul},
      {Op::tl_ieee_fdiv, ExprKind::kDiv},
      {Op::tl_max2, ExprKind::kMax},
      {Op::tl_min2, ExprKind::kMin},
      {Op::tirx_bitwise_and, ExprKind::kBitAnd},
      {Op::tirx_bitwise_or, ExprKind::kBitOr},
      {Op::tirx_bitwise_xor, ExprKind::kBitXor},
      {Op::tirx_shift_left, ExprKind::kShiftLeft},
      {Op::tirx_shift_right, ExprKind::kShiftRight},
  };
  return all;
}

int leading_zeros(uint64_t v, int bits) {
  int n = 0;
  while (n < bits && !(v >> (bits - 1 - n) & 1)) ++n;
  return n;
}
int ones(uint64_t v) {
  int n = 0;
  for (; v; v >>= 1) n += static_cast<int>(v & 1);
  return n;
}
int first_one(uint64_t v) {  // from 1; 0 for none
  for (int n = 0; n < 64; ++n) {
    if (v >> n & 1) return n + 1;
  }
  return 0;
}

// The fused operation. float32 and float64 have one in every C library; the product of narrower values is exact in double.
Scalar fused(DataType t, const Scalar& a, const Scalar& b, const Scalar& c) {
  if (t == ir::kFloat64) return make_floating(t, std::fma(a.floating, b.floating, c.floating));
  if (t == ir::kFloat32) {
    return make_floating(t, std::fma(static_cast<float>(a.floating), static_cast<float>(b.floating), static_cast<float>(c.floating)));
  }
  return make_floating(t, static_cast<long double>(a.floating) * b.floating + c.floating);
}

Scalar clamp(const Scalar& x, const Scalar& low, const Scalar& high) {
  if (!is_float(x)) return evaluate_binary(ExprKind::kMin, evaluate_binary(ExprKind::kMax, x, low), high);
  return make_floating(x.type, minimum_nan(maximum_nan(x.floating, low.floating), high.floating));  // NaN propagates, as torch.clamp
}

Scalar next_after(DataType t, const Scalar& from, const Scalar& to) {
  if (t == ir::kFloat64) return make_floating(t, std::nextafter(from.floating, to.floating));
  return make_floating(t, std::nextafter(static_cast<float>(from.floating), static_cast<float>(to.floating)));
}

Scalar classify(Op op, const Scalar& v) {
  if (!is_float(v)) return boolean(op == Op::tirx_isfinite);
  if (op == Op::tirx_isnan) return boolean(std::isnan(v.floating));
  return boolean(op == Op::tirx_isinf ? std::isinf(v.floating) : std::isfinite(v.floating));
}

}  // namespace

Scalar evaluate_binary(ExprKind kind, const Scalar& a, const Scalar& b) {
  bool logical = kind == ExprKind::kAnd || kind == ExprKind::kOr;
  if (!a.defined || !b.defined) return undefined(logical || ir::is_comparison(kind) ? ir::kBool : a.type);
  if (logical) return boolean(kind == ExprKind::kAnd ? a.integer && b.integer : a.integer || b.integer);
  if (ir::is_comparison(kind)) return boolean(is_float(a) ? compare(kind, a.floating, b.floating) : compare(kind, a.integer, b.integer));
  return is_float(a) ? float_binary(kind, a, b) : integer_binary(kind, a, b);
}

Scalar evaluate_unary(ExprKind kind, const Scalar& a) {
  if (!a.defined) return undefined(a.type);
  return kind == ExprKind::kNot ? boolean(!a.integer) : make_integer(a.type, ~a.integer);
}

Scalar evaluate_cast(DataType to, const Scalar& v) {
  if (!v.defined) return undefined(to);
  if (to == v.type) return v;
  if (is_storage_only(to) || is_storage_only(v.type)) return undefined(to);
  if (to.is_bool()) return boolean(is_float(v) ? v.floating != 0 : v.integer != 0);
  if (to.is_floating()) {
    long double wide = is_float(v) ? static_cast<long double>(v.floating) : static_cast<long double>(v.integer);
    bool powers_only = to.code == ir::TypeCode::kFloat8E8M0FNU;  // no zero and no sign
    return powers_only && wide <= 0 ? undefined(to) : make_floating(to, wide);
  }
  if (!is_float(v)) return make_integer(to, v.integer);
  double whole = std::trunc(v.floating);
  if (!(whole >= static_cast<double>(lowest(to)) && whole < static_cast<double>(highest(to) + 1))) return undefined(to);
  return make_integer(to, static_cast<Integer>(whole));
}

bool is_scalar_function(Op op) {
  switch (op) {
    case Op::tirx_sqrt:
    case Op::tl_ieee_fsqrt:
    case Op::tirx_fma:
    case Op::tl_fma:
    case Op::tl_fma2:
    case Op::tl_ieee_fmaf:
    case Op::tirx_ldexp:
    case Op::tirx_nextafter:
    case Op::tirx_isnan:
    case Op::tirx_isinf:
    case Op::tirx_isfinite:
    case Op::tirx_popcount:
    case Op::tirx_ctpop:
    case Op::tirx_clz:
    case Op::tl___ffs:
    case Op::tl_clamp:
    case Op::tl_infinity:
    case Op::tirx_bitwise_not: return true;
    default: return functions_of_one().contains(op) || functions_of_two().contains(op) || operators().contains(op);
  }
}

Scalar evaluate_call(Op op, DataType result, const std::vector<Scalar>& args) {
  for (const Scalar& a : args) {
    if (!a.defined) return undefined(result);
  }
  if (op == Op::tl_infinity) return {result, 0, INFINITY, true};
  if (args.empty()) return undefined(result);
  const Scalar& x = args[0];
  if (auto it = operators().find(op); it != operators().end()) return evaluate_binary(it->second, x, args[1]);
  if (auto it = functions_of_two().find(op); it != functions_of_two().end()) {
    long double y = is_float(args[1]) ? static_cast<long double>(args[1].floating) : static_cast<long double>(args[1].integer);
    return make_floating(result, it->second(x.floating, y));
  }
  if (auto it = functions_of_one().find(op); it != functions_of_one().end()) {
    if (is_float(x)) return make_floating(result, it->second(x.floating));
    return op == Op::tirx_fabs ? make_integer(result, x.integer < 0 ? -x.integer : x.integer) : x;  // integers are whole already
  }
  switch (op) {
    case Op::tirx_sqrt:
    case Op::tl_ieee_fsqrt: return make_floating(result, std::sqrt(x.floating));  // in double: see float_binary
    case Op::tirx_fma:
    case Op::tl_fma:
    case Op::tl_fma2:
    case Op::tl_ieee_fmaf: return fused(result, x, args[1], args[2]);
    case Op::tirx_ldexp: return make_floating(result, std::ldexp(x.floating, static_cast<int>(args[1].integer)));
    case Op::tirx_nextafter: return next_after(result, x, args[1]);
    case Op::tirx_isnan:
    case Op::tirx_isinf:
    case Op::tirx_isfinite: return classify(op, x);
    case Op::tirx_popcount:
    case Op::tirx_ctpop: return make_integer(result, ones(to_bits(x)));
    case Op::tirx_clz: return make_integer(result, leading_zeros(to_bits(x), x.type.bits));
    case Op::tl___ffs: return make_integer(result, first_one(to_bits(x)));
    case Op::tl_clamp: return clamp(x, args[1], args[2]);
    case Op::tirx_bitwise_not: return evaluate_unary(ExprKind::kBitNot, x);
    default: return undefined(result);
  }
}

}  // namespace kiln::conformance
