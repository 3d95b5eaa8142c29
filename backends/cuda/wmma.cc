// wmma: TVM's matrix fragments (storage scopes wmma.matrix_a, wmma.matrix_b and wmma.accumulator) become arrays of registers, their
// operators PTX's wmma.load, wmma.mma and wmma.store, by a warp.
#include <map>

#include "backends/cuda/generated.h"
#include "backends/cuda/lower.h"
#include "legalise/rewrite.h"

namespace kiln::cuda {

using namespace ir;

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

// What a fragment is: 'a', 'b' or 'c' (an accumulator), its shape and layout, as its loads say, and its format.
struct Fragment {
  char role = 0;
  std::string shape, layout, type;
  bool known = true;  // its loads and fills agree

  int elements() const {
    int m = extent(shape, 'm'), n = extent(shape, 'n'), k = extent(shape, 'k');
    return role == 'a' ? m * k : role == 'b' ? k * n : m * n;
  }
  // Of one lane. An element is in one lane, those of f16 operands in two.
  int registers() const {
    if (role != 'c' && type == "f16") return 8;
    return elements() * ptx_bits(type) / 32 / (type == "f64" ? 64 : 32);
  }
  DataType register_type() const { return type == "f32" ? kFloat32 : type == "f64" ? kFloat64 : type == "s32" ? kInt32 : kUInt32; }
};

std::string layout_of(std::string_view name) { return name == "row_major" ? "row" : name == "col_major" ? "col" : ""; }
bool has_shape(const Call* c) {
  return c->op == Op::tirx_tvm_load_matrix_sync || c->op == Op::tirx_tvm_fill_fragment || c->op == Op::tirx_tvm_store_matrix_sync;
}
bool is_product(const Call* c) { return c->op == Op::tirx_tvm_mma_sync || c->op == Op::tirx_tvm_bmma_sync; }

std::map<const Var*, Fragment> fragments_of(const Function* f) {
  std::map<const Var*, Fragment> all;
  auto look = [&](const Expr* e) {
    auto* c = e->as<Call>();
    auto* v = c && has_shape(c) && c->args.size() >= 6 ? c->args[0]->as<Var>() : nullptr;
    if (!v || !v->pointer) return;
    std::string_view scope = v->pointer->scope;
    Fragment n;
    n.role = scope == "wmma.matrix_a" ? 'a' : scope == "wmma.matrix_b" ? 'b' : scope == "wmma.accumulator" ? 'c' : 0;
    if (!n.role) return;
    n.type = ptx_type(to_string(v->pointer->element.element()));
    if (n.role != 'c' && n.type == "f32") n.type = "tf32";
    n.shape = "m" + std::to_string(int_arg(c, 1)) + "n" + std::to_string(int_arg(c, 2)) + "k" + std::to_string(int_arg(c, 3));
    if (c->op == Op::tirx_tvm_load_matrix_sync && n.role != 'c') n.layout = layout_of(text_arg(c, 7));
    auto [it, fresh] = all.emplace(v, n);
    Fragment& known = it->second;
    if (known.layout.empty()) known.layout = n.layout;
    bool sized = true;
    for (size_t i = 1; i <= 3; ++i) sized &= int_arg(c, i) > 0 && int_arg(c, i) <= 128;
    known.known &= sized && known.shape == n.shape && (n.layout.empty() || known.layout == n.layout) && n.registers() > 0;
  };
  visit(
      f->body, [](const Stmt*) {}, [&](const Expr* e) { visit(e, look); });
  std::erase_if(all, [](const auto& entry) { return !entry.second.known; });
  return all;
}

class Fragments : public Rewriter {
 public:
  Fragments(Arena& arena, std::map<const Var*, Fragment> all) : Rewriter(arena), all_(std::move(all)) {}

  const Expr* expr(const Expr* e) override {
    if (auto* c = e->as<Call>(); c && has_shape(c)) return access(c);
    if (auto* c = e->as<Call>(); c && is_product(c)) return product(c);
    return expr_children(e);
  }

  const Stmt* stmt(const Stmt* s) override {
    if (auto* a = s->as<AllocBuffer>()) return alloc(a);
    if (auto* a = s->as<Attr>(); a && (a->key == "fragment_layout" || a->key == "fragment_shape")) return stmt(a->body);
    return stmt_children(s);
  }

 private:
  const Fragment* find(const Expr* e) {
    auto* v = e->as<Var>();
    auto it = v ? all_.find(v) : all_.end();
    return it == all_.end() ? nullptr : &it->second;
  }

