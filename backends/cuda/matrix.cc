// mma.sync, ldmatrix and stmatrix: the matrix instructions of one warp.
#include "backends/cuda/generated.h"

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
bool is(const Form& f, std::string_view shape, std::string_view a, std::string_view b, std::string_view d) {
  return f.shape == shape && has_word(f.operands, a) && has_word(f.operands, b) && has_word(f.accumulators, d);
}

// One instruction d += a * b and what it takes beside the three.
struct Product {
  std::string name, opcode, accumulator;
  bool f64 = false;
  int na, nb, nd;                    // registers
  std::string params, tail, inputs;  // ", const void* metadata", ", %12, 0", `, "r"(*e)`
};
// The number of the first register after d, a and b.
int next_register(const Product& p) { return p.nd + p.na + p.nb; }

std::string text_of(const Product& p) {
  const std::string& d = p.accumulator;
  std::string scalar = d == "f64" ? "double" : d == "f32" ? "float" : d == "s32" ? "int" : "unsigned";
  std::string kept = d == "f64" ? "+d" : d == "f32" ? "+f" : "+r", read = p.f64 ? "d" : "r", word = p.f64 ? "double" : "unsigned";
  std::string text = "// d += a * b, by a warp.\n__device__ __forceinline__ void " + p.name +
                     "(void* sum, const void* left, const void* right" + p.params + ") {\n";
  text += "  " + scalar + "* d = (" + scalar + "*)sum;\n";
  text += "  const " + word + "*a = (const " + word + "*)left, *b = (const " + word + "*)right;\n";
  text += "  asm volatile(\n      \"" + p.opcode + " " + registers(0, p.nd) + ", " + registers(p.nd, p.na) + ", " +
          registers(p.nd + p.na, p.nb) + ", " + registers(0, p.nd) + p.tail + ";\"\n";
  text += "      : " + operands(kept, "d", p.nd) + "\n      : " + operands(read, "a", p.na) + ", " + operands(read, "b", p.nb) + p.inputs +
          ");\n}\n";
  return text;
}

// The formats and shape of a call whose arguments begin with shape, layouts of a and b, formats of a, b and the accumulator.
struct Request {
  std::string shape, layout_a, layout_b, a, b, d, what;
  int m() const { return extent(shape, 'm'); }
  int n() const { return extent(shape, 'n'); }
  int k() const { return extent(shape, 'k'); }
};
Request request_of(const Call* c, const std::string& instruction) {
  Request r{std::string(text_arg(c, 0)),
            std::string(text_arg(c, 1)),
            std::string(text_arg(c, 2)),
            ptx_type(text_arg(c, 3)),
            ptx_type(text_arg(c, 4)),
            ptx_type(text_arg(c, 5)),
            ""};
  r.what = instruction + " " + r.shape + " of " + std::string(text_arg(c, 3)) + " and " + std::string(text_arg(c, 4)) + " to " +
           std::string(text_arg(c, 5));
  // A single-precision operand is read as tf32.
  if (r.a == "f32" && r.b == "f32") r.a = r.b = "tf32";
  return r;
}
Error needs(const Arch& arch, const std::string& what, int sm) {
  return unsupported(arch, "there is no " + what, "it needs sm_" + std::to_string(sm) + (sm >= 120 ? "a" : "") + " or newer");
}

Result<Generated> mma(const Arch& arch, const Call* c) {
  // shape, layout of a and b, formats of a, b and the accumulator, (a, offset), (b, offset), (accumulator, offset), saturate, operator on
  // bits
  Request r = request_of(c, "mma.sync");
  bool volta = c->op == Op::tl_ptx_mma_sm70;
  if (c->args.size() < 12 || r.shape.empty()) return unsupported(arch, "'" + std::string(c->name) + "' has no shape");
  if (volta && r.shape == "m16n16k4") r.shape = "m8n8k4";  // what a warp's four products make together
  const MmaForm* found = is(kNarrowMma, r.shape, r.a, r.b, r.d) ? &kNarrowMma : nullptr;
  for (const MmaForm& f : kMma) {
    if (is(f, r.shape, r.a, r.b, r.d)) found = &f;
  }
  if (!found) return unsupported(arch, "there is no " + r.what);
  bool narrow = found == &kNarrowMma, quad = r.shape == "m8n8k4" && r.a == "f16";
  if (volta && !quad) return unsupported(arch, "there is no " + r.what);
  bool layouts = (r.layout_a == "row" && r.layout_b == "col") ||
                 (quad && (r.layout_a == "row" || r.layout_a == "col") && (r.layout_b == "row" || r.layout_b == "col"));
  if (!layouts) return unsupported(arch, r.what + " in layouts other than row and col");
  if (arch.number < found->first_sm || (narrow && !arch.suffix)) return needs(arch, r.what, found->first_sm);
  std::string bit_operator(c->args.size() > 13 ? text_arg(c, 13) : "xor");
  bool bits = r.a == "b1";
  if (bits && bit_operator != "xor" && bit_operator != "and")
    return unsupported(arch, "there is no " + r.what + " by '" + bit_operator + "'");
  if (bits && bit_operator == "and" && arch.number < 80) return needs(arch, r.what + " by 'and'", 80);
  Product p;
  p.accumulator = r.d;
  p.f64 = r.d == "f64";
  int word = p.f64 ? 64 : 32, width = ptx_bits(r.a);
  p.na = quad ? 2 : r.m() * r.k() * width / 32 / word;
  p.nb = quad ? 2 : r.n() * r.k() * width / 32 / word;
  p.nd = quad ? (r.d == "f16" ? 4 : 8) : r.m() * r.n() * ptx_bits(r.d) / 32 / word;
  bool saturate = c->args.size() > 12 && int_arg(c, 12) == 1 && r.d == "s32" && !bits;
  std::string layout = r.layout_a + "." + r.layout_b;
  p.name = "mma_" + r.shape + "_" + r.a + (r.a == r.b ? "" : "_" + r.b) + "_" + r.d + (saturate ? "_sat" : "") +
           (bits ? "_" + bit_operator : "") + (quad ? "_" + r.layout_a + "_" + r.layout_b : "");
  p.opcode = "mma.sync.aligned." + r.shape + "." + layout + (saturate ? ".satfinite" : "") + (narrow ? ".kind::f8f6f4" : "") + "." + r.d +
             "." + r.a + "." + r.b + "." + r.d + (bits ? "." + bit_operator + ".popc" : "");
  if (quad) p.opcode = "mma.sync.aligned.m8n8k4." + layout + "." + r.d + ".f16.f16." + r.d;
  return Generated{p.name, text_of(p)};
}

