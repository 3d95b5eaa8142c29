#include "intrinsics/fragments.h"

#include <map>

#include "intrinsics/arguments.h"
#include "legalise/rewrite.h"

namespace kiln::intrinsics {

using namespace ir;

int Fragment::elements() const {
  int m = extent(shape, 'm'), n = extent(shape, 'n'), k = extent(shape, 'k');
  return role == 'a' ? m * k : role == 'b' ? k * n : m * n;
}

int Fragment::registers() const {
  if (role != 'c' && type == "f16") return 8;
  return elements() * ptx_bits(type) / 32 / (type == "f64" ? 64 : 32);
}

DataType Fragment::register_type() const { return type == "f32" ? kFloat32 : type == "f64" ? kFloat64 : type == "s32" ? kInt32 : kUInt32; }

std::string fragment_layout(std::string_view name) { return name == "row_major" ? "row" : name == "col_major" ? "col" : ""; }

bool is_fragment_product(const Call* c) { return c->op == Op::tirx_tvm_mma_sync || c->op == Op::tirx_tvm_bmma_sync; }

namespace {

bool has_shape(const Call* c) {
  return c->op == Op::tirx_tvm_load_matrix_sync || c->op == Op::tirx_tvm_fill_fragment || c->op == Op::tirx_tvm_store_matrix_sync;
}

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
    if (c->op == Op::tirx_tvm_load_matrix_sync && n.role != 'c') n.layout = fragment_layout(text_arg(c, 7));
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
    if (auto* c = e->as<Call>(); c && is_fragment_product(c)) return product(c);
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

}  // namespace

const Function* lower_fragments(Arena& arena, const Function* f) {
  std::map<const Var*, Fragment> all = fragments_of(f);
  if (all.empty()) return f;
  Fragments pass(arena, std::move(all));
  return legalise::rewrite_body(arena, f, pass);
}

}  // namespace kiln::intrinsics
