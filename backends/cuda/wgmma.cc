// wgmma.mma_async: the matrix instruction of four warps, on sm_90a.
#include "backends/cuda/generated.h"
#include "intrinsics/matrix_calls.h"

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

std::string name_of(const WgmmaCall& w) {
  std::string name = std::string("wgmma_") + (w.is_sparse ? "sp_" : "") + w.shape + "_" + w.type_a +
                     (w.type_a == w.type_b ? "" : "_" + w.type_b) + "_" + w.type_d + (w.ss ? "" : "_rs");
  if (w.is_sparse) name += "_" + std::to_string(w.selector);
  if (!w.order_a) name += "_ta";
  if (!w.order_b) name += "_tb";
  if (w.sign_a < 1) name += "_na";
  if (w.sign_b < 1) name += "_nb";
  return name;
}

bool exists(const WgmmaCall& w) {
  const WgmmaForm *fa = form_of(w.type_a), *fb = form_of(w.type_b);
  int n = extent(w.shape, 'n'), k = extent(w.shape, 'k') / (w.is_sparse ? 2 : 1);
  bool n_fits = n >= 8 && n <= 256 && n % (w.type_d == "s32" && n > 32 ? 16 : 8) == 0;
  return fa && fb && fa->k == k && fb->k == k && fa->transposes == fb->transposes && fa->negates == fb->negates &&
         (w.type_a == w.type_b || ptx_bits(w.type_a) == 8) && extent(w.shape, 'm') == 64 && n_fits && !w.type_d.empty() &&
         fa->accumulators.find(w.type_d) != std::string_view::npos && !(w.is_sparse && w.type_a == "b1") &&
         w.shape == "m64n" + std::to_string(n) + "k" + std::to_string(k * (w.is_sparse ? 2 : 1));
}

std::string text_of(const WgmmaCall& w, const std::string& name) {
  const WgmmaForm* f = form_of(w.type_a);
  int n = extent(w.shape, 'n'), nd = w.type_d == "f16" ? n / 4 : n / 2;
  std::string scalar = w.type_d == "f32" ? "float" : w.type_d == "s32" ? "int" : "unsigned";
  int next = nd + (w.ss ? 1 : 4);
  std::string left = w.ss ? "%" + std::to_string(nd) : registers(nd, 4), flags, metadata;
  if (w.is_sparse) metadata = ", %" + std::to_string(next + 2) + ", " + std::to_string(w.selector);
  if (f->negates) flags += std::string(w.sign_a < 1 ? ", -1" : ", 1") + (w.sign_b < 1 ? ", -1" : ", 1");
  if (f->transposes && w.ss) flags += w.order_a ? ", 0" : ", 1";
  if (f->transposes) flags += w.order_b ? ", 0" : ", 1";
  std::string text = "// d = a * b + (keep ? d : 0), begun by a warpgroup; ";
  text += w.ss ? "a and b are descriptors of shared memory.\n" : "a is in registers, b a descriptor of shared memory.\n";
  text += "__device__ __forceinline__ void " + name + "(void* sum, " + (w.ss ? "unsigned long long a" : "const void* left") +
          ", unsigned long long b, int keep" + (w.is_sparse ? ", const void* metadata" : "") + ") {\n  " + scalar + "* d = (" + scalar +
          "*)sum;\n";
  if (!w.ss) text += "  const unsigned* a = (const unsigned*)left;\n";
  text += "  asm volatile(\n      \"{\\n\"\n      \".reg .pred keep;\\n\"\n      \"setp.ne.b32 keep, %" + std::to_string(next + 1) +
          ", 0;\\n\"\n      \"" + w.mnemonic() + " \"\n      \"" + registers(0, nd) + ", \"\n      \"" + left + ", %" +
          std::to_string(next) + metadata + ", keep" + flags + ";\\n\"\n      \"}\"\n";
  text += "      : " + operands(w.type_d == "f32" ? "+f" : "+r", "d", nd) + "\n      : " + (w.ss ? "\"l\"(a)" : operands("r", "a", 4)) +
          ", \"l\"(b), \"r\"(keep)" + (w.is_sparse ? ", \"r\"(*(const unsigned*)metadata)" : "") + ");\n}\n";
  return text;
}

}  // namespace

Result<Generated> generate_wgmma(const Arch& arch, const Call* c) {
  std::optional<WgmmaCall> call = wgmma_call(c);
  if (!call) return unsupported(arch, "'" + std::string(c->name) + "' has " + std::to_string(c->args.size()) + " arguments");
  const WgmmaCall& w = *call;
  std::string what = (w.is_sparse ? "wgmma.sp " : "wgmma ") + w.what;
  if (!arch.has_wgmma()) return unsupported(arch, "there is no " + what, "it needs sm_90a");
  if (!exists(w)) return unsupported(arch, "there is no " + what);
  if (w.order_a < 0 || w.order_b < 0 || w.sign_a < -1 || w.sign_b < -1)
    return unsupported(arch, what + " with operands that are not constant");
  const WgmmaForm* f = form_of(w.type_a);
  if (!f->transposes && (!w.order_a || !w.order_b))
    return unsupported(arch, "there is no " + what + " of operands whose K is not innermost");
  if (!f->negates && (w.sign_a != 1 || w.sign_b != 1)) return unsupported(arch, "there is no " + what + " of negated operands");
  // Metadata of 8-bit operands takes all threads, of others a pair of them.
  if (w.is_sparse && (w.selector < 0 || w.selector > (ptx_bits(w.type_a) == 8 ? 0 : 1)))
    return unsupported(arch, "there is no " + what + " with sparsity selector " + std::to_string(w.selector));
  std::string name = name_of(w);
  return Generated{name, text_of(w, name)};
}

}  // namespace kiln::cuda
