#include "backends/cuda/lower.h"

#include <limits>

#include "backends/cuda/generated.h"
#include "backends/cuda/intrinsics.h"
#include "base/small_float.h"
#include "emit/lower_calls.h"
#include "legalise/rewrite.h"

namespace kiln::cuda {
namespace {

using namespace ir;
using namespace intrinsics;
using emit::is_small_float;
using emit::suffix;
using emit::unsigned_of;

DataType signed_of(int bits) { return {TypeCode::kInt, static_cast<uint8_t>(bits), 1}; }

class Lowering : public emit::CallLowering {
 public:
  using CallLowering::CallLowering;

  const Expr* expr(const Expr* e) override {
    const Expr* native = half_arithmetic(e);
    return native ? native : CallLowering::expr(e);
  }

 private:
  std::string spelling_of(const MathFunction& f, DataType t) const override { return spelling(f, t); }
  std::string_view absolute(DataType t) const override { return t.bits == 64 ? "llabs" : "abs"; }

  // A sum, difference or product of two float16 or bfloat16 that was widened to float32 and rounded again: the instruction on the format
  // itself gives the same bits, as float32 has more than twice its precision. Null when `e` is none.
  const Expr* half_arithmetic(const Expr* e) {
    auto* c = e->as<Cast>();
    auto* b = c && (c->dtype == kFloat16 || c->dtype == kBFloat16) ? c->value->as<Binary>() : nullptr;
    if (!b || b->dtype != kFloat32) return nullptr;
    std::string_view name = b->kind == ExprKind::kAdd   ? "_add"
                            : b->kind == ExprKind::kSub ? "_sub"
                            : b->kind == ExprKind::kMul ? "_mul"
                                                        : "";
    const Expr *x = half_of(c->dtype, b->a), *y = half_of(c->dtype, b->b);
    return name.empty() || !x || !y ? nullptr : named(c->dtype, small_float_name(c->dtype).append(name), {expr(x), expr(y)}, b->span);
  }
  // What of type t `e` is the float32 of; null when there is none.
  const Expr* half_of(DataType t, const Expr* e) {
    if (auto* c = e->as<Cast>()) return c->value->dtype == t ? c->value : nullptr;
    auto* f = e->as<FloatImm>();
    bool exact = f && decode_float(t, encode_float_literal(t, f->value)) == f->value;
    return exact ? build.float_imm(t, f->value, f->span) : nullptr;
  }

  // Of two integers of one type: literals get it by a cast.
  const Expr* extremum(const Binary* b) override {
    bool least = b->kind == ExprKind::kMin;
    DataType t = b->dtype;
    if (t.is_floating()) return named(t, std::string(least ? "fmin" : "fmax") + (t.bits == 64 ? "" : "f"), {b->a, b->b}, b->span);
    auto typed = [&](const Expr* e) {
      if (t == kInt32 || !e->as<IntImm>()) return e;
      return static_cast<const Expr*>(build.add(Cast{{ExprKind::kCast, t, e->span}, e}));
    };
    return named(t, least ? "min" : "max", {typed(b->a), typed(b->b)}, b->span);
  }

  const Expr* cast(DataType to, const Expr* e) override {
    DataType from = e->dtype;
    if (to == from) return e;
    if (to.is_bool()) return to_bool(e);
    if (is_small_float(from) && is_small_float(to) && small_float_name(from) == small_float_name(to)) return e;
    if (is_small_float(from)) return cast(to, named(kFloat32, small_float_name(from) + "_to_f32", {e}, e->span));
    if (to.is_integer() && to.bits < 8) return four_bits(to, plain_cast(kInt32, e));
    if (!is_small_float(to)) return plain_cast(to, e);
    if (to == kFloat16) {
      auto* decoded = e->as<Call>();  // of float8, which is exact in float16
      for (std::string_view format : {"f8_e4m3", "f8_e5m2"}) {
        if (decoded && decoded->op == Op::tirx_call_pure_extern && text_arg(decoded, 0) == std::string(format) + "_to_f32")
          return named(to, std::string(format) + "_to_f16", {decoded->args[1]}, e->span);
      }
      auto* wide = e->as<Cast>();  // of the shared passes, on the way from a small integer
      const Expr* integer =
          wide && wide->dtype == kFloat32 && wide->value->dtype.is_integer() && wide->value->dtype.bits <= 16 ? wide->value : e;
      DataType t = integer->dtype;
      if (t.is_integer() && t.bits <= 32) {
        DataType word = t.is_uint() ? kUInt32 : kInt32;
        return named(to, suffix(word) + "_to_f16", {plain_cast(word, integer)}, e->span);
      }
    }
    std::string name = "f32_to_" + small_float_name(to);
    bool exact = from == kFloat32 || from.is_bool() || (from.is_integer() && from.bits <= 16);
    if (exact) return named(to, name, {plain_cast(kFloat32, e)}, e->span);
    return named(to, name, {named(kFloat32, suffix(from) + "_to_f32_odd", {e})}, e->span);
  }

