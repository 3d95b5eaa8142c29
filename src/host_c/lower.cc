#include "host_c/lower.h"

#include "emit/lower_calls.h"
#include "host_c/intrinsics.h"
#include "legalise/rewrite.h"

namespace kiln::host_c {
namespace {

using namespace ir;
using emit::is_small_float;
using emit::suffix;
using emit::unsigned_of;

class Lowering : public emit::CallLowering {
 public:
  using CallLowering::CallLowering;

  const Stmt* stmt(const Stmt* s) override {
    s = stmt_children(s);
    auto* e = s->as<Evaluate>();
    auto* c = e ? e->value->as<Call>() : nullptr;
    if (!c || (c->op != Op::tl_device_assert && c->op != Op::tl_device_assert_with_msg)) return s;
    std::string_view message = "device assertion failed";
    if (c->args.size() > 1 && c->args[1]->as<StringImm>()) message = c->args[1]->as<StringImm>()->value;
    Assert a{{StmtKind::kAssert, s->span}, c->args[0], "AssertionError", build.list(std::vector<std::string_view>{message})};
    return build.add(a);
  }

 private:
  std::string spelling_of(const MathFunction& f, DataType t) const override { return spelling(f, t); }
  std::string_view absolute(DataType t) const override { return t.bits == 64 ? "abs_i64" : "abs_i32"; }

  const Expr* extremum(const Binary* b) override {
    std::string_view name = b->kind == ExprKind::kMin ? "min_" : "max_";
    return named(b->dtype, std::string(name) + suffix(b->dtype), {b->a, b->b}, b->span);
  }

  const Expr* cast(DataType to, const Expr* e) override {
    DataType from = e->dtype;
    if (to == from) return e;
    if (to.is_bool()) return to_bool(e);
    if (is_small_float(from)) return cast(to, named(kFloat32, small_float_name(from) + "_to_f32", {e}, e->span));
    if (!is_small_float(to)) return plain_cast(to, e);
    std::string name = small_float_name(to);
    if (from == kFloat32) return named(to, "f32_to_" + name, {e}, e->span);
    const Expr* wide = from == kFloat64  ? e
                       : from.bits == 64 ? named(kFloat64, from.is_uint() ? "u64_to_f64" : "i64_to_f64", {e})
                                         : plain_cast(kFloat64, e);
    return named(to, "f64_to_" + name, {wide}, e->span);
  }

  const Expr* reinterpret(const Call* c) {
    const Expr* e = c->args[0];
    DataType to = c->dtype, from = e->dtype;
    if (to.is_handle() || from.is_handle() || to == from) return to == from && !to.is_handle() ? e : c;
    bool wide_from = from.is_floating() && from.bits >= 32, wide_to = to.is_floating() && to.bits >= 32;
    if (wide_from) e = named(unsigned_of(from.bits), suffix(from) + "_to_bits", {e}, c->span);
    if (wide_to) return named(to, "bits_to_" + suffix(to), {plain_cast(unsigned_of(to.bits), e)}, c->span);
    return plain_cast(to, e);  // the small formats are their bits in C
  }

  const Expr* count_bits(const Call* c, bool leading) {
    const Expr* x = c->args[0];
    int bits = x->dtype.bits;
    x = plain_cast(unsigned_of(bits), x);
    int width = bits == 64 ? 64 : 32;
    const Expr* n = named(kInt32, (leading ? "clz_" : "popcount_") + std::to_string(width), {x}, c->span);
    if (leading && bits < 32) n = build.binary(ExprKind::kSub, n, build.int_imm(kInt32, 32 - bits));
    return cast(c->dtype, n);
  }

  const Expr* classify(const Call* c, std::string_view name) {
    if (!c->args[0]->dtype.is_floating()) return build.int_imm(kBool, name == "isfinite");
    // C's macros give any nonzero number.
    return build.binary(ExprKind::kNE, named(kInt32, name, {c->args[0]}, c->span), build.int_imm(kInt32, 0), c->span);
  }

  const Expr* external(const Call* c) {
    auto* name = c->args[0]->as<StringImm>();
    if (!name) return c;
    if (auto* f = math_function(name->value); f && c->args.size() > 1) return math(c, *f, 1);
    if (name->value == "abs" && c->args.size() == 2) return math(c, *math_function(Op::tirx_fabs), 1);
    if (name->value == "printf") return printf(c);
    if (name->value == "debug_print_var" || name->value == "debug_print_buffer_value") return debug_print(c);
    return c;
  }

  // debug_print_var(message, value), debug_print_buffer_value(message, buffer's name, index, value)
  const Expr* debug_print(const Call* c) {
    const Expr* value = c->args.back();
    bool floating = value->dtype.is_floating();
    value = cast(floating ? kFloat64 : kInt64, value);
    return build.call(kVoid, Op::tirx_call_extern, {build.string_imm(floating ? "debug_print_f64" : "debug_print_i64"), c->args[1], value},
                      c->span);
  }

  const Expr* call(const Call* c) override {
    if (auto* f = math_function(c->op)) return math(c, *f, 0);
    switch (c->op) {
      case Op::tirx_if_then_else: return build.select(c->args[0], c->args[1], c->args[2], c->span);
      case Op::tirx_reinterpret: return reinterpret(c);
      case Op::tirx_isnan: return classify(c, "isnan");
      case Op::tirx_isinf: return classify(c, "isinf");
      case Op::tirx_isfinite: return classify(c, "isfinite");
      case Op::tirx_popcount:
      case Op::tirx_ctpop: return count_bits(c, false);
      case Op::tirx_clz: return count_bits(c, true);
      case Op::tirx_call_pure_extern:
      case Op::tirx_call_extern: return external(c);
      default: return c;
    }
  }
};

}  // namespace

const Function* lower(Arena& arena, const Function* f) {
  Lowering pass(arena);
  return legalise::rewrite_body(arena, f, pass);
}

}  // namespace kiln::host_c