Result<Generated> sparse_mma(const Arch& arch, const Call* c) {
  // As mma up to the accumulator, then (metadata, offset), which of the threads bring it, saturate.
  Request r = request_of(c, "mma.sp");
  if (c->args.size() != 16 || r.shape.empty()) return unsupported(arch, "'" + std::string(c->name) + "' has no shape");
  int64_t selector = int_arg(c, 14);
  const SparseForm* found = nullptr;
  for (const SparseForm& f : kSparseMma) {
    if (is(f, r.shape, r.a, r.b, r.d)) found = &f;
  }
  if (!found || r.layout_a != "row" || r.layout_b != "col") return unsupported(arch, "there is no " + r.what);
  if (selector < 0 || selector >= found->selectors)
    return unsupported(arch, "there is no " + r.what + " with sparsity selector " + std::to_string(selector));
  if (arch.number < found->first_sm) return needs(arch, r.what, found->first_sm);
  Product p;
  p.accumulator = r.d;
  int width = ptx_bits(r.a);
  p.na = r.m() * r.k() * width / 32 / 32 / 2;
  p.nb = r.n() * r.k() * width / 32 / 32;
  p.nd = r.m() * r.n() * ptx_bits(r.d) / 32 / 32;
  bool saturate = int_arg(c, 15) == 1 && r.d == "s32";
  p.name = "mma_sp_" + r.shape + "_" + r.a + (r.a == r.b ? "" : "_" + r.b) + "_" + r.d + "_" + std::to_string(selector) +
           (saturate ? "_sat" : "");
  p.opcode = "mma.sp::ordered_metadata.sync.aligned." + r.shape + ".row.col" + (saturate ? ".satfinite" : "") + "." + r.d + "." + r.a +
             "." + r.b + "." + r.d;
  p.params = ", const void* metadata";
  p.tail = ", %" + std::to_string(next_register(p)) + ", " + std::to_string(selector);
  p.inputs = ", \"r\"(*(const unsigned*)metadata)";
  return Generated{p.name, text_of(p)};
}

Result<Generated> scaled_mma(const Arch& arch, const Call* c) {
  // format of the accumulator, shape, layouts, kind, scales in K, formats of a, b and the scales, (a, offset), (b, offset), (accumulator,
  // offset), scales of a and b, and for each of them which byte and thread
  if (c->args.size() != 21) return unsupported(arch, "'" + std::string(c->name) + "' has " + std::to_string(c->args.size()) + " arguments");
  std::string d = ptx_type(text_arg(c, 0)), shape(text_arg(c, 1)), kind(text_arg(c, 4)), scale(text_arg(c, 8));
  std::string a = ptx_type(text_arg(c, 6)), b = ptx_type(text_arg(c, 7));
  std::string what = "mma.sync " + shape + " of kind " + kind + " of " + std::string(text_arg(c, 6)) + " and " +
                     std::string(text_arg(c, 7)) + " with " + std::to_string(int_arg(c, 5)) + " scales of " + scale;
  const ScaledForm* found = nullptr;
  for (const ScaledForm& f : kScaledMma) {
    bool formats = has_word(f.operands, a) && has_word(f.operands, b) && f.scale == scale;
    if (f.kind == kind && f.scales == int_arg(c, 5) && f.shape == shape && formats) found = &f;
  }
  if (!found || d != "f32" || text_arg(c, 2) != "row" || text_arg(c, 3) != "col") return unsupported(arch, "there is no " + what);
  if (arch.number < 120 || !arch.suffix) return needs(arch, what, 120);
  Product p;
  p.accumulator = d;
  p.na = 4, p.nb = 2, p.nd = 4;
  std::string scales = std::to_string(found->scales) + "X";
  p.name = "mma_" + shape + "_" + kind + "_" + a + (a == b ? "" : "_" + b) + "_" + scales + "_" + scale;
  p.opcode = "mma.sync.aligned." + shape + ".row.col.kind::" + kind + ".block_scale.scale_vec::" + scales + ".f32." + a + "." + b +
             ".f32." + scale;
  p.params = ", const void* scale_a, const void* scale_b, int byte_a, int thread_a, int byte_b, int thread_b";
  int i = next_register(p);
  p.tail = ", " + registers(i, 1) + ", " + registers(i + 1, 2) + ", " + registers(i + 3, 1) + ", " + registers(i + 4, 2);
  p.inputs =
      ",\n        \"r\"(*(const unsigned*)scale_a), \"h\"((short)byte_a), \"h\"((short)thread_a), \"r\"(*(const unsigned*)scale_b), "
      "\"h\"((short)byte_b), \"h\"((short)thread_b)";
  return Generated{p.name, text_of(p)};
}

