#include <algorithm>

#include "base/small_float.h"
#include "intrinsics/functions.h"
#include "legalise/legalise.h"
#include "legalise/rewrite.h"

namespace kiln::legalise {
namespace {

using namespace ir;

class Widener : public Rewriter {
 public:
  Widener(Arena& arena, const Features& features) : Rewriter(arena), features_(features) {}

  const Expr* expr(const Expr* e) override {
    e = expr_children(e);
    if (auto* b = e->as<Binary>(); b && stored_only(b->a->dtype)) {
      const Expr* wide = build.binary(b->kind, widen(b->a), widen(b->b), b->span);
      return narrow(b->dtype, wide);
    }
    if (auto* c = e->as<Cast>()) return cast(c);
    auto* c = e->as<Call>();
    if (!c || !is_math(c)) return e;
    std::vector<const Expr*> args;
    bool any = false;
    for (const Expr* a : c->args) {
      any |= stored_only(a->dtype);
      args.push_back(stored_only(a->dtype) ? widen(a) : a);
    }
    if (!any && !stored_only(c->dtype)) return e;
    Call n = *c;
    n.args = build.list(args);
    if (stored_only(c->dtype)) n.dtype = wide_type(c->dtype);
    return narrow(c->dtype, build.add(n));
  }

 private:
  bool stored_only(DataType t) const {
    if (!t.is_floating() || t.bits > 16) return false;
    if (t.element() == kFloat16) return !features_.float16_arithmetic;
    if (t.element() == kBFloat16) return !features_.bfloat16_arithmetic;
    return true;
  }
  // Calls that compute: those that pass a value on, or its bits, keep the format.
  bool is_math(const Call* c) const {
    switch (c->op) {
      case Op::kUnknown:
      case Op::kFunction:
      case Op::tirx_if_then_else:
      case Op::tirx_reinterpret:
      case Op::tirx_address_of:
      case Op::tirx_likely: return false;
      case Op::tirx_call_extern:
      case Op::tirx_call_pure_extern: return is_math_function(c);
      default: break;
    }
    // Math operators that are not marked pure in the operator table take values too; those that take addresses or text do not.
    for (const Expr* a : c->args) {
      if (a->dtype.is_handle() && a->kind != ExprKind::kStringImm) return false;
    }
    return op_info(c->op).effect != Effect::kControl;
  }
  // A function known by its name takes values, unless it reads or writes memory. Of those that a module defines, only the pure ones
  // compute.
  bool is_math_function(const Call* c) const {
    auto* name = c->args.empty() ? nullptr : c->args[0]->as<StringImm>();
    if (!name) return false;
    bool known = emit::math_function(name->value);
    if (features_.thread_blocks) known |= intrinsics::named_math_function(name->value) || intrinsics::builtin_function(name->value) >= 0;
    if (!known) return c->op == Op::tirx_call_pure_extern;
    return std::none_of(c->args.begin() + 1, c->args.end(), [](const Expr* a) { return a->dtype.is_handle(); });
  }
  static DataType wide_type(DataType t) { return kFloat32.with_lanes(t.lanes); }
  const Expr* widen(const Expr* e) {
    // The literal is rounded to its format first.
    if (auto* f = e->as<FloatImm>()) {
      return build.float_imm(wide_type(f->dtype), decode_float(f->dtype, encode_float_literal(f->dtype, f->value)), f->span);
    }
    return build.cast(wide_type(e->dtype), e, e->span);
  }
  const Expr* narrow(DataType t, const Expr* wide) { return wide->dtype == t ? wide : build.cast(t, wide, wide->span); }

  const Expr* cast(const Cast* c) {
    DataType from = c->value->dtype, to = c->dtype;
    if (from == to) return c->value;
    if (stored_only(from)) return to.element() == kFloat32 ? widen(c->value) : build.cast(to, widen(c->value), c->span);
    // Exact in float32; wider integers and float64 would be rounded twice, so they stay.
    bool small = from.is_bool() || (from.is_integer() && from.bits <= 16);
    if (stored_only(to) && small) return build.cast(to, build.cast(wide_type(from), c->value, c->span), c->span);
    return c;
  }

  const Features& features_;
};

}  // namespace

const Function* widen_floats(Arena& arena, const Function* f, const Features& features) {
  Widener pass(arena, features);
  return rewrite_body(arena, f, pass);
}

}  // namespace kiln::legalise