  const Var* registers_of(const Var* v) {
    const Fragment& f = all_.at(v);
    const Var*& made = vars_[v];
    if (!made) made = build.var(v->name, kHandle, build.pointer(f.register_type(), "local"), v->span);
    return made;
  }

  const Stmt* alloc(const AllocBuffer* a) {
    const Fragment* f = find(a->buffer->data);
    int64_t n = 1;
    for (const Expr* d : a->buffer->shape) {
      auto* extent = d->as<IntImm>();
      if (!extent || extent->value < 1 || __builtin_mul_overflow(n, extent->value, &n) || n > (1 << 20)) return a;
    }
    if (!f || n % f->elements()) return a;  // the check refuses its scope
    Buffer b = *a->buffer;
    b.data = registers_of(a->buffer->data);
    b.dtype = f->register_type();
    b.shape = build.list<const Expr*>({build.int_imm(kInt32, n / f->elements() * f->registers())});
    AllocBuffer made = *a;
    made.buffer = build.add(b);
    return build.add(made);
  }

  const Expr* first_register(const Fragment& f, const Expr* index) {
    index = expr(index);
    if (auto* i = index->as<IntImm>()) return build.int_imm(kInt32, i->value * f.registers());
    return build.binary(ExprKind::kMul, index, build.int_imm(index->dtype, f.registers()));
  }

  // The operator's arguments, then the role, the shape and the format.
  const Expr* access(const Call* c) {
    const Fragment* f = c->args.size() >= 6 ? find(c->args[0]) : nullptr;
    if (!f) return c;
    std::vector<const Expr*> args = {registers_of(c->args[0]->as<Var>())};
    for (size_t i = 1; i < c->args.size(); ++i) args.push_back(i == 4 ? first_register(*f, c->args[i]) : expr(c->args[i]));
    for (const std::string& s : {std::string(1, f->role), f->shape, f->type}) args.push_back(build.string_imm(s));
    return build.call(c->dtype, c->op, args, c->span);
  }

  // The operator's arguments, then the shape, the layouts of a and b, and the formats of a, b and the accumulator.
  const Expr* product(const Call* c) {
    if (c->args.size() != 8) return c;
    std::vector<const Expr*> args;
    const Fragment* f[4];
    for (size_t i = 0; i < 4; ++i) {
      f[i] = find(c->args[2 * i]);
      if (!f[i]) return c;
      args.push_back(registers_of(c->args[2 * i]->as<Var>()));
      args.push_back(first_register(*f[i], c->args[2 * i + 1]));
    }
    bool agree = f[0]->shape == f[1]->shape && f[1]->shape == f[2]->shape && f[3]->shape == f[0]->shape && f[0]->role == 'c' &&
                 f[1]->role == 'a' && f[2]->role == 'b' && f[3]->role == 'c' && f[0]->type == f[3]->type;
    if (!agree) return c;
    for (const std::string& s : {f[0]->shape, f[1]->layout, f[2]->layout, f[1]->type, f[2]->type, f[0]->type})
      args.push_back(build.string_imm(s));
    return build.call(c->dtype, c->op, args, c->span);
  }

  std::map<const Var*, Fragment> all_;
  std::map<const Var*, const Var*> vars_;
};

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

const Function* lower_fragments(Arena& arena, const Function* f) {
  std::map<const Var*, Fragment> all = fragments_of(f);
  if (all.empty()) return f;
  Fragments pass(arena, std::move(all));
  return legalise::rewrite_body(arena, f, pass);
}

Result<Generated> generate_wmma(const Arch& arch, const Call* c) {
  size_t given = c->args.size();
  bool whole = is_product(c) ? given == 14 : given == (c->op == Op::tirx_tvm_fill_fragment ? 9u : 11u);
  if (!whole) return unsupported(arch, "'" + std::string(c->name) + "' has fragments whose shape and layout are not known");
  if (is_product(c)) return mma(arch, c);
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
  std::string layout = layout_of(text_arg(c, 7));
  const WmmaForm* form = form_of(f.type);
  bool fits =
      !layout.empty() && (load || f.role == 'c') && (f.role == 'c' || form->any_layout || layout == (f.role == 'a' ? "row" : "col"));
  if (!fits)
    return unsupported(arch,
                       "there is no '" + std::string(c->name) + "' of " + f.type + " in layout '" + std::string(text_arg(c, 7)) + "'");
  return move(f, load, layout);
}

}  // namespace kiln::cuda
