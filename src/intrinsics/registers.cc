#include "intrinsics/registers.h"

#include <map>
#include <optional>

#include "intrinsics/matrix_calls.h"
#include "legalise/rewrite.h"

namespace kiln::intrinsics {
namespace {

using namespace ir;

bool is_local(const Var* v) { return v->pointer && v->pointer->scope.starts_with("local"); }

int64_t element_bits(DataType t) { return int64_t{t.bits} * std::max<int>(t.lanes, 1); }

// None: not constant.
std::optional<int64_t> bits_of(const Buffer* b) {
  int64_t n = element_bits(b->dtype);
  for (const Expr* d : b->shape) {
    auto* extent = d->as<IntImm>();
    if (!extent || extent->value < 0 || __builtin_mul_overflow(n, extent->value, &n) || n > INT32_MAX) return std::nullopt;
  }
  return n;
}

// Values that an integer may have, both ends included.
struct Range {
  int64_t low, high;
};

// Of sums and products of loop variables and constants; others are not known.
class Ranges {
 public:
  void add(const For* loop) {
    auto first = of(loop->min), extent = of(loop->extent);
    if (first && extent && !loop->step) vars_[loop->var] = {first->low, first->high + std::max<int64_t>(extent->high, 1) - 1};
  }
  std::optional<Range> of(const Expr* e) const {
    if (auto* i = e->as<IntImm>(); i && i->value >= INT32_MIN && i->value <= INT32_MAX) return Range{i->value, i->value};
    if (auto* v = e->as<Var>()) {
      auto it = vars_.find(v);
      return it == vars_.end() ? std::nullopt : std::optional(it->second);
    }
    auto* b = e->as<Binary>();
    if (!b || (b->kind != ExprKind::kAdd && b->kind != ExprKind::kMul)) return std::nullopt;
    auto x = of(b->a), y = of(b->b);
    if (!x || !y) return std::nullopt;
    Range r;
    bool overflow;
    if (b->kind == ExprKind::kAdd) {
      overflow = __builtin_add_overflow(x->low, y->low, &r.low) | __builtin_add_overflow(x->high, y->high, &r.high);
    } else {
      if (x->low < 0 || y->low < 0) return std::nullopt;
      overflow = __builtin_mul_overflow(x->low, y->low, &r.low) | __builtin_mul_overflow(x->high, y->high, &r.high);
    }
    return overflow ? std::nullopt : std::optional(r);
  }

 private:
  std::map<const Var*, Range> vars_;
};

// For each array, the bits up to where an ldmatrix fills it.
std::map<const Var*, int64_t> filled_bits(const Function* f) {
  Ranges ranges;
  std::map<const Var*, int64_t> capacity, filled;
  auto on_call = [&](const Expr* e) {
    auto* c = e->as<Call>();
    auto move = c ? matrix_move_call(c) : std::nullopt;
    if (!move || !move->to.pointer) return;
    auto* place = addressed_element(move->to.pointer);
    auto* v = place ? place->buffer->data : move->to.pointer->as<Var>();
    auto it = v ? capacity.find(v) : capacity.end();
    if (it == capacity.end()) return;
    int64_t bits = element_bits(place ? place->buffer->dtype : v->pointer->element);
    const Expr* index = !place ? move->to.offset : place->indices.size() == 1 ? place->indices[0] : nullptr;
    auto range = index ? ranges.of(index) : std::nullopt;
    int64_t last = it->second / bits - 1;  // the call begins within the array, be its index known or not
    filled[v] = std::max(filled[v], std::min(range ? range->high : last, last) * bits + 32 * move->count);
  };
  visit(
      f->body,
      [&](const Stmt* s) {
        if (auto* loop = s->as<For>()) ranges.add(loop);
        auto* a = s->as<AllocBuffer>();
        auto n = a && is_local(a->buffer->data) ? bits_of(a->buffer) : std::nullopt;
        if (n) capacity[a->buffer->data] = *n;
      },
      [&](const Expr* e) { visit(e, on_call); });
  std::erase_if(filled, [&](const auto& entry) { return entry.second <= capacity.at(entry.first); });
  return filled;
}

class Enlarge : public Rewriter {
 public:
  Enlarge(Arena& arena, std::map<const Var*, int64_t> bits) : Rewriter(arena), bits_(std::move(bits)) {}

  const Stmt* stmt(const Stmt* s) override {
    auto* a = s->as<AllocBuffer>();
    auto it = a ? bits_.find(a->buffer->data) : bits_.end();
    if (it == bits_.end()) return stmt_children(s);
    Buffer b = *a->buffer;
    int64_t element = element_bits(b.dtype);
    b.shape = build.list<const Expr*>({build.int_imm(kInt32, (it->second + element - 1) / element)});
    b.strides = {};
    AllocBuffer made = *a;
    made.buffer = build.add(b);
    return build.add(made);
  }

 private:
  std::map<const Var*, int64_t> bits_;
};

// The first declaration of the parameter's extents; null when they are not constant.
const Buffer* declaration_of(const Var* v, const Function* f) {
  const Buffer* found = nullptr;
  visit(
      f->body,
      [&](const Stmt* s) {
        auto* d = s->as<DeclBuffer>();
        if (d && !found && d->buffer->data == v && bits_of(d->buffer)) found = d->buffer;
      },
      [](const Expr*) {});
  return found;
}

const Function* own_parameters(Arena& arena, const Function* f) {
  Builder build(arena);
  std::vector<const Var*> params(f->params.begin(), f->params.end());
  std::vector<const Stmt*> body;
  for (const Var*& v : params) {
    const Buffer* declared = is_local(v) ? declaration_of(v, f) : nullptr;
    if (!declared) continue;
    Buffer own = *declared;
    body.push_back(legalise::alloc(build, build.add(own)));
    v = build.var(v->name, v->dtype, build.pointer(v->pointer->element, "global"), v->span);
  }
  if (body.empty()) return f;
  body.push_back(f->body);
  Function out = *f;
  out.params = build.list(params);
  out.body = build.seq(body);
  return arena.make(out);
}

}  // namespace

const Function* own_registers(Arena& arena, const Function* f) {
  f = own_parameters(arena, f);
  std::map<const Var*, int64_t> filled = filled_bits(f);
  if (filled.empty()) return f;
  Enlarge pass(arena, std::move(filled));
  return legalise::rewrite_body(arena, f, pass);
}

}  // namespace kiln::intrinsics
