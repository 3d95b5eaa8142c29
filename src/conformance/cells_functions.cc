// Operators that are functions of values, called by name.
#include <fmt/format.h>

#include "conformance/cell.h"

namespace kiln::conformance {

namespace {

using ir::DataType;
using ir::Op;

enum class Result : uint8_t { kSame, kBool, kInt32 };
enum class Types : uint8_t { kFloats, kWideFloats, kIntegers, kNumbers, kWords, kPairs };

struct Function {
  Op op;
  std::vector<Domain> domains;  // one an operand
  // Bounds are those of the OpenCL C 3.0 specification, table "ULP values for single precision built-in math functions" (full profile);
  // 0 where IEEE 754 asks for the correctly rounded result or the result is exact.
  uint64_t ulps = 0;
  Types types = Types::kFloats;
  Result result = Result::kSame;
  const char* tail = "";  // what follows the operands in the text
};

Domain one_zero(Domain d) {
  d.one_zero = true;
  return d;
}

std::vector<Function> transcendental() {
  Domain small = range(-10, 10), unit = range(-1, 1), positive = range(0.01, 1000);
  constexpr uint64_t kFast = 64;  // TileLang's __ forms stand for the fast instructions of a device, whose error grows with the operand
  return {
      {Op::tirx_exp, {small}, 3},
      {Op::tirx_exp2, {small}, 3},
      {Op::tirx_exp10, {range(-4, 4)}, 3},
      {Op::tirx_log, {positive}, 3},
      {Op::tirx_log2, {positive}, 3},
      {Op::tirx_log10, {positive}, 3},
      {Op::tirx_log1p, {range(-0.5, 100)}, 2},
      {Op::tirx_sin, {small}, 4},
      {Op::tirx_cos, {small}, 4},
      {Op::tirx_tan, {range(-1.5, 1.5)}, 5},
      {Op::tirx_asin, {unit}, 4},
      {Op::tirx_acos, {unit}, 4},
      {Op::tirx_atan, {small}, 5},
      {Op::tirx_sinh, {small}, 4},
      {Op::tirx_cosh, {small}, 4},
      {Op::tirx_tanh, {small}, 5},
      {Op::tirx_asinh, {small}, 4},
      {Op::tirx_acosh, {range(1, 1000)}, 4},
      {Op::tirx_atanh, {range(-0.9, 0.9)}, 5},
      {Op::tirx_erf, {range(-4, 4)}, 16},
      {Op::tirx_sigmoid, {small}, 6},  // exp, an addition and a division
      {Op::tirx_rsqrt, {positive}, 2},
      {Op::tl_ieee_frsqrt, {positive}, 2},
      {Op::tl_fast_rcp, {positive}, 2},
      {Op::tirx_pow, {range(0.1, 10), range(-4, 4)}, 16},
      {Op::tirx_atan2, {small, small}, 6},
      {Op::tirx_hypot, {small, small}, 4},
      {Op::tl___exp, {range(-4, 4)}, kFast},
      {Op::tl___exp10, {range(-2, 2)}, kFast},
      {Op::tl___log, {range(2, 1000)}, kFast},
      {Op::tl___log2, {range(2, 1000)}, kFast},
      {Op::tl___log10, {range(2, 1000)}, kFast},
      {Op::tl___sin, {range(0.5, 2)}, kFast},
      {Op::tl___cos, {range(-1, 1)}, kFast},
      {Op::tl___tan, {range(0.25, 1)}, kFast},
  };
}

std::vector<Function> exact() {
  Domain moderate = range(-100, 100);
  return {
      {Op::tirx_sqrt, {any()}},
      {Op::tirx_fabs, {any()}},
      {Op::tirx_floor, {any()}},
      {Op::tirx_ceil, {any()}},
      {Op::tirx_trunc, {any()}},
      {Op::tirx_round, {any()}},  // ties away from zero, as llvm.round
      {Op::tl_round_ties_away_from_zero, {any()}},
      {Op::tirx_nearbyint, {any()}},  // ties to even
      {Op::tirx_fmod, {any(), any()}},
      {Op::tirx_copysign, {any(), range(-10, 10)}},
      {Op::tirx_nextafter, {any(), any()}, 0, Types::kWideFloats},
      // Fused; a narrow format may be computed in float32, which rounds once more.
      {Op::tirx_fma, {moderate, moderate, moderate}, 0, Types::kWideFloats},
      {Op::tl_fma, {moderate, moderate, moderate}, 1},
      {Op::tirx_isnan, {any()}, 0, Types::kFloats, Result::kBool},
      {Op::tirx_isinf, {any()}, 0, Types::kFloats, Result::kBool},
      {Op::tirx_isfinite, {any()}, 0, Types::kFloats, Result::kBool},
      {Op::tl_max_nan, {one_zero(any()), one_zero(any())}},
      {Op::tl_min_nan, {one_zero(any()), one_zero(any())}},
      {Op::tl_clamp, {one_zero(any()), one_zero(range(-4, 1)), one_zero(range(1, 4))}, 0, Types::kNumbers},
      {Op::tl_fmul, {any(), any()}},
      {Op::tl_ieee_add, {any(), any()}, 0, Types::kWideFloats, Result::kSame, ", \"rn\""},
      {Op::tl_ieee_sub, {any(), any()}, 0, Types::kWideFloats, Result::kSame, ", \"rn\""},
      {Op::tl_ieee_mul, {any(), any()}, 0, Types::kWideFloats, Result::kSame, ", \"rn\""},
      {Op::tl_ieee_fdiv, {any(), any()}, 0, Types::kWideFloats, Result::kSame, ", \"rn\""},
      {Op::tl_ieee_fmaf, {moderate, moderate, moderate}, 0, Types::kWideFloats, Result::kSame, ", \"rn\""},
      {Op::tl_ieee_frcp, {any()}, 0, Types::kWideFloats, Result::kSame, ", \"rn\""},
      {Op::tl_ieee_fsqrt, {any()}, 0, Types::kWideFloats, Result::kSame, ", \"rn\""},
      {Op::tirx_likely, {any()}, 0, Types::kNumbers},
      {Op::tirx_popcount, {any()}, 0, Types::kIntegers},
      {Op::tirx_clz, {any()}, 0, Types::kIntegers},
      {Op::tirx_ctpop, {any()}, 0, Types::kIntegers},
      {Op::tl___ffs, {any()}, 0, Types::kWords, Result::kInt32},
      {Op::tl_pow_of_int, {range(-4, 4)}, 16, Types::kFloats, Result::kSame, ", 3"},
      // Two lanes at once.
      {Op::tl_add2, {any(), any()}, 0, Types::kPairs},
      {Op::tl_sub2, {any(), any()}, 0, Types::kPairs},
      {Op::tl_mul2, {any(), any()}, 0, Types::kPairs},
      {Op::tl_fma2, {moderate, moderate, moderate}, 1, Types::kPairs},
      {Op::tl_abs2, {any()}, 0, Types::kPairs},
      {Op::tl_max2, {one_zero(any()), one_zero(any())}, 0, Types::kPairs},
      {Op::tl_min2, {one_zero(any()), one_zero(any())}, 0, Types::kPairs},
      {Op::tl_max2_nan, {one_zero(any()), one_zero(any())}, 0, Types::kPairs},
      {Op::tl_min2_nan, {one_zero(any()), one_zero(any())}, 0, Types::kPairs},
  };
}

std::vector<DataType> types_of(Types types) {
  switch (types) {
    case Types::kFloats: return float_types();
    case Types::kWideFloats: return {ir::kFloat32, ir::kFloat64};
    case Types::kIntegers: return integer_types();
    case Types::kNumbers: return integer_types() + float_types();
    case Types::kWords: return {ir::kInt32, ir::kInt64};
    case Types::kPairs: return {ir::kFloat16, ir::kBFloat16, ir::kFloat32};
  }
  return {};
}

DataType result_of(Result rule, DataType t) {
  switch (rule) {
    case Result::kSame: return t;
    case Result::kBool: return ir::kBool;
    case Result::kInt32: return ir::kInt32;
  }
  return t;
}

void add_function(std::vector<Cell>& cells, const Form& form, const char* group, const Function& f) {
  static constexpr const char* kNames[] = {"A", "B", "D"};
  std::string name(ir::op_info(f.op).name);
  for (DataType t : types_of(f.types)) {
    for (int w : kWidths) {
      if (f.types == Types::kPairs && w != 2) continue;
      DataType result = result_of(f.result, t);
      std::vector<Tensor> operands;
      std::string args;
      for (size_t i = 0; i < f.domains.size(); ++i) {
        operands.push_back({kNames[i], t, {kElements}, f.domains[i]});
        args += fmt::format(", {{{}}}", kNames[i]);
      }
      std::string call =
          fmt::format("T.call_intrin(\"{}\", \"{}\"{}{})", ir::to_string(result.with_lanes(static_cast<uint16_t>(w))), name, args, f.tail);
      cells.push_back(elementwise(form, {group, name, f.op, f.ulps}, t, w, result, operands, call));
    }
  }
}

// The second operand is an int32.
void add_ldexp(std::vector<Cell>& cells, const Form& form) {
  for (DataType t : float_types()) {
    for (int w : kWidths) {
      std::string call =
          fmt::format("T.call_intrin(\"{}\", \"tirx.ldexp\", {{A}}, {{B}})", ir::to_string(t.with_lanes(static_cast<uint16_t>(w))));
      cells.push_back(elementwise(form, {"functions", "tirx.ldexp", Op::tirx_ldexp}, t, w, t,
                                  {{"A", t, {kElements}, range(-10, 10)}, {"B", ir::kInt32, {kElements}, range(-6, 6)}}, call));
    }
  }
}

void add_infinity(std::vector<Cell>& cells, const Form& form) {
  for (DataType t : float_types()) {
    std::string call = fmt::format("T.call_intrin(\"{}\", \"tl.infinity\")", ir::to_string(t));
    cells.push_back(elementwise(form, {"functions", "tl.infinity", Op::tl_infinity}, t, 1, t, {}, call));
  }
}

}  // namespace

void add_functions(std::vector<Cell>& cells, const Form& form) {
  for (const Function& f : transcendental()) add_function(cells, form, "functions", f);
  for (const Function& f : exact()) add_function(cells, form, "functions", f);
  add_ldexp(cells, form);
  add_infinity(cells, form);
}

}  // namespace kiln::conformance
