// wgmma.mma_async: the matrix instruction of four warps, on sm_90a.
#include "backends/cuda/generated.h"

namespace kiln::cuda {

using namespace ir;

namespace {

struct WgmmaForm {
  std::string_view operand;
  int k;
  std::string_view accumulators;
  bool transposes;  // operands in shared memory may be in either order
  bool negates;     // takes the signs of a and b
};
// PTX ISA, "Asynchronous multiply-and-accumulate instruction: wgmma.mma_async".
constexpr WgmmaForm kForms[] = {
    {"f16", 16, "f16 f32", true, true},   {"bf16", 16, "f32", true, true},      {"tf32", 8, "f32", false, true},
    {"e4m3", 32, "f16 f32", false, true}, {"e5m2", 32, "f16 f32", false, true}, {"s8", 32, "s32", false, false},
    {"u8", 32, "s32", false, false},
};

const WgmmaForm* form_of(const std::string& type) {
  for (const WgmmaForm& f : kForms) {
    if (f.operand == type) return &f;
  }
  return nullptr;
}

}  // namespace

Result<Generated> generate_wgmma(const Arch& arch, const Call* c) {
  // ss: shape, a and b with K innermost, dtypes of a, b and the accumulator, (a, offset), (b, offset), (accumulator, offset), scale of the
  // accumulator, signs of a and b. rs: the same without the order of a, which is in registers.
  bool ss = c->op == Op::tl_ptx_wgmma_ss;
  size_t first = ss ? 3 : 2;
  if (c->args.size() != first + 12)
    return unsupported(arch, "'" + std::string(c->name) + "' has " + std::to_string(c->args.size()) + " arguments");
  std::string shape(text_arg(c, 0)), a = ptx_type(text_arg(c, first)), b = ptx_type(text_arg(c, first + 1)),
                                     d = ptx_type(text_arg(c, first + 2));
  std::string what = "wgmma " + shape + " of " + std::string(text_arg(c, first)) + " and " + std::string(text_arg(c, first + 1)) + " to " +
                     std::string(text_arg(c, first + 2));
  if (!arch.has_wgmma()) return unsupported(arch, "there is no " + what, "it needs sm_90a");
  const WgmmaForm *fa = form_of(a), *fb = form_of(b);
  int n = extent(shape, 'n'), k = extent(shape, 'k');
  bool n_fits = n >= 8 && n <= 256 && n % (d == "s32" && n > 32 ? 16 : 8) == 0;
  bool fits = fa && fb && ptx_bits(a) == ptx_bits(b) && fa->k == k && fb->k == k && fa->transposes == fb->transposes &&
              fa->negates == fb->negates && (a == b || ptx_bits(a) == 8) && extent(shape, 'm') == 64 && n_fits &&
              fa->accumulators.find(d) != std::string_view::npos && !d.empty();
  if (!fits) return unsupported(arch, "there is no " + what);
  int64_t order_a = ss ? int_arg(c, 1) : 1, order_b = int_arg(c, first - 1), sign_a = int_arg(c, first + 10),
          sign_b = int_arg(c, first + 11);
  auto signed_one = [&](size_t i) { return c->args[i]->as<IntImm>() && (int_arg(c, i) == 1 || int_arg(c, i) == -1); };
  if (order_a < 0 || order_b < 0 || !signed_one(first + 10) || !signed_one(first + 11))
    return unsupported(arch, what + " with operands that are not constant");
  if (!fa->transposes && (!order_a || !order_b)) return unsupported(arch, "there is no " + what + " of operands whose K is not innermost");
  if (!fa->negates && (sign_a != 1 || sign_b != 1)) return unsupported(arch, "there is no " + what + " of negated operands");
  int nd = d == "f16" ? n / 4 : n / 2;
  std::string scalar = d == "f32" ? "float" : d == "s32" ? "int" : "unsigned";
  std::string name = "wgmma_" + shape + "_" + a + (a == b ? "" : "_" + b) + "_" + d + (ss ? "" : "_rs");
  if (!order_a) name += "_ta";
  if (!order_b) name += "_tb";
  if (sign_a < 0) name += "_na";
  if (sign_b < 0) name += "_nb";
  std::string left = ss ? "%" + std::to_string(nd) : registers(nd, 4);
  int next = nd + (ss ? 1 : 4);
  std::string flags;
  if (fa->negates) flags += ", " + std::to_string(sign_a) + ", " + std::to_string(sign_b);
  if (fa->transposes && ss) flags += order_a ? ", 0" : ", 1";
  if (fa->transposes) flags += order_b ? ", 0" : ", 1";
  std::string text = "// d = a * b + (keep ? d : 0), begun by a warpgroup; ";
  text += ss ? "a and b are descriptors of shared memory.\n" : "a is in registers, b a descriptor of shared memory.\n";
  text += "__device__ __forceinline__ void " + name + "(void* sum, " + (ss ? "unsigned long long a" : "const void* left") +
          ", unsigned long long b, int keep) {\n  " + scalar + "* d = (" + scalar + "*)sum;\n";
  if (!ss) text += "  const unsigned* a = (const unsigned*)left;\n";
  text += "  asm volatile(\n      \"{\\n\"\n      \".reg .pred keep;\\n\"\n      \"setp.ne.b32 keep, %" + std::to_string(next + 1) +
          ", 0;\\n\"\n      \"wgmma.mma_async.sync.aligned." + shape + "." + d + "." + a + "." + b + " \"\n      \"" + registers(0, nd) +
          ", \"\n      \"" + left + ", %" + std::to_string(next) + ", keep" + flags + ";\\n\"\n      \"}\"\n";
  text += "      : " + operands(d == "f32" ? "+f" : "+r", "d", nd) + "\n      : " + (ss ? "\"l\"(a)" : operands("r", "a", 4)) +
          ", \"l\"(b), \"r\"(keep));\n}\n";
  return Generated{name, text};
}

}  // namespace kiln::cuda
