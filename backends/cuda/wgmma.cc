// wgmma.mma_async: the matrix instruction of four warps, on sm_90a.
#include "backends/cuda/generated.h"

namespace kiln::cuda {

using namespace ir;
using namespace intrinsics;

namespace {

struct WgmmaForm {
  std::string_view operand;
  int k;  // twice as much when a is sparse
  std::string_view accumulators;
  bool transposes;  // operands in shared memory may be in either order
  bool negates;     // takes the signs of a and b
};
// PTX ISA, "Asynchronous multiply-and-accumulate instruction: wgmma.mma_async".
constexpr WgmmaForm kForms[] = {
    {"f16", 16, "f16 f32", true, true},   {"bf16", 16, "f32", true, true},      {"tf32", 8, "f32", false, true},
    {"e4m3", 32, "f16 f32", false, true}, {"e5m2", 32, "f16 f32", false, true}, {"s8", 32, "s32", false, false},
    {"u8", 32, "s32", false, false},      {"b1", 256, "s32", false, false},
};

const WgmmaForm* form_of(const std::string& type) {
  for (const WgmmaForm& f : kForms) {
    if (f.operand == type) return &f;
  }
  return nullptr;
}

struct Request {
  bool ss, sparse;
  std::string shape, a, b, d, what;
  int64_t order_a, order_b;          // 1: K innermost
  int64_t sign_a, sign_b, selector;  // 1, or 0 or -1 for a negated operand; of the threads that bring metadata

