#include <array>
#include <map>

#include "legalise/legalise.h"
#include "legalise/rewrite.h"

namespace kiln::legalise {
namespace {

using namespace ir;

// A part of threadIdx.x that has a name of its own.
enum Part { kLane, kWarp, kWarpgroup, kParts };
constexpr std::string_view kPartNames[] = {"lane", "warp", "warpgroup"};

// The exponent of a power of two; -1 for another number.
int log2_of(int64_t n) { return n > 0 && (n & (n - 1)) == 0 ? __builtin_ctzll(static_cast<uint64_t>(n)) : -1; }

// "threadIdx.x": "tx"
std::string short_name(std::string_view tag) { return {tag[0], tag.back()}; }
// What compilers call an index that has no name in the user's program ("threadIdx.x", "thread_binding"), perhaps as text has it, with '_'
// for the point or a number behind.
bool is_nameless(std::string_view name, std::string_view tag) {
  return name.starts_with(tag.substr(0, tag.find('.'))) || name.starts_with("thread_binding") || name.starts_with("block_binding");
}

class Namer : public Rewriter {
 public:
  Namer(Arena& arena, const Function* f) : Rewriter(arena) {
    visit(
        f->body,
        [&](const Stmt* s) {
          auto* t = s->as<ThreadExtent>();
          auto* extent = t ? t->extent->as<IntImm>() : nullptr;
          // With another direction than x, 32 threads along x need not be a warp.
          if (t && (t->tag == "threadIdx.y" || t->tag == "threadIdx.z")) has_warps_ &= extent && extent->value == 1;
        },
        [](const Expr*) {});
  }

  const Expr* expr(const Expr* e) override {
    if (auto* v = e->as<Var>()) {
      auto known = renamed_.find(v);
      return known == renamed_.end() ? e : known->second;
    }
    e = expr_children(e);
    auto* b = e->as<Binary>();
    return b && thread_ ? part(b) : e;
  }

  const Stmt* stmt(const Stmt* s) override {
    auto* t = s->as<ThreadExtent>();
    if (!t || !t->var) return stmt_children(s);
    ThreadExtent n = *t;
    if (is_nameless(t->var->name, t->tag)) renamed_[t->var] = n.var = build.var(short_name(t->tag), t->var->dtype, nullptr, t->var->span);
    bool names_parts = t->tag == "threadIdx.x" && has_warps_ && !thread_;
    if (names_parts) thread_ = n.var, parts_ = {}, uses_ = {};
    n.body = stmt(t->body);
    if (names_parts) n.body = with_parts(n.body);
    return build.add(n);
  }

 private:
  const Expr* constant(int64_t v) { return build.int_imm(thread_->dtype, v); }

  const Expr* use(Part p) {
    ++uses_[p];
    if (!parts_[p]) parts_[p] = build.var(kPartNames[p], thread_->dtype);
    return parts_[p];
  }

  // The expression by names of parts, where it is of threadIdx.x: / 32, % 32, / 128, and (% 64) / 32, (% 128) / 32.
  const Expr* part(const Binary* b) {
    auto* n = b->b->as<IntImm>();
    if (!n) return b;
    bool divides = b->kind == ExprKind::kDiv || b->kind == ExprKind::kFloorDiv;
    bool remains = b->kind == ExprKind::kMod || b->kind == ExprKind::kFloorMod;
    int shift = b->kind == ExprKind::kShiftRight ? static_cast<int>(n->value) : divides ? log2_of(n->value) : -1;
    int width = b->kind == ExprKind::kBitAnd ? log2_of(n->value + 1) : remains ? log2_of(n->value) : -1;
    if (b->a == thread_) {
      if (shift == 5) return use(kWarp);
      if (shift == 7) return use(kWarpgroup);
      return width == 5 ? use(kLane) : b;
    }
    auto* inner = b->a->as<Binary>();
    auto* mask = inner && inner->a == thread_ ? inner->b->as<IntImm>() : nullptr;
    bool masked = mask && (inner->kind == ExprKind::kBitAnd || inner->kind == ExprKind::kMod || inner->kind == ExprKind::kFloorMod);
    int kept = !masked ? -1 : log2_of(inner->kind == ExprKind::kBitAnd ? mask->value + 1 : mask->value);
    if (shift != 5 || kept <= 5) return b;
    return build.binary(ExprKind::kBitAnd, use(kWarp), constant((int64_t{1} << (kept - 5)) - 1), b->span);
  }

  const Stmt* with_parts(const Stmt* body) {
    std::vector<const Stmt*> all;
    const Expr* values[] = {build.binary(ExprKind::kBitAnd, thread_, constant(31)),
                            build.binary(ExprKind::kShiftRight, thread_, constant(5)),
                            build.binary(ExprKind::kShiftRight, thread_, constant(7))};
    for (Part p : {kWarpgroup, kWarp, kLane}) {
      if (uses_[p]) all.push_back(build.bind(parts_[p], values[p]));
    }
    thread_ = nullptr;
    all.push_back(body);
    return build.seq(all);
  }

  bool has_warps_ = true;
  std::map<const Var*, const Var*> renamed_;
  const Var* thread_ = nullptr;  // threadIdx.x, inside its extent
  std::array<const Var*, kParts> parts_{};
  std::array<int, kParts> uses_{};
};

}  // namespace

const Function* name_threads(Arena& arena, const Function* f) {
  Namer pass(arena, f);
  return rewrite_body(arena, f, pass);
}

}  // namespace kiln::legalise
