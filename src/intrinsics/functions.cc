#include "intrinsics/functions.h"

namespace kiln::intrinsics {

using namespace ir;
using emit::MathFunction;

namespace {

struct Name {
  std::string_view name, math;
};
// Functions of float16 and bfloat16, by the function that they are.
constexpr Name kHalf[] = {{"hexp", "exp"},
                          {"hexp2", "exp2"},
                          {"hexp10", "exp10"},
                          {"hlog", "log"},
                          {"hlog2", "log2"},
                          {"hlog10", "log10"},
                          {"hsin", "sin"},
                          {"hcos", "cos"},
                          {"htanh", "tanh"},
                          {"hsqrt", "sqrt"},
                          {"hrsqrt", "rsqrt"},
                          {"hrcp", "rcp_"},
                          {"hfloor", "floor"},
                          {"hceil", "ceil"},
                          {"htrunc", "trunc"},
                          {"hrint", "rint"},
                          {"__habs", "fabs"},
                          {"__hmax", "fmax"},
                          {"__hmin", "fmin"},
                          {"__hfma", "fma"},
                          {"htan", "tan"},
                          {"htan_approx", "tan"},
                          {"__hmax_nan", "max_nan_"},
                          {"__hmin_nan", "min_nan_"}};

struct Builtin {
  std::string_view name;
  int args;
};
constexpr Builtin kBuiltins[] = {
    {"__cosf", 1},
    {"__exp10f", 1},
    {"__expf", 1},
    {"__fdividef", 2},
    {"__log10f", 1},
    {"__log2f", 1},
    {"__logf", 1},
    {"__powf", 2},
    {"__saturatef", 1},
    {"__sinf", 1},
    {"__tanf", 1},
    {"__tanhf", 1},
    {"__fadd_rn", 2},
    {"__fadd_rz", 2},
    {"__fadd_ru", 2},
    {"__fadd_rd", 2},
    {"__fsub_rn", 2},
    {"__fsub_rz", 2},
    {"__fsub_ru", 2},
    {"__fsub_rd", 2},
    {"__fmul_rn", 2},
    {"__fmul_rz", 2},
    {"__fmul_ru", 2},
    {"__fmul_rd", 2},
    {"__fdiv_rn", 2},
    {"__fdiv_rz", 2},
    {"__fdiv_ru", 2},
    {"__fdiv_rd", 2},
    {"__fmaf_rn", 3},
    {"__fmaf_rz", 3},
    {"__fmaf_ru", 3},
    {"__fmaf_rd", 3},
    {"__frcp_rn", 1},
    {"__frcp_rz", 1},
    {"__frcp_ru", 1},
    {"__frcp_rd", 1},
    {"__fsqrt_rn", 1},
    {"__fsqrt_rz", 1},
    {"__fsqrt_ru", 1},
    {"__fsqrt_rd", 1},
    {"__frsqrt_rn", 1},
    {"__dadd_rn", 2},
    {"__dadd_rz", 2},
    {"__dadd_ru", 2},
    {"__dadd_rd", 2},
    {"__dsub_rn", 2},
    {"__dsub_rz", 2},
    {"__dsub_ru", 2},
    {"__dsub_rd", 2},
    {"__dmul_rn", 2},
    {"__dmul_rz", 2},
    {"__dmul_ru", 2},
    {"__dmul_rd", 2},
    {"__ddiv_rn", 2},
    {"__ddiv_rz", 2},
    {"__ddiv_ru", 2},
    {"__ddiv_rd", 2},
    {"__fma_rn", 3},
    {"__fma_rz", 3},
    {"__fma_ru", 3},
    {"__fma_rd", 3},
    {"__drcp_rn", 1},
    {"__drcp_rz", 1},
    {"__drcp_ru", 1},
    {"__drcp_rd", 1},
    {"__dsqrt_rn", 1},
    {"__dsqrt_rz", 1},
    {"__dsqrt_ru", 1},
    {"__dsqrt_rd", 1},
    {"__popc", 1},
    {"__popcll", 1},
    {"__clz", 1},
    {"__clzll", 1},
    {"__ffs", 1},
    {"__ffsll", 1},
    {"__brev", 1},
    {"__brevll", 1},
    {"__mulhi", 2},
    {"__umulhi", 2},
    {"__byte_perm", 3},
    {"__dp4a", 3},
    {"__float_as_int", 1},
    {"__int_as_float", 1},
    {"__float_as_uint", 1},
    {"__uint_as_float", 1},
    {"clock", 0},
    {"clock64", 0},
    {"__syncthreads", 0},
    {"__threadfence", 0},
    {"__threadfence_block", 0},
    {"__dp2a_lo", 3},
    {"__dp2a_hi", 3},
    {"__funnelshift_l", 3},
    {"__funnelshift_r", 3},
    {"__funnelshift_lc", 3},
    {"__funnelshift_rc", 3},
    {"__mul24", 2},
    {"__umul24", 2},
    {"__mul64hi", 2},
    {"__umul64hi", 2},
    {"__sad", 3},
    {"__usad", 3},
    {"__rhadd", 2},
    {"__urhadd", 2},
    {"__fns", 3},
    {"__nanosleep", 1},
    {"__threadfence_system", 0},
    {"__activemask", 0},
    {"__trap", 0},
    {"__brkpt", 0},
    {"__syncthreads_count", 1},
    {"__syncthreads_and", 1},
    {"__syncthreads_or", 1},
    {"__any_sync", 2},
    {"__all_sync", 2},
    {"__ballot_sync", 2},
    {"__match_any_sync", 2},
    {"__ldg", 1},
    {"__ldcg", 1},
    {"__ldca", 1},
    {"__ldcs", 1},
    {"__ldlu", 1},
    {"__ldcv", 1},
    {"__stwb", 2},
    {"__stcg", 2},
    {"__stcs", 2},
    {"__stwt", 2},
    {"__double_as_longlong", 1},
    {"__longlong_as_double", 1},
    {"__double2hiint", 1},
    {"__double2loint", 1},
    {"__hiloint2double", 2},
    {"__float2int_rn", 1},
    {"__float2int_rz", 1},
    {"__float2int_ru", 1},
    {"__float2int_rd", 1},
    {"__float2uint_rn", 1},
    {"__float2uint_rz", 1},
    {"__float2uint_ru", 1},
    {"__float2uint_rd", 1},
    {"__float2ll_rn", 1},
    {"__float2ll_rz", 1},
    {"__float2ll_ru", 1},
    {"__float2ll_rd", 1},
    {"__float2ull_rn", 1},
    {"__float2ull_rz", 1},
    {"__float2ull_ru", 1},
    {"__float2ull_rd", 1},
    {"__double2int_rn", 1},
    {"__double2int_rz", 1},
    {"__double2int_ru", 1},
    {"__double2int_rd", 1},
    {"__double2uint_rn", 1},
    {"__double2uint_rz", 1},
    {"__double2uint_ru", 1},
    {"__double2uint_rd", 1},
    {"__double2ll_rn", 1},
    {"__double2ll_rz", 1},
    {"__double2ll_ru", 1},
    {"__double2ll_rd", 1},
    {"__double2ull_rn", 1},
    {"__double2ull_rz", 1},
    {"__double2ull_ru", 1},
    {"__double2ull_rd", 1},
    {"__double2float_rn", 1},
    {"__double2float_rz", 1},
    {"__double2float_ru", 1},
    {"__double2float_rd", 1},
    {"__int2float_rn", 1},
    {"__int2float_rz", 1},
    {"__int2float_ru", 1},
    {"__int2float_rd", 1},
    {"__uint2float_rn", 1},
    {"__uint2float_rz", 1},
    {"__uint2float_ru", 1},
    {"__uint2float_rd", 1},
    {"__ll2float_rn", 1},
    {"__ll2float_rz", 1},
    {"__ll2float_ru", 1},
    {"__ll2float_rd", 1},
    {"__ll2double_rn", 1},
    {"__ll2double_rz", 1},
    {"__ll2double_ru", 1},
    {"__ll2double_rd", 1},
    {"__ull2float_rn", 1},
    {"__ull2float_rz", 1},
    {"__ull2float_ru", 1},
    {"__ull2float_rd", 1},
    {"__ull2double_rn", 1},
    {"__ull2double_rz", 1},
    {"__ull2double_ru", 1},
    {"__ull2double_rd", 1},
    {"__int2double_rn", 1},
    {"__uint2double_rn", 1},
};

}  // namespace

const MathFunction* named_math_function(std::string_view name) {
  for (const Name& half : kHalf) {
    if (half.name == name) return emit::math_function_of_stem(half.math);
  }
  if (const MathFunction* f = emit::math_function(name)) return f;
  // Modules name functions of half formats by the same rule where no header has one: hpow, herf.
  return name.starts_with("h") && !name.ends_with("f") ? emit::math_function(name.substr(1))
         : name == "herf"                              ? emit::math_function_of_stem("erf")
                                                       : nullptr;
}

bool is_void_function(std::string_view name) {
  for (std::string_view known : {"__syncthreads", "__threadfence", "__threadfence_block", "__threadfence_system", "__nanosleep", "__trap",
                                 "__brkpt", "__stwb", "__stcg", "__stcs", "__stwt", "debug_print_var", "debug_print_buffer_value"}) {
    if (name == known) return true;
  }
  return false;
}

int builtin_function(std::string_view name) {
  for (const Builtin& b : kBuiltins) {
    if (b.name == name) return b.args;
  }
  return -1;
}

std::string ieee_function(const Call* c) {
  std::string_view f32, f64;
  switch (c->op) {
    case Op::tl_ieee_add: f32 = "__fadd_", f64 = "__dadd_"; break;
    case Op::tl_ieee_sub: f32 = "__fsub_", f64 = "__dsub_"; break;
    case Op::tl_ieee_mul: f32 = "__fmul_", f64 = "__dmul_"; break;
    case Op::tl_ieee_fdiv: f32 = "__fdiv_", f64 = "__ddiv_"; break;
    case Op::tl_ieee_fmaf: f32 = "__fmaf_", f64 = "__fma_"; break;
    case Op::tl_ieee_frcp: f32 = "__frcp_", f64 = "__drcp_"; break;
    case Op::tl_ieee_fsqrt: f32 = "__fsqrt_", f64 = "__dsqrt_"; break;
    case Op::tl_ieee_frsqrt: return c->dtype.bits == 64 ? "rsqrt" : "__frsqrt_rn";
    default: return "";
  }
  auto* mode = c->args.empty() ? nullptr : c->args.back()->as<StringImm>();
  return std::string(c->dtype.bits == 64 ? f64 : f32) + std::string(mode ? mode->value : "rn");
}

std::vector<std::string_view> function_names() {
  std::vector<std::string_view> names;
  for (const Name& half : kHalf) names.push_back(half.name);
  for (const Builtin& b : kBuiltins) names.push_back(b.name);
  return names;
}

}  // namespace kiln::intrinsics
