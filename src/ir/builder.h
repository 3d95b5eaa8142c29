// Makes nodes in an arena. Callers give well-formed parts; the verifier is what checks.
#pragma once

#include "ir/ir.h"

namespace kiln::ir {

class Builder {
 public:
  explicit Builder(Arena& arena) : arena_(arena) {}

  Arena& arena() { return arena_; }
  std::string_view string(std::string_view s) { return arena_.string(s); }
  template <class T>
  List<T> list(const std::vector<T>& items) {
    return arena_.list(items);
  }
  template <class T>
  const T* add(T node) {
    return arena_.make(node);
  }

  const IntImm* int_imm(DataType t, int64_t v, SpanId s = 0) { return add(IntImm{{ExprKind::kIntImm, t, s}, v}); }
  const FloatImm* float_imm(DataType t, double v, SpanId s = 0) { return add(FloatImm{{ExprKind::kFloatImm, t, s}, v}); }
  const StringImm* string_imm(std::string_view v, SpanId s = 0) { return add(StringImm{{ExprKind::kStringImm, kHandle, s}, string(v)}); }
  const Var* var(std::string_view name, DataType t, const PointerType* p = nullptr, SpanId s = 0) {
    return add(Var{{ExprKind::kVar, t, s}, string(name), p});
  }
  const PointerType* pointer(DataType element, std::string_view scope) { return add(PointerType{element, string(scope)}); }
  // Comparisons, kAnd and kOr get a bool dtype with the lanes of `a`; everything else has a's dtype.
  const Expr* binary(ExprKind k, const Expr* a, const Expr* b, SpanId s = 0) {
    bool logical = is_comparison(k) || k == ExprKind::kAnd || k == ExprKind::kOr;
    return add(Binary{{k, logical ? kBool.with_lanes(a->dtype.lanes) : a->dtype, s}, a, b});
  }
  const Expr* unary(ExprKind k, const Expr* a, SpanId s = 0) { return add(Unary{{k, a->dtype, s}, a}); }
  const Expr* cast(DataType t, const Expr* v, SpanId s = 0) { return add(Cast{{ExprKind::kCast, t, s}, v}); }
  const Expr* select(const Expr* c, const Expr* t, const Expr* f, SpanId s = 0) {
    return add(Select{{ExprKind::kSelect, t->dtype, s}, c, t, f});
  }
  const Expr* ramp(const Expr* base, const Expr* stride, uint16_t lanes, SpanId s = 0) {
    return add(Ramp{{ExprKind::kRamp, base->dtype.with_lanes(lanes), s}, base, stride});
  }
  const Expr* broadcast(const Expr* v, uint16_t lanes, SpanId s = 0) {
    return add(Broadcast{{ExprKind::kBroadcast, v->dtype.with_lanes(lanes), s}, v});
  }
  const Expr* load(DataType t, const Buffer* b, List<const Expr*> indices, const Expr* predicate = nullptr, SpanId s = 0) {
    return add(Load{{ExprKind::kLoad, t, s}, b, indices, predicate});
  }
  const Call* call(DataType t, Op op, const std::vector<const Expr*>& args, SpanId s = 0) {
    return add(Call{{ExprKind::kCall, t, s}, op, op_info(op).name, list(args), nullptr, nullptr});
  }

  const Stmt* store(const Buffer* b, const Expr* v, List<const Expr*> indices, const Expr* predicate = nullptr, SpanId s = 0) {
    return add(Store{{StmtKind::kStore, s}, b, v, indices, predicate});
  }
  const Stmt* bind(const Var* var, const Expr* v, SpanId s = 0) { return add(Bind{{StmtKind::kBind, s}, var, v}); }
  const Stmt* evaluate(const Expr* v, SpanId s = 0) { return add(Evaluate{{StmtKind::kEvaluate, s}, v}); }
  // Splices nested Seqs and drops a Seq of one, as Seq's invariant asks.
  const Stmt* seq(const std::vector<const Stmt*>& stmts, SpanId s = 0);

 private:
  Arena& arena_;
};

}  // namespace kiln::ir