Result<Generated> ldmatrix(const Arch& arch, const Call* c) {
  // tl: transposed, count, row, to. tirx: transposed, count, format, (to, offset), (row, offset).
  bool offsets = c->op == Op::tirx_ptx_ldmatrix;
  int64_t trans = int_arg(c, 0), count = int_arg(c, 1);
  bool whole = offsets ? c->args.size() == 7 && text_arg(c, 2) == ".b16" : c->args.size() == 4;
  if (!whole || trans < 0 || (count != 1 && count != 2 && count != 4)) return unsupported(arch, "there is no such ldmatrix");
  int n = static_cast<int>(count);
  std::string name = "ldmatrix_x" + std::to_string(n) + (trans ? "_trans" : "");
  std::string text = "// Loads " + std::to_string(n) + " matrices of 8x8 16-bit elements: each lane gives the address of a row.\n";
  text += "__device__ __forceinline__ void " + name + "(void* to, unsigned row) {\n  unsigned* r = (unsigned*)to;\n";
  text += "  asm volatile(\"ldmatrix.sync.aligned.m8n8.x" + std::to_string(n) + (trans ? ".trans" : "") + ".shared.b16 " + registers(0, n) +
          ", [%" + std::to_string(n) + "];\"\n               : " + operands("=r", "r", n) +
          "\n               : \"r\"(row)\n               : \"memory\");\n}\n";
  return Generated{name, text};
}

Result<Generated> stmatrix(const Arch& arch, const Call* c) {
  int64_t trans = int_arg(c, 0), count = int_arg(c, 1);
  auto given = static_cast<int64_t>(c->args.size());
  std::string shape = given == 4 + count ? std::string(text_arg(c, c->args.size() - 1)) : "m8n8";
  bool bytes = shape == "m16n8";  // transposed alone
  bool whole = (given == 3 + count || given == 4 + count) && (shape == "m8n8" || (bytes && trans == 1));
  if (trans < 0 || (count != 1 && count != 2 && count != 4) || !whole) return unsupported(arch, "there is no such stmatrix");
  if (arch.number < 90) return unsupported(arch, "there is no stmatrix", "it needs sm_90 or newer");
  if (bytes && (arch.number < 100 || !arch.suffix))
    return unsupported(arch, "there is no stmatrix of 8-bit elements", "it needs sm_100a or newer");
  int n = static_cast<int>(count);
  std::string name = "stmatrix_" + std::string(bytes ? "b8_" : "") + "x" + std::to_string(n) + (trans ? "_trans" : ""), params, inputs;
  for (int i = 0; i < n; ++i) {
    params += ", int r" + std::to_string(i);
    inputs += ", \"r\"(r" + std::to_string(i) + ")";
  }
  std::string text = "// Stores " + std::to_string(n) + " matrices of " + (bytes ? "16x8 8-bit" : "8x8 16-bit") +
                     " elements: each lane gives the address of a row.\n";
  text += "__device__ __forceinline__ void " + name + "(unsigned row" + params + ") {\n";
  text += "  asm volatile(\"stmatrix.sync.aligned." + shape + ".x" + std::to_string(n) + (trans ? ".trans" : "") + ".shared." +
          (bytes ? "b8" : "b16") + " [%0], " + registers(1, n) + ";\" ::\"r\"(row)" + inputs + " : \"memory\");\n}\n";
  return Generated{name, text};
}

}  // namespace

Result<Generated> generate_matrix(const Arch& arch, const Call* c) {
  switch (c->op) {
    case Op::tirx_ptx_mma:
    case Op::tl_ptx_mma_sm70: return mma(arch, c);
    case Op::tirx_ptx_mma_sp: return sparse_mma(arch, c);
    case Op::tl_ptx_mma_block_scale: return scaled_mma(arch, c);
    case Op::tl_ptx_stmatrix: return stmatrix(arch, c);
    default: return ldmatrix(arch, c);
  }
}

}  // namespace kiln::cuda
