// wmma.load, wmma.mma and wmma.store, by a warp.
#include "backends/cuda/generated.h"
#include "intrinsics/fragments.h"

namespace kiln::cuda {

using namespace ir;
using namespace intrinsics;

namespace {

// PTX ISA, "Warp-level matrix fragments for WMMA".
struct WmmaForm {
  std::string_view type, shapes, accumulators;
  int first_sm;
  bool any_layout;  // otherwise a is in rows and b in columns
};
constexpr WmmaForm kForms[] = {
    {"f16", "m16n16k16 m8n32k16 m32n8k16", "f16 f32", 75, true},
    {"bf16", "m16n16k16 m8n32k16 m32n8k16", "f32", 80, true},
    {"tf32", "m16n16k8", "f32", 80, true},
    {"f64", "m8n8k4", "f64", 80, true},
    {"s8", "m16n16k16 m8n32k16 m32n8k16", "s32", 75, true},
    {"u8", "m16n16k16 m8n32k16 m32n8k16", "s32", 75, true},
    {"s4", "m8n8k32", "s32", 75, false},
    {"u4", "m8n8k32", "s32", 75, false},
    {"b1", "m8n8k128", "s32", 75, false},
};

bool contains(std::string_view words, std::string_view word) {
  size_t at = words.find(word);
  return !word.empty() && at != words.npos && (at == 0 || words[at - 1] == ' ') &&
         (at + word.size() == words.size() || words[at + word.size()] == ' ');
}

const WmmaForm* form_of(std::string_view type) {
  for (const WmmaForm& f : kForms) {
    if (f.type == type) return &f;
  }
  return nullptr;
}

std::string scalar_of(const std::string& type) {
  return type == "f32" ? "float" : type == "f64" ? "double" : type == "s32" ? "int" : "unsigned";
}
std::string constraint_of(const std::string& type) { return type == "f32" ? "f" : type == "f64" ? "d" : "r"; }

Result<Generated> fill(const Arch& arch, const Fragment& f) {
  int bits = ptx_bits(f.type);
  if (bits < 8) return unsupported(arch, "there is no fill of a wmma fragment of " + f.type);
  std::string name = "wmma_fill_" + f.type + "_x" + std::to_string(f.registers()), scalar = scalar_of(f.type);
  std::string value = bits == 16 ? "(value & 0xFFFF) * 0x10001" : bits == 8 ? "(value & 0xFF) * 0x1010101" : "value";
  if (f.type == "tf32") value = "__float_as_uint(value)";
  std::string text = "// Sets all elements of a matrix fragment.\n__device__ __forceinline__ void " + name + "(" + scalar + "* r, " +
                     (f.type == "tf32" ? "float" : scalar) + " value) {\n#pragma unroll\n  for (int i = 0; i < " +
                     std::to_string(f.registers()) + "; ++i) r[i] = " + value + ";\n}\n";
  return Generated{name, text};
}

Generated move(const Fragment& f, bool load, const std::string& layout) {
  int n = f.registers();
  std::string role(1, load ? f.role : 'd');
  std::string form = role + ".sync.aligned." + layout + "." + f.shape + "." + f.type;
  std::string name = std::string("wmma_") + (load ? "load_" : "store_") + role + "_" + f.shape + "_" + f.type + "_" + layout;
  std::string scalar = scalar_of(f.type), c = constraint_of(f.type);
  std::string text = "// " + std::string(load ? "Loads" : "Stores") + " a matrix, `stride` elements from line to line, by a warp.\n";
  text += "__device__ __forceinline__ void " + name;
  if (load) {
    text += "(" + scalar + "* r, const void* from, int stride) {\n  asm volatile(\n      \"wmma.load." + form + " " + registers(0, n) +
            ", [%" + std::to_string(n) + "], %" + std::to_string(n + 1) + ";\"\n      : " + operands("=" + c, "r", n) +
            "\n      : \"l\"(from), \"r\"(stride)\n      : \"memory\");\n}\n";
  } else {
    text += "(void* to, const " + scalar + "* r, int stride) {\n  asm volatile(\n      \"wmma.store." + form + " [%0], " + registers(1, n) +
            ", %" + std::to_string(n + 1) + ";\" ::\"l\"(to),\n      " + operands(c, "r", n) + ", \"r\"(stride)\n      : \"memory\");\n}\n";
  }
  return {name, text};
}

Result<Generated> mma(const Arch& arch, const Call* c) {
  Fragment a{'a', std::string(text_arg(c, 8)), std::string(text_arg(c, 9)), std::string(text_arg(c, 11))};
  Fragment b{'b', a.shape, std::string(text_arg(c, 10)), std::string(text_arg(c, 12))};
  Fragment d{'c', a.shape, "", std::string(text_arg(c, 13))};
  const WmmaForm* f = form_of(a.type);
  std::string what = "wmma.mma " + a.shape + " of " + a.type + " and " + b.type + " to " + d.type;
  bool bits = a.type == "b1", fits = f && a.type == b.type && contains(f->shapes, a.shape) && contains(f->accumulators, d.type) &&
                                     !a.layout.empty() && !b.layout.empty() && bits == (c->op == Op::tirx_tvm_bmma_sync);
  if (fits && !f->any_layout) fits = a.layout == "row" && b.layout == "col";
  if (!fits) return unsupported(arch, "there is no " + what + " in layouts '" + a.layout + "' and '" + b.layout + "'");
  if (arch.number < f->first_sm)
    return unsupported(arch, "there is no " + what, "it needs sm_" + std::to_string(f->first_sm) + " or newer");
  std::string types = d.type + (a.type == "f16" ? "" : "." + a.type + "." + b.type) + "." + d.type;
  std::string name = "wmma_mma_" + a.shape + "_" + a.type + "_" + d.type + "_" + a.layout + "_" + b.layout;
  int nd = d.registers(), na = a.registers(), nb = b.registers();
  std::string k = constraint_of(d.type), s = scalar_of(d.type), r = constraint_of(a.type), u = scalar_of(a.type);
  std::string text = "// d = a * b + c, by a warp.\n__device__ __forceinline__ void " + name + "(" + s + "* d, const " + u + "* a, const " +
                     u + "* b, const " + s + "* c) {\n  asm volatile(\n      \"wmma.mma" + (bits ? ".xor.popc" : "") + ".sync.aligned." +
                     a.layout + "." + b.layout + "." + a.shape + "." + types + " \"\n      \"" + registers(0, nd) + ", " +
                     registers(nd, na) + ", \"\n      \"" + registers(nd + na, nb) + ", " + registers(nd + na + nb, nd) +
                     ";\"\n      : " + operands("=" + k, "d", nd) + "\n      : " + operands(r, "a", na) + ", " + operands(r, "b", nb) +
                     ",\n        " + operands(k, "c", nd) + ");\n}\n";
  return Generated{name, text};
}

}  // namespace

Result<Generated> generate_wmma(const Arch& arch, const Call* c) {
  size_t given = c->args.size();
  bool whole = is_fragment_product(c) ? given == 14 : given == (c->op == Op::tirx_tvm_fill_fragment ? 9u : 11u);
  if (!whole) return unsupported(arch, "'" + std::string(c->name) + "' has fragments whose shape and layout are not known");
  if (is_fragment_product(c)) return mma(arch, c);
  std::string_view role = text_arg(c, given - 3);
  if (role != "a" && role != "b" && role != "c") return unsupported(arch, "'" + std::string(c->name) + "' has no fragment");
  Fragment f{role[0], std::string(text_arg(c, given - 2)), "", std::string(text_arg(c, given - 1))};
  bool exists = false;
  for (const WmmaForm& form : kForms) {
    bool type = f.role == 'c' ? contains(form.accumulators, f.type) : form.type == f.type;
    exists |= type && contains(form.shapes, f.shape) && arch.number >= form.first_sm;
  }
  if (!exists) return unsupported(arch, "there is no wmma fragment " + f.shape + " of " + f.type);
  if (c->op == Op::tirx_tvm_fill_fragment) return fill(arch, f);
  bool load = c->op == Op::tirx_tvm_load_matrix_sync;
  std::string layout = fragment_layout(text_arg(c, 7));
  const WmmaForm* form = form_of(f.type);
  bool fits =
      !layout.empty() && (load || f.role == 'c') && (f.role == 'c' || form->any_layout || layout == (f.role == 'a' ? "row" : "col"));
  if (!fits)
    return unsupported(arch,
                       "there is no '" + std::string(c->name) + "' of " + f.type + " in layout '" + std::string(text_arg(c, 7)) + "'");
  return move(f, load, layout);
}

}  // namespace kiln::cuda
