#include "host_c/intrinsics.h"

#include "host_c_device.h"

namespace kiln::host_c {

namespace {

Helper small_float(std::string_view stem, std::string_view text, std::vector<std::string_view> needs, std::vector<std::string_view> names) {
  return {stem, text, std::move(names), std::move(needs), {"math.h", "string.h"}};
}

Helper float8(std::string_view stem, std::string_view text) {
  // The names are views of strings that live as long as the table.
  static emit::Names kept;
  std::string type(stem);
  auto keep = [&](const std::string& name) -> std::string_view { return *kept.insert(name).first; };
  return small_float(stem, text, {"bits", "round_float", "f8"},
                     {stem, keep(type + "_to_f32"), keep("f32_to_" + type), keep("f64_to_" + type)});
}

}  // namespace

std::string spelling(const MathFunction& f, ir::DataType t) {
  bool helper = f.name == "exp10" || f.name == "rsqrt";  // not in C
  return helper ? std::string(f.name) + (t.bits == 64 ? "_f64" : "_f32") : emit::common_spelling(f, t);
}

const std::vector<Helper>& helpers() {
  static const std::vector<Helper> all = {
      {"bits", device::bits, {"f32_to_bits", "bits_to_f32", "f64_to_bits", "bits_to_f64"}, {}, {"string.h"}},
      {"round_float", device::round_float, {"round_float"}, {"bits"}, {"math.h"}},
      small_float("f16", device::f16, {"bits", "round_float"}, {"f16", "f16_to_f32", "f32_to_f16", "f64_to_f16"}),
      small_float("bf16", device::bf16, {"bits", "round_float"}, {"bf16", "bf16_to_f32", "f32_to_bf16", "f64_to_bf16"}),
      {"f8", device::f8, {"decode_f8", "encode_f8"}, {"bits", "round_float"}, {"math.h"}},
      float8("f8_e3m4", device::f8_e3m4),
      float8("f8_e4m3", device::f8_e4m3),
      float8("f8_e4m3b11fnuz", device::f8_e4m3b11fnuz),
      float8("f8_e4m3fn", device::f8_e4m3fn),
      float8("f8_e4m3fnuz", device::f8_e4m3fnuz),
      float8("f8_e5m2", device::f8_e5m2),
      float8("f8_e5m2fnuz", device::f8_e5m2fnuz),
      float8("f8_e8m0fnu", device::f8_e8m0fnu),
      {"int_to_f64", device::int_to_f64, {"u64_to_f64", "i64_to_f64"}, {}, {}},
      {"floor_div", device::floor_div, {"floor_div_i32", "floor_mod_i32", "floor_div_i64", "floor_mod_i64"}, {}, {}},
      {"minmax_int", device::minmax_int, {"min_i32", "max_i32", "min_i64", "max_i64", "min_u32", "max_u32", "min_u64", "max_u64"}, {}, {}},
      {"minmax_float", device::minmax_float, {"min_f32", "max_f32", "min_f64", "max_f64"}, {}, {}},
      {"minmax_nan", device::minmax_nan, {"min_nan_f32", "max_nan_f32", "min_nan_f64", "max_nan_f64"}, {}, {}},
      {"math",
       device::math,
       {"rsqrt_f32", "rsqrt_f64", "sigmoid_f32", "sigmoid_f64", "exp10_f32", "exp10_f64", "rcp_f32", "rcp_f64"},
       {},
       {"math.h"}},
      {"count_bits", device::count_bits, {"popcount_32", "popcount_64", "clz_32", "clz_64"}, {}, {}},
      {"abs_int", device::abs_int, {"abs_i32", "abs_i64"}, {}, {}},
      {"fail", device::fail, {"fail", "kiln_last_error", "last_error"}, {}, {"stdio.h"}},
      {"scratch", device::scratch, {"new_scratch", "free_scratch"}, {}, {"stdlib.h"}},
      {"workspace", device::workspace, {"new_workspace", "free_workspace"}, {}, {"stdlib.h"}},
      {"dltensor", device::dltensor, {"DLTensor", "TVMFFIAny", "DLDevice", "DLDataType"}, {}, {}},
      {"debug_print", device::debug_print, {"debug_print_i64", "debug_print_f64"}, {}, {"stdio.h"}},
  };
  return all;
}

std::string small_float_name(ir::DataType t) {
  if (t.element() == ir::kFloat16) return "f16";
  if (t.element() == ir::kBFloat16) return "bf16";
  std::string name = ir::to_string(t.element());  // "float8_e4m3fn"
  return "f8" + name.substr(name.find('_'));
}

std::string type_name(ir::DataType t) {
  if (t.is_void()) return "void";
  if (t.is_handle()) return "void*";
  if (t.is_bool()) return "bool";
  if (t.is_int()) return "int" + std::to_string(t.bits) + "_t";
  if (t.is_uint()) return "uint" + std::to_string(t.bits) + "_t";
  if (t.code == ir::TypeCode::kFloat && t.bits == 32) return "float";
  if (t.code == ir::TypeCode::kFloat && t.bits == 64) return "double";
  return small_float_name(t);
}

bool has_type(ir::DataType t) {
  if (t.is_integer()) return t.bits == 8 || t.bits == 16 || t.bits == 32 || t.bits == 64;
  if (t.is_floating()) return t.bits >= 8 && t.bits <= 64;
  return t.is_bool() || t.code == ir::TypeCode::kHandle;
}

const emit::Names& reserved_names() {
  static const emit::Names all = [] {
    emit::Names names;
    std::string_view words =
        // C11
        "auto break case char const continue default do double else enum extern float for goto if inline int long register restrict return "
        "short signed sizeof static struct switch typedef union unsigned void volatile while asm typeof fortran "
        // C++20
        "alignas alignof and and_eq bitand bitor bool catch char8_t char16_t char32_t class compl concept consteval constexpr constinit "
        "const_cast co_await co_return co_yield decltype delete dynamic_cast explicit export false friend mutable namespace new noexcept "
        "not "
        "not_eq nullptr operator or or_eq private protected public reinterpret_cast requires static_assert static_cast template this "
        "thread_local throw true try typeid typename using virtual wchar_t xor xor_eq "
        // macros and types of the headers, and of compilers in GNU mode
        "NULL INFINITY NAN HUGE_VAL HUGE_VALF HUGE_VALL MATH_ERRNO MATH_ERREXCEPT EOF BUFSIZ RAND_MAX EXIT_SUCCESS EXIT_FAILURE WNOHANG "
        "HUGE MAXFLOAT SNAN SNANF SNANL FP_NAN FP_INFINITE FP_ZERO FP_SUBNORMAL FP_NORMAL FP_ILOGB0 FP_ILOGBNAN FP_INT_UPWARD "
        "FP_INT_DOWNWARD "
        "FP_INT_TOWARDZERO FP_INT_TONEARESTFROMZERO FP_INT_TONEAREST DOMAIN OVERFLOW UNDERFLOW SING PLOSS TLOSS SEEK_SET SEEK_CUR SEEK_END "
        "SEEK_DATA SEEK_HOLE L_tmpnam L_ctermid L_cuserid P_tmpdir TMP_MAX FILENAME_MAX FOPEN_MAX MB_CUR_MAX LITTLE_ENDIAN BIG_ENDIAN "
        "PDP_ENDIAN BYTE_ORDER FD_SETSIZE NFDBITS WUNTRACED WSTOPPED WEXITED WCONTINUED WNOWAIT WEXITSTATUS WTERMSIG WSTOPSIG WIFEXITED "
        "WIFSIGNALED WIFSTOPPED WIFCONTINUED WCOREDUMP RENAME_NOREPLACE RENAME_EXCHANGE "
        "RENAME_WHITEOUT "
        "linux unix i386 errno stdin stdout stderr math_errhandling signgam isnan isinf isfinite isnormal signbit fpclassify isgreater "
        "isless isunordered isgreaterequal islessequal islessgreater issignaling iseqsig iszero issubnormal iscanonical "
        "size_t ssize_t ptrdiff_t intptr_t uintptr_t intmax_t uintmax_t wint_t off_t pid_t uint ushort ulong div_t ldiv_t lldiv_t FILE "
        "int_fast8_t int_fast16_t int_fast32_t int_fast64_t uint_fast8_t uint_fast16_t uint_fast32_t uint_fast64_t int_least8_t "
        "int_least16_t "
        "int_least32_t int_least64_t uint_least8_t uint_least16_t uint_least32_t uint_least64_t "
        "float_t double_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t fpos_t va_list locale_t "
        // functions of the headers, which a kernel may not redefine
        "main abs labs llabs div ldiv lldiv rand srand random srandom malloc calloc realloc free aligned_alloc abort exit atexit getenv "
        "system atoi atol atof strtol qsort bsearch memcpy memmove memset memcmp memchr strcpy strcat strlen strcmp strchr index rindex "
        "bcopy bzero printf fprintf sprintf snprintf scanf puts gets putchar getchar remove rename read write open close link time clock "
        "y0 y1 yn j0 j1 jn gamma drem significand scalb scalbn scalbln logb ilogb frexp modf lround llround lrint llrint remquo nan select "
        "finite isinff isnanf finitef exp10 pow10 sincos roundeven fmaximum fminimum omp ffs stpcpy basename mkstemp "
        "kiln_last_error";
    for (size_t at = 0; at < words.size();) {
      size_t end = words.find(' ', at);
      if (end == std::string_view::npos) end = words.size();
      if (end > at) names.emplace(words.substr(at, end - at));
      at = end + 1;
    }
    // limits of the integer types, and <math.h>'s constants
    for (const char* stem : {"INT", "UINT", "INT_LEAST", "UINT_LEAST", "INT_FAST", "UINT_FAST"}) {
      for (const char* bits : {"8", "16", "32", "64", "PTR", "MAX"}) {
        for (const char* end : {"_MAX", "_MIN", "_WIDTH", "_C"}) names.insert(std::string(stem) + bits + end);
      }
    }
    for (const char* stem : {"PTRDIFF", "SIZE", "SIG_ATOMIC", "WCHAR", "WINT"}) {
      for (const char* end : {"_MAX", "_MIN", "_WIDTH"}) names.insert(std::string(stem) + end);
    }
    for (const char* constant :
         {"E", "LOG2E", "LOG10E", "LN2", "LN10", "PI", "PI_2", "PI_4", "1_PI", "2_PI", "2_SQRTPI", "SQRT2", "SQRT1_2"}) {
      for (const char* end : {"", "l"}) names.insert(std::string("M_") + constant + end);
    }
    for (const MathFunction& f : emit::math_functions()) {
      for (const char* suffix : {"", "f", "l"}) names.insert(std::string(f.name) + suffix);
    }
    for (const Helper& h : helpers()) names.insert(h.names.begin(), h.names.end());
    return names;
  }();
  return all;
}

}  // namespace kiln::host_c