  // The lower 4 bits of an int32, sign or zero extended.
  const Expr* four_bits(DataType to, const Expr* e) { return named(to, to.is_int() ? "to_i4" : "to_u4", {e}, e->span); }

  const Expr* reinterpret(const Call* c) {
    const Expr* e = c->args[0];
    DataType to = c->dtype, from = e->dtype;
    if (to.is_handle() || from.is_handle() || to == from) return to == from && !to.is_handle() ? e : c;
    bool wide_from = from.is_floating() && from.bits >= 32, wide_to = to.is_floating() && to.bits >= 32;
    if (wide_from) {
      e = named(from.bits == 64 ? kInt64 : kUInt32, from.bits == 64 ? "__double_as_longlong" : "__float_as_uint", {e}, c->span);
    }
    if (wide_to) {
      return to.bits == 64 ? named(to, "__longlong_as_double", {plain_cast(kInt64, e)}, c->span)
                           : named(to, "__uint_as_float", {plain_cast(kUInt32, e)}, c->span);
    }
    if (to.bits < 8 && (to.is_int() || from.is_int())) return four_bits(to.is_int() ? to : unsigned_of(4), plain_cast(kInt32, e));
    return plain_cast(to, e);  // the small formats are their bits in the printed text
  }

  const Expr* count_bits(const Call* c, bool leading) {
    const Expr* x = c->args[0];
    int bits = x->dtype.bits;
    // An unsigned value first, so that no sign is extended; the functions take signed ones.
    x = plain_cast(signed_of(bits == 64 ? 64 : 32), plain_cast(unsigned_of(bits), x));
    const Expr* n = named(kInt32, std::string(leading ? "__clz" : "__popc") + (bits == 64 ? "ll" : ""), {x}, c->span);
    if (leading && bits < 32) n = build.binary(ExprKind::kSub, n, build.int_imm(kInt32, 32 - bits));
    return cast(c->dtype, n);
  }

  const Expr* classify(const Call* c) {
    const Expr* x = c->args[0];
    DataType t = x->dtype;
    if (!t.is_floating()) return build.int_imm(kBool, c->op == Op::tirx_isfinite);
    if (c->op == Op::tirx_isnan) return build.binary(ExprKind::kNE, x, x, c->span);
    const Expr* size = named(t, t.bits == 64 ? "fabs" : "fabsf", {x}, c->span);
    const Expr* infinity = build.float_imm(t, std::numeric_limits<double>::infinity());
    return build.binary(c->op == Op::tirx_isinf ? ExprKind::kEQ : ExprKind::kLT, size, infinity, c->span);
  }

  const Expr* external(const Call* c) {
    auto* name = c->args[0]->as<StringImm>();
    if (auto* f = named_math_function(name->value); f && c->args.size() > 1) return math(c, *f, 1);
    if (name->value == "abs" && c->args.size() == 2) return math(c, *math_function(Op::tirx_fabs), 1);
    if (name->value == "printf") return printf(c);
    if (name->value == "debug_print_var") return debug_print(c, "debug_print_", {});
    if (name->value == "debug_print_buffer_value") return debug_print(c, "debug_print_element_", {c->args[2], c->args[3]});
    return c;
  }

  const Expr* debug_print(const Call* c, std::string name, const std::vector<const Expr*>& element) {
    const Expr* value = c->args.back();
    std::vector<const Expr*> args = {build.string_imm(name + (value->dtype.is_floating() ? "f64" : "i64")), c->args[1],
                                     build.string_imm(to_string(value->dtype))};
    args.insert(args.end(), element.begin(), element.end());
    args.push_back(cast(value->dtype.is_floating() ? kFloat64 : kInt64, value));
    return build.call(kVoid, Op::tirx_call_extern, args, c->span);
  }

  const Expr* call(const Call* c) override {
    if (auto* f = math_function(c->op)) return math(c, *f, 0);
    switch (c->op) {
      case Op::tirx_if_then_else: return build.select(c->args[0], c->args[1], c->args[2], c->span);
      case Op::tirx_reinterpret: return reinterpret(c);
      case Op::tirx_isnan:
      case Op::tirx_isinf:
      case Op::tirx_isfinite: return classify(c);
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

}  // namespace kiln::cuda
