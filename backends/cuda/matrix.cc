// mma.sync, ldmatrix and stmatrix: the matrix instructions of one warp.
#include "backends/cuda/generated.h"
#include "intrinsics/matrix_calls.h"

namespace kiln::cuda {
namespace {

using namespace ir;
using namespace intrinsics;

// Forms of mma.sync, by PTX ISA, "Matrix multiply-accumulate operation using mma instruction".
struct MmaForm {
  std::string_view shape, operands, accumulators;  // any two of the operands' formats go together
  int first_sm;
};
constexpr MmaForm kMma[] = {
    {"m8n8k4", "f16", "f16 f32", 75},
    {"m16n8k8", "f16", "f16 f32", 75},
    {"m16n8k16", "f16", "f16 f32", 80},
    {"m16n8k8", "bf16", "f32", 80},
    {"m16n8k16", "bf16", "f32", 80},
    {"m16n8k4", "tf32", "f32", 80},
    {"m16n8k8", "tf32", "f32", 80},
    {"m8n8k16", "s8 u8", "s32", 75},
    {"m16n8k16", "s8 u8", "s32", 80},
    {"m16n8k32", "s8 u8", "s32", 80},
    {"m8n8k32", "s4 u4", "s32", 75},
    {"m16n8k32", "s4 u4", "s32", 80},
    {"m16n8k64", "s4 u4", "s32", 80},
    {"m16n8k16", "e4m3 e5m2", "f16 f32", 89},
    {"m16n8k32", "e4m3 e5m2", "f16 f32", 89},
    {"m8n8k4", "f64", "f64", 80},
    {"m16n8k4", "f64", "f64", 90},
    {"m16n8k8", "f64", "f64", 90},
    {"m16n8k16", "f64", "f64", 90},
    {"m8n8k128", "b1", "s32", 75},
    {"m16n8k128", "b1", "s32", 80},
    {"m16n8k256", "b1", "s32", 80},
};
// kind::f8f6f4, of which each element takes a byte.
constexpr MmaForm kNarrowMma = {"m16n8k32", "e4m3 e5m2 e2m3 e3m2 e2m1", "f16 f32", 120};

// Forms of mma.sp::ordered_metadata: a holds half of its elements.
struct SparseForm {
  std::string_view shape, operands, accumulators;
  int first_sm, selectors;
};
constexpr SparseForm kSparseMma[] = {
    {"m16n8k16", "f16", "f16 f32", 80, 4}, {"m16n8k32", "f16", "f16 f32", 80, 2},   {"m16n8k16", "bf16", "f32", 80, 4},
    {"m16n8k32", "bf16", "f32", 80, 2},    {"m16n8k8", "tf32", "f32", 80, 4},       {"m16n8k16", "tf32", "f32", 80, 2},
    {"m16n8k32", "s8 u8", "s32", 80, 2},   {"m16n8k64", "s8 u8", "s32", 80, 1},     {"m16n8k64", "s4 u4", "s32", 80, 2},
    {"m16n8k128", "s4 u4", "s32", 80, 1},  {"m16n8k64", "e4m3 e5m2", "f32", 89, 1},
};

// Forms of mma with block scales, on sm_120a.
struct ScaledForm {
  std::string_view kind;
  int64_t scales;
  std::string_view shape, operands, scale;
};
constexpr ScaledForm kScaledMma[] = {
    {"mxf8f6f4", 1, "m16n8k32", "e4m3 e5m2 e2m3 e3m2 e2m1", "ue8m0"},
    {"mxf4", 2, "m16n8k64", "e2m1", "ue8m0"},
    {"mxf4nvf4", 2, "m16n8k64", "e2m1", "ue8m0"},
    {"mxf4nvf4", 4, "m16n8k64", "e2m1", "ue4m3"},
};

bool has_word(std::string_view words, std::string_view w) {
  for (size_t at = 0; !w.empty() && at <= words.size();) {
    size_t end = std::min(words.find(' ', at), words.size());
    if (words.substr(at, end - at) == w) return true;
    at = end + 1;
  }
  return false;
}
template <class Form>
bool is(const Form& f, const MmaCall& m) {
  return f.shape == m.shape && has_word(f.operands, m.type_a) && has_word(f.operands, m.type_b) && has_word(f.accumulators, m.type_d);
}
// "m16n8k16_f16_f32" or "m16n8k32_e4m3_e5m2_f32"
std::string form_name(const MmaCall& m) { return m.shape + "_" + m.type_a + (m.type_a == m.type_b ? "" : "_" + m.type_b) + "_" + m.type_d; }

// One instruction d += a * b and what it takes beside the three.
struct Product {
  std::string name, opcode, accumulator;
  bool f64 = false;
  int na, nb, nd;                    // registers
  std::string params, tail, inputs;  // ", const void* metadata", ", %12, 0", `, "r"(*e)`
};
// The number of the first register after d, a and b.
int next_register(const Product& p) { return p.nd + p.na + p.nb; }

Product product_of(const MmaCall& m) {
  Product p;
  p.accumulator = m.type_d, p.opcode = m.mnemonic(), p.f64 = m.type_d == "f64";
  int rows = extent(m.shape, 'm'), columns = extent(m.shape, 'n'), k = extent(m.shape, 'k');
  int lanes_and_word = 32 * (p.f64 ? 64 : 32);
  p.na = rows * k * ptx_bits(m.type_a) / lanes_and_word;
  p.nb = columns * k * ptx_bits(m.type_a) / lanes_and_word;
  p.nd = rows * columns * ptx_bits(m.type_d) / lanes_and_word;
  return p;
}

std::string text_of(const Product& p) {
  const std::string& d = p.accumulator;
  std::string scalar = d == "f64" ? "double" : d == "f32" ? "float" : d == "s32" ? "int" : "unsigned";
  std::string kept = d == "f64" ? "+d" : d == "f32" ? "+f" : "+r", read = p.f64 ? "d" : "r", word = p.f64 ? "double" : "unsigned";
  std::string text = "// d += a * b, by a warp.\n__device__ __forceinline__ void " + p.name +
                     "(void* sum, const void* left, const void* right" + p.params + ") {\n";
  text += "  " + scalar + "* d = (" + scalar + "*)sum;\n";
  text += "  const " + word + "* a = (const " + word + "*)left;\n  const " + word + "* b = (const " + word + "*)right;\n";
  text += "  asm volatile(\n      \"" + p.opcode + " " + registers(0, p.nd) + ", " + registers(p.nd, p.na) + ", " +
          registers(p.nd + p.na, p.nb) + ", " + registers(0, p.nd) + p.tail + ";\"\n";
  text += "      : " + operands(kept, "d", p.nd) + "\n      : " + operands(read, "a", p.na) + ", " + operands(read, "b", p.nb) + p.inputs +
          ");\n}\n";
  return text;
}

Error needs(const Arch& arch, const std::string& what, int sm) {
  return unsupported(arch, "there is no " + what, sm >= 120 ? arch.needs_specific(sm) : "it needs sm_" + std::to_string(sm) + " or newer");
}

Result<Generated> mma(const Arch& arch, const MmaCall& m, bool volta) {
  std::string what = "mma.sync " + m.what;
  const MmaForm* found = is(kNarrowMma, m) ? &kNarrowMma : nullptr;
  for (const MmaForm& f : kMma) {
    if (is(f, m)) found = &f;
  }
  bool narrow = found == &kNarrowMma, quad = m.is_quad(), bits = m.type_a == "b1";
  if (!found || (volta && !quad)) return unsupported(arch, "there is no " + what);
  bool any_layout = quad && (m.layout_a == "row" || m.layout_a == "col") && (m.layout_b == "row" || m.layout_b == "col");
  if (!any_layout && (m.layout_a != "row" || m.layout_b != "col")) return unsupported(arch, what + " in layouts other than row and col");
  if (arch.number < found->first_sm || (narrow && !arch.suffix)) return needs(arch, what, found->first_sm);
  if (bits && m.bit_operator != "xor" && m.bit_operator != "and")
    return unsupported(arch, "there is no " + what + " by '" + m.bit_operator + "'");
  if (bits && m.bit_operator == "and" && arch.number < 80) return needs(arch, what + " by 'and'", 80);
  Product p = product_of(m);
  if (quad) p.na = p.nb = 2, p.nd = m.type_d == "f16" ? 4 : 8;
  p.name = "mma_" + form_name(m) + (m.saturate ? "_sat" : "") + (bits ? "_" + m.bit_operator : "") +
           (quad ? "_" + m.layout_a + "_" + m.layout_b : "");
  return Generated{p.name, text_of(p)};
}

Result<Generated> sparse_mma(const Arch& arch, const MmaCall& m) {
  std::string what = "mma.sp " + m.what, selector = std::to_string(m.selector);
  const SparseForm* found = nullptr;
  for (const SparseForm& f : kSparseMma) {
    if (is(f, m)) found = &f;
  }
  if (!found || m.layout_a != "row" || m.layout_b != "col") return unsupported(arch, "there is no " + what);
  if (m.selector < 0 || m.selector >= found->selectors)
    return unsupported(arch, "there is no " + what + " with sparsity selector " + selector);
  if (arch.number < found->first_sm) return needs(arch, what, found->first_sm);
  Product p = product_of(m);
  p.na /= 2;
  p.name = "mma_sp_" + form_name(m) + "_" + selector + (m.saturate ? "_sat" : "");
  p.params = ", const void* metadata";
  p.tail = ", %" + std::to_string(next_register(p)) + ", " + selector;
  p.inputs = ", \"r\"(*(const unsigned*)metadata)";
  return Generated{p.name, text_of(p)};
}

Result<Generated> scaled_mma(const Arch& arch, const MmaCall& m) {
  std::string what = "mma.sync " + m.what;
  const ScaledForm* found = nullptr;
  for (const ScaledForm& f : kScaledMma) {
    bool formats = has_word(f.operands, m.type_a) && has_word(f.operands, m.type_b) && f.scale == m.type_scale;
    if (f.kind == m.kind && f.scales == m.scales && f.shape == m.shape && formats) found = &f;
  }
  if (!found || m.type_d != "f32" || m.layout_a != "row" || m.layout_b != "col") return unsupported(arch, "there is no " + what);
  if (arch.number < 120 || !arch.suffix) return needs(arch, what, 120);
  Product p = product_of(m);
  p.na = 4, p.nb = 2;
  p.name = "mma_" + m.shape + "_" + m.kind + "_" + m.type_a + (m.type_a == m.type_b ? "" : "_" + m.type_b) + "_" +
           std::to_string(m.scales) + "X_" + m.type_scale;
  p.params = ", const void* scale_a, const void* scale_b, int byte_a, int thread_a, int byte_b, int thread_b";
  int i = next_register(p);
  p.tail = ", " + registers(i, 1) + ", " + registers(i + 1, 2) + ", " + registers(i + 3, 1) + ", " + registers(i + 4, 2);
  p.inputs =
      ",\n        \"r\"(*(const unsigned*)scale_a), \"h\"((short)byte_a), \"h\"((short)thread_a), \"r\"(*(const unsigned*)scale_b), "
      "\"h\"((short)byte_b), \"h\"((short)thread_b)";
  return Generated{p.name, text_of(p)};
}

Result<Generated> product(const Arch& arch, const Call* c) {
  std::optional<MmaCall> m = mma_call(c);
  if (!m) return unsupported(arch, "'" + std::string(c->name) + "' has no shape, or " + std::to_string(c->args.size()) + " arguments");
  if (m->is_scaled()) return scaled_mma(arch, *m);
  return m->is_sparse() ? sparse_mma(arch, *m) : mma(arch, *m, c->op == Op::tl_ptx_mma_sm70);
}

Result<Generated> ldmatrix(const Arch& arch, const Call* c) {
  std::optional<MatrixMoveCall> m = matrix_move_call(c);
  if (!m) return unsupported(arch, "there is no such ldmatrix");
  std::string n = std::to_string(m->count), name = "ldmatrix_x" + n + (m->transposed ? "_trans" : "");
  std::string text = "// Loads " + n + " matrices of 8x8 16-bit elements: each lane gives the address of a row.\n";
  text += "__device__ __forceinline__ void " + name + "(void* to, unsigned row) {\n  unsigned* r = (unsigned*)to;\n";
  text += "  asm volatile(\"" + m->mnemonic() + " " + registers(0, m->count) + ", [%" + n +
          "];\"\n               : " + operands("=r", "r", m->count) + "\n               : \"r\"(row)\n               : \"memory\");\n}\n";
  return Generated{name, text};
}

Result<Generated> stmatrix(const Arch& arch, const Call* c) {
  std::optional<MatrixMoveCall> m = matrix_move_call(c);
  if (!m) return unsupported(arch, "there is no such stmatrix");
  if (arch.number < 90) return unsupported(arch, "there is no stmatrix", "it needs sm_90 or newer");
  if (m->bytes && (arch.number < 100 || !arch.suffix))
    return unsupported(arch, "there is no stmatrix of 8-bit elements", arch.needs_specific(100));
  std::string n = std::to_string(m->count), params, inputs;
  std::string name = "stmatrix_" + std::string(m->bytes ? "b8_" : "") + "x" + n + (m->transposed ? "_trans" : "");
  for (int i = 0; i < m->count; ++i) {
    params += ", int r" + std::to_string(i);
    inputs += ", \"r\"(r" + std::to_string(i) + ")";
  }
  std::string text =
      "// Stores " + n + " matrices of " + (m->bytes ? "16x8 8-bit" : "8x8 16-bit") + " elements: each lane gives the address of a row.\n";
  text += "__device__ __forceinline__ void " + name + "(unsigned row" + params + ") {\n";
  text += "  asm volatile(\"" + m->mnemonic() + " [%0], " + registers(1, m->count) + ";\" ::\"r\"(row)" + inputs + " : \"memory\");\n}\n";
  return Generated{name, text};
}

}  // namespace

Result<Generated> generate_matrix(const Arch& arch, const Call* c) {
  switch (c->op) {
    case Op::tl_ptx_stmatrix: return stmatrix(arch, c);
    case Op::tl_ptx_ldmatrix:
    case Op::tirx_ptx_ldmatrix: return ldmatrix(arch, c);
    default: return product(arch, c);
  }
}

}  // namespace kiln::cuda
