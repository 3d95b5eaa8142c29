// mma.sync, ldmatrix and stmatrix: the matrix instructions of one warp.
#include "backends/cuda/generated.h"

namespace kiln::cuda {
namespace {

using namespace ir;

// Forms of mma.sync, by PTX ISA, "Matrix multiply-accumulate operation using mma instruction".
struct MmaForm {
  std::string_view shape, operand, accumulators;
  int first_sm;
};
constexpr MmaForm kMma[] = {
    {"m16n8k8", "f16", "f16 f32", 75},    {"m16n8k16", "f16", "f16 f32", 80}, {"m16n8k8", "bf16", "f32", 80},
    {"m16n8k16", "bf16", "f32", 80},      {"m16n8k4", "tf32", "f32", 80},     {"m16n8k8", "tf32", "f32", 80},
    {"m8n8k16", "s8 u8", "s32", 75},      {"m16n8k16", "s8 u8", "s32", 80},   {"m16n8k32", "s8 u8", "s32", 80},
    {"m8n8k32", "s4 u4", "s32", 75},      {"m16n8k32", "s4 u4", "s32", 80},   {"m16n8k64", "s4 u4", "s32", 80},
    {"m16n8k32", "e4m3 e5m2", "f32", 89}, {"m8n8k4", "f64", "f64", 80},       {"m16n8k4", "f64", "f64", 90},
    {"m16n8k8", "f64", "f64", 90},        {"m16n8k16", "f64", "f64", 90},
};

bool has_word(std::string_view words, std::string_view w) {
  for (size_t at = 0; at <= words.size();) {
    size_t end = std::min(words.find(' ', at), words.size());
    if (words.substr(at, end - at) == w) return true;
    at = end + 1;
  }
  return false;
}

Result<Generated> mma(const Arch& arch, const Call* c) {
  // shape, layout of a and b, dtypes of a, b and the accumulator, (a, offset), (b, offset), (accumulator, offset), saturate
  std::string shape(text_arg(c, 0)), a = ptx_type(text_arg(c, 3)), b = ptx_type(text_arg(c, 4)), d = ptx_type(text_arg(c, 5));
  std::string form = "mma.sync " + shape + " of " + std::string(text_arg(c, 3)) + " and " + std::string(text_arg(c, 4)) + " to " +
                     std::string(text_arg(c, 5));
  if (c->args.size() < 12 || shape.empty()) return unsupported(arch, "'" + std::string(c->name) + "' has no shape");
  if (text_arg(c, 1) != "row" || text_arg(c, 2) != "col") return unsupported(arch, form + " with layouts other than row and col");
  const MmaForm* found = nullptr;
  for (const MmaForm& f : kMma) {
    if (f.shape == shape && has_word(f.operand, a) && has_word(f.operand, b) && has_word(f.accumulators, d)) found = &f;
  }
  if (!found) return unsupported(arch, "there is no " + form);
  if (arch.number < found->first_sm) {
    return unsupported(arch, "there is no " + form, "it needs sm_" + std::to_string(found->first_sm) + " or newer");
  }
  int m = extent(shape, 'm'), n = extent(shape, 'n'), k = extent(shape, 'k'), bits = ptx_bits(a);
  bool f64 = d == "f64";
  int words = f64 ? 64 : 32;
  int na = m * k * bits / 32 / words, nb = n * k * bits / 32 / words, nd = m * n * ptx_bits(d) / 32 / words;
  std::string scalar = f64 ? "double" : d == "f32" ? "float" : d == "s32" ? "int" : "unsigned";
  std::string kept = f64 ? "+d" : d == "f32" ? "+f" : "+r", read = f64 ? "d" : "r", word = f64 ? "double" : "unsigned";
  bool saturate = c->args.size() > 12 && int_arg(c, 12) == 1 && d == "s32";
  std::string name = "mma_" + shape + "_" + a + (a == b ? "" : "_" + b) + "_" + d + (saturate ? "_sat" : "");
  std::string text = "// d += a * b, a in rows and b in columns, by a warp.\n";
  text += "__device__ __forceinline__ void " + name + "(void* sum, const void* left, const void* right) {\n";
  text += "  " + scalar + "* d = (" + scalar + "*)sum;\n";
  text += "  const " + word + "*a = (const " + word + "*)left, *b = (const " + word + "*)right;\n";
  text += "  asm volatile(\n      \"mma.sync.aligned." + shape + ".row.col" + (saturate ? ".satfinite" : "") + "." + d + "." + a + "." + b +
          "." + d + " " + registers(0, nd) + ", " + registers(nd, na) + ", " + registers(nd + na, nb) + ", " + registers(0, nd) + ";\"\n";
  text += "      : " + operands(kept, "d", nd) + "\n      : " + operands(read, "a", na) + ", " + operands(read, "b", nb) + ");\n}\n";
  return Generated{name, text};
}

Result<Generated> ldmatrix(const Arch& arch, const Call* c) {
  int64_t trans = int_arg(c, 0), count = int_arg(c, 1);
  if (c->args.size() != 4 || trans < 0 || (count != 1 && count != 2 && count != 4)) return unsupported(arch, "there is no such ldmatrix");
  int n = static_cast<int>(count);
  std::string name = "ldmatrix_x" + std::to_string(n) + (trans ? "_trans" : "");
  std::string text = "// Loads " + std::to_string(n) + " matrices of 8x8 16-bit elements: each lane gives the address of a row.\n";
  text += "__device__ __forceinline__ void " + name + "(void* to, const void* row) {\n  unsigned* r = (unsigned*)to;\n";
  text += "  asm volatile(\"ldmatrix.sync.aligned.m8n8.x" + std::to_string(n) + (trans ? ".trans" : "") + ".shared.b16 " + registers(0, n) +
          ", [%" + std::to_string(n) + "];\"\n               : " + operands("=r", "r", n) +
          "\n               : \"r\"(shared_address(row))\n               : \"memory\");\n}\n";
  return Generated{name, text};
}

Result<Generated> stmatrix(const Arch& arch, const Call* c) {
  int64_t trans = int_arg(c, 0), count = int_arg(c, 1);
  auto given = static_cast<int64_t>(c->args.size());
  bool whole = given == 3 + count || (given == 4 + count && text_arg(c, c->args.size() - 1) == "m8n8");
  if (trans < 0 || (count != 1 && count != 2 && count != 4) || !whole) {
    return unsupported(arch, "there is no such stmatrix");
  }
  if (arch.number < 90) return unsupported(arch, "there is no stmatrix", "it needs sm_90 or newer");
  int n = static_cast<int>(count);
  std::string name = "stmatrix_x" + std::to_string(n) + (trans ? "_trans" : ""), params, inputs;
  for (int i = 0; i < n; ++i) {
    params += ", int r" + std::to_string(i);
    inputs += ", \"r\"(r" + std::to_string(i) + ")";
  }
  std::string text = "// Stores " + std::to_string(n) + " matrices of 8x8 16-bit elements: each lane gives the address of a row.\n";
  text += "__device__ __forceinline__ void " + name + "(void* row" + params + ") {\n";
  text += "  asm volatile(\"stmatrix.sync.aligned.m8n8.x" + std::to_string(n) + (trans ? ".trans" : "") + ".shared.b16 [%0], " +
          registers(1, n) + ";\" ::\"r\"(shared_address(row))" + inputs + " : \"memory\");\n}\n";
  return Generated{name, text};
}

}  // namespace

Result<Generated> generate_matrix(const Arch& arch, const Call* c) {
  if (c->op == Op::tirx_ptx_mma) return mma(arch, c);
  return c->op == Op::tl_ptx_ldmatrix ? ldmatrix(arch, c) : stmatrix(arch, c);
}

}  // namespace kiln::cuda