  std::string name() const {
    std::string name =
        std::string("wgmma_") + (sparse ? "sp_" : "") + shape + "_" + a + (a == b ? "" : "_" + b) + "_" + d + (ss ? "" : "_rs");
    if (sparse) name += "_" + std::to_string(selector);
    if (!order_a) name += "_ta";
    if (!order_b) name += "_tb";
    if (sign_a < 1) name += "_na";
    if (sign_b < 1) name += "_nb";
    return name;
  }
};

Request request_of(const Call* c) {
  // ss: shape, a and b with K innermost, formats of a, b and the accumulator, (a, offset), sparse: (metadata, offset), selector; (b,
  // offset), (accumulator, offset), scale of the accumulator, signs of a and b. rs: the same without the order of a, which is in registers.
  Request r;
  r.ss = c->op == Op::tl_ptx_wgmma_ss || c->op == Op::tl_ptx_wgmma_sp_ss;
  r.sparse = c->op == Op::tl_ptx_wgmma_sp_ss || c->op == Op::tl_ptx_wgmma_sp_rs;
  size_t first = r.ss ? 3 : 2, signs = first + (r.sparse ? 13 : 10);
  if (c->args.size() != signs + 2) return r;
  r.shape = text_arg(c, 0);
  r.a = ptx_type(text_arg(c, first)), r.b = ptx_type(text_arg(c, first + 1)), r.d = ptx_type(text_arg(c, first + 2));
  if (r.a == "f32" && r.b == "f32") r.a = r.b = "tf32";
  r.what = std::string(r.sparse ? "wgmma.sp " : "wgmma ") + r.shape + " of " + std::string(text_arg(c, first)) + " and " +
           std::string(text_arg(c, first + 1)) + " to " + std::string(text_arg(c, first + 2));
  auto sign = [&](size_t i) { return c->args[i]->as<IntImm>() ? std::min<int64_t>(c->args[i]->as<IntImm>()->value, 1) : -2; };
  r.order_a = r.ss ? int_arg(c, 1) : 1, r.order_b = int_arg(c, first - 1);
  r.sign_a = sign(signs), r.sign_b = sign(signs + 1);
  r.selector = r.sparse ? int_arg(c, first + 7) : 0;
  return r;
}

bool exists(const Request& r) {
  const WgmmaForm *fa = form_of(r.a), *fb = form_of(r.b);
  int n = extent(r.shape, 'n'), k = extent(r.shape, 'k') / (r.sparse ? 2 : 1);
  bool n_fits = n >= 8 && n <= 256 && n % (r.d == "s32" && n > 32 ? 16 : 8) == 0;
  return fa && fb && fa->k == k && fb->k == k && fa->transposes == fb->transposes && fa->negates == fb->negates &&
         (r.a == r.b || ptx_bits(r.a) == 8) && extent(r.shape, 'm') == 64 && n_fits && !r.d.empty() &&
         fa->accumulators.find(r.d) != std::string_view::npos && !(r.sparse && r.a == "b1") &&
         r.shape == "m64n" + std::to_string(n) + "k" + std::to_string(k * (r.sparse ? 2 : 1));
}

std::string text_of(const Request& r, const std::string& name) {
  const WgmmaForm* f = form_of(r.a);
  int n = extent(r.shape, 'n'), nd = r.d == "f16" ? n / 4 : n / 2;
  std::string scalar = r.d == "f32" ? "float" : r.d == "s32" ? "int" : "unsigned";
  int next = nd + (r.ss ? 1 : 4);
  std::string left = r.ss ? "%" + std::to_string(nd) : registers(nd, 4), flags, metadata;
  if (r.sparse) metadata = ", %" + std::to_string(next + 2) + ", " + std::to_string(r.selector);
  if (f->negates) flags += std::string(r.sign_a < 1 ? ", -1" : ", 1") + (r.sign_b < 1 ? ", -1" : ", 1");
  if (f->transposes && r.ss) flags += r.order_a ? ", 0" : ", 1";
  if (f->transposes) flags += r.order_b ? ", 0" : ", 1";
  std::string text = "// d = a * b + (keep ? d : 0), begun by a warpgroup; ";
  text += r.ss ? "a and b are descriptors of shared memory.\n" : "a is in registers, b a descriptor of shared memory.\n";
  text += "__device__ __forceinline__ void " + name + "(void* sum, " + (r.ss ? "unsigned long long a" : "const void* left") +
          ", unsigned long long b, int keep" + (r.sparse ? ", const void* metadata" : "") + ") {\n  " + scalar + "* d = (" + scalar +
          "*)sum;\n";
  if (!r.ss) text += "  const unsigned* a = (const unsigned*)left;\n";
  text += "  asm volatile(\n      \"{\\n\"\n      \".reg .pred keep;\\n\"\n      \"setp.ne.b32 keep, %" + std::to_string(next + 1) +
          ", 0;\\n\"\n      \"wgmma.mma_async" + (r.sparse ? ".sp" : "") + ".sync.aligned." + r.shape + "." + r.d + "." + r.a + "." + r.b +
          (r.a == "b1" ? ".and.popc" : "") + " \"\n      \"" + registers(0, nd) + ", \"\n      \"" + left + ", %" + std::to_string(next) +
          metadata + ", keep" + flags + ";\\n\"\n      \"}\"\n";
  text += "      : " + operands(r.d == "f32" ? "+f" : "+r", "d", nd) + "\n      : " + (r.ss ? "\"l\"(a)" : operands("r", "a", 4)) +
          ", \"l\"(b), \"r\"(keep)" + (r.sparse ? ", \"r\"(*(const unsigned*)metadata)" : "") + ");\n}\n";
  return text;
}

}  // namespace

Result<Generated> generate_wgmma(const Arch& arch, const Call* c) {
  Request r = request_of(c);
  if (r.shape.empty()) return unsupported(arch, "'" + std::string(c->name) + "' has " + std::to_string(c->args.size()) + " arguments");
  if (!arch.has_wgmma()) return unsupported(arch, "there is no " + r.what, "it needs sm_90a");
  if (!exists(r)) return unsupported(arch, "there is no " + r.what);
  if (r.order_a < 0 || r.order_b < 0 || r.sign_a < -1 || r.sign_b < -1)
    return unsupported(arch, r.what + " with operands that are not constant");
  const WgmmaForm* f = form_of(r.a);
  if (!f->transposes && (!r.order_a || !r.order_b))
    return unsupported(arch, "there is no " + r.what + " of operands whose K is not innermost");
  if (!f->negates && (r.sign_a != 1 || r.sign_b != 1)) return unsupported(arch, "there is no " + r.what + " of negated operands");
  // Metadata of 8-bit operands takes all threads, of others a pair of them.
  if (r.sparse && (r.selector < 0 || r.selector > (ptx_bits(r.a) == 8 ? 0 : 1)))
    return unsupported(arch, "there is no " + r.what + " with sparsity selector " + std::to_string(r.selector));
  std::string name = r.name();
  return Generated{name, text_of(r, name)};
}

}  // namespace kiln::cuda
