// What T.<name>(...) means.
#include <algorithm>
#include <cmath>

#include "ir/parse.h"

namespace kiln::ir::script {

DataType ExpressionParser::dtype_keyword(DataType implied) {
  if (accept(",")) {
    expect("dtype");
    expect("=");
    implied = type().dtype;
  }
  expect(")");
  return implied;
}

Parsed ExpressionParser::binary_call(ExprKind kind) {
  const Token& where = peek();
  Parsed a = expression();
  expect(",");
  Parsed b = expression();
  Parsed p = make_binary(kind, a, b, where);
  DataType t = dtype_keyword(p.expr->dtype);
  if (!error && t != p.expr->dtype) p.expr = b_.add(Binary{{kind, t, 0}, p.expr->as<Binary>()->a, p.expr->as<Binary>()->b});
  return p;
}

// T.Let(body, where={x: value}): the variable comes after the body that uses it, so the value is read first.
Parsed ExpressionParser::let() {
  const Token& open = peek();
  size_t body = at_;
  int nesting = 0;
  while (!at_end() && !(nesting == 0 && at("where"))) {
    if (at("(") || at("[") || at("{")) ++nesting;
    if ((at(")") || at("]") || at("}")) && --nesting < 0) break;
    ++at_;
  }
  expect("where");
  expect("=");
  expect("{");
  std::string_view name = identifier("a variable");
  expect(":");
  Parsed value = expression();
  expect("}");
  Type t{value.expr->dtype};
  while (accept(",")) {
    if (accept("type"))
      expect("="), t = type();
    else if (at("dtype"))
      break;
    else
      fail("expected 'type', got " + got());
  }
  bool has_dtype = at("dtype");
  size_t tail = at_, mark = undo_.size();
  const Var* var = define_var(name, t, 0);
  at_ = body;
  Parsed result = expression();
  end_scope(mark);
  expect(",");
  if (!at("where")) fail("expected 'where', got " + got());
  if (error) return dummy();
  at_ = tail;
  DataType dtype = result.expr->dtype;
  if (has_dtype) expect("dtype"), expect("="), dtype = type().dtype;
  expect(")");
  if (error) return dummy();
  return limit({b_.add(Let{{ExprKind::kLet, dtype, 0}, var, value.expr, result.expr}), false, std::max(value.depth, result.depth) + 1},
               open);
}

Parsed ExpressionParser::ramp_or_broadcast(bool ramp) {
  const Token& where = peek();
  Parsed base = expression();
  expect(",");
  Parsed stride;
  if (ramp) {
    stride = expression();
    if (stride.bare) stride.expr = constant_like(stride.expr, base.expr->dtype);
    expect(",");
  }
  int64_t n = integer_literal();
  if (n < 1 || n * base.expr->dtype.lanes > 65535)
    fail_at(where, "expected a number of lanes from 1 to 65535, got " + std::to_string(n)), n = 1;
  DataType t = dtype_keyword(base.expr->dtype.with_lanes(static_cast<uint16_t>(n * base.expr->dtype.lanes)));
  if (error) return dummy();
  int depth = std::max(base.depth, stride.depth) + 1;
  if (ramp) return limit({b_.add(Ramp{{ExprKind::kRamp, t, 0}, base.expr, stride.expr}), false, depth}, where);
  return limit({b_.add(Broadcast{{ExprKind::kBroadcast, t, 0}, base.expr}), false, depth}, where);
}

// T.float32(1.5), T.float32("inf"), T.int64(5), T.bool(True); of an expression: a cast.
Parsed ExpressionParser::typed_literal(DataType t, const Token& where) {
  if (peek().kind == Token::Kind::kString) {
    std::string s = string_literal();
    double v = s == "inf" ? HUGE_VAL : s == "-inf" ? -HUGE_VAL : std::nan("");
    if (s != "inf" && s != "-inf" && s != "nan") fail_at(where, "expected \"inf\", \"-inf\" or \"nan\"");
    expect(")");
    return {b_.float_imm(t, v)};
  }
  Parsed p = expression();
  expect(")");
  if (error) return dummy();
  auto* i = p.expr->as<IntImm>();
  if (t.is_floating() && (p.expr->as<FloatImm>() || (i && p.bare))) {
    return {b_.float_imm(t, i ? static_cast<double>(i->value) : p.expr->as<FloatImm>()->value)};
  }
  if (i && !t.is_floating()) return {b_.int_imm(t, i->value)};
  return {b_.cast(t, p.expr), false, p.depth + 1};
}

void ExpressionParser::arguments(std::vector<const Expr*>& args, int& depth, const Value*& annotations, std::optional<Type>& last_type) {
  while (!error && !at(")")) {
    last_type.reset();
    if (at("annotations") && peek(1).is("=")) {
      at_ += 2;
      annotations = map_value();
    } else if (at_type()) {
      last_type = type();
    } else {
      const Token& where = peek();
      bool text = where.kind == Token::Kind::kString;
      Parsed p = expression();
      depth = std::max(depth, p.depth);
      if (text && at(")")) {  // perhaps the result's dtype: T.tvm_struct_get(h, 0, 1, "int32")
        if (auto t = parse_dtype(p.expr->as<StringImm>() ? p.expr->as<StringImm>()->value : "?")) last_type = Type{*t};
      }
      args.push_back(p.expr);
    }
    if (!accept(",")) break;
  }
  expect(")");
}

Parsed ExpressionParser::finish_call(Type t, Op op, std::string_view name, std::vector<const Expr*> args, int depth) {
  const Token& where = peek();
  const Value* annotations = nullptr;
  std::optional<Type> ignored;
  arguments(args, depth, annotations, ignored);
  if (error) return dummy();
  return limit({b_.add(Call{{ExprKind::kCall, t.dtype, 0}, op, name, b_.list(args), t.pointer, annotations}), false, depth + 1}, where);
}

Parsed ExpressionParser::op_call(std::string_view name, const Token& where) {
  Op op = op_of_short_name(name, tilelang_);
  if (op == Op::kUnknown) {
    fail_at(where, "'T." + std::string(name.substr(0, 60)) + "' is not known",
            "an operator of a newer compiler is written T.call_intrin(dtype, \"tirx.name\", ...)");
    return dummy();
  }
  const OpInfo& info = op_info(op);
  if (info.rule == ResultRule::kExplicitFirst) {
    // TileLang's text leaves the dtype out where it is a handle.
    bool said = at_type() || (peek().kind == Token::Kind::kString && parse_dtype(peek().text.substr(1, peek().text.size() - 2)).ok());
    Type t = said ? type() : Type{kHandle};
    if (said && !at(")")) expect(",");
    return finish_call(t, op, info.name, {}, 0);
  }
  std::vector<const Expr*> args;
  const Value* annotations = nullptr;
  std::optional<Type> last;
  int depth = 0;
  arguments(args, depth, annotations, last);
  if (error) return dummy();
  Type t;
  if (info.rule == ResultRule::kExplicitLast) {
    if (!last) return fail_at(where, "T." + std::string(name) + " needs the dtype of its result as its last argument"), dummy();
    t = *last;
    if (!args.empty() && args.back()->as<StringImm>() && !t.pointer && t.dtype != kHandle)
      args.pop_back();
    else if (!args.empty() && args.back()->as<StringImm>() && !t.pointer)
      args.pop_back();
  } else if (!implied_dtype(op, b_.list(args), t.dtype)) {
    return fail_at(where, "T." + std::string(name) + " needs an argument"), dummy();
  }
  // As in the importers, these are nodes of their own.
  if (args.size() == 2) {
    ExprKind kind = op == Op::tirx_bitwise_and   ? ExprKind::kBitAnd
                    : op == Op::tirx_bitwise_or  ? ExprKind::kBitOr
                    : op == Op::tirx_bitwise_xor ? ExprKind::kBitXor
                    : op == Op::tirx_shift_left  ? ExprKind::kShiftLeft
                    : op == Op::tirx_shift_right ? ExprKind::kShiftRight
                                                 : ExprKind::kVar;
    if (kind != ExprKind::kVar) return limit({b_.add(Binary{{kind, t.dtype, 0}, args[0], args[1]}), false, depth + 1}, where);
  }
  if (op == Op::tirx_bitwise_not && args.size() == 1) return limit({b_.unary(ExprKind::kBitNot, args[0]), false, depth + 1}, where);
  return limit({b_.add(Call{{ExprKind::kCall, t.dtype, 0}, op, info.name, b_.list(args), t.pointer, annotations}), false, depth + 1},
               where);
}

Parsed ExpressionParser::t_call(std::string_view name, const Token& where) {
  expect("(");
  static const std::unordered_map<std::string_view, ExprKind> kBinary = {{"Add", ExprKind::kAdd},
                                                                         {"Sub", ExprKind::kSub},
                                                                         {"Mul", ExprKind::kMul},
                                                                         {"Div", ExprKind::kDiv},
                                                                         {"truncdiv", ExprKind::kDiv},
                                                                         {"Mod", ExprKind::kMod},
                                                                         {"truncmod", ExprKind::kMod},
                                                                         {"FloorDiv", ExprKind::kFloorDiv},
                                                                         {"floordiv", ExprKind::kFloorDiv},
                                                                         {"FloorMod", ExprKind::kFloorMod},
                                                                         {"floormod", ExprKind::kFloorMod},
                                                                         {"min", ExprKind::kMin},
                                                                         {"Min", ExprKind::kMin},
                                                                         {"max", ExprKind::kMax},
                                                                         {"Max", ExprKind::kMax},
                                                                         {"EQ", ExprKind::kEQ},
                                                                         {"NE", ExprKind::kNE},
                                                                         {"LT", ExprKind::kLT},
                                                                         {"LE", ExprKind::kLE},
                                                                         {"GT", ExprKind::kGT},
                                                                         {"GE", ExprKind::kGE},
                                                                         {"And", ExprKind::kAnd},
                                                                         {"Or", ExprKind::kOr}};
  if (auto it = kBinary.find(name); it != kBinary.end()) return binary_call(it->second);
  if (name == "bitwise_and") return binary_call(ExprKind::kBitAnd);
  if (name == "bitwise_or") return binary_call(ExprKind::kBitOr);
  if (name == "bitwise_xor") return binary_call(ExprKind::kBitXor);
  if (name == "shift_left") return binary_call(ExprKind::kShiftLeft);
  if (name == "shift_right") return binary_call(ExprKind::kShiftRight);
  if (name == "Let") return let();
  if (name == "Ramp") return ramp_or_broadcast(true);
  if (name == "Broadcast") return ramp_or_broadcast(false);
  if (name == "Not" || name == "bitwise_not") {
    Parsed a = expression();
    DataType t = dtype_keyword(a.expr->dtype);
    return {b_.add(Unary{{name == "Not" ? ExprKind::kNot : ExprKind::kBitNot, t, 0}, a.expr}), false, a.depth + 1};
  }
  if (name == "Cast") {
    DataType t = type().dtype;
    expect(",");
    Parsed v = expression();
    expect(")");
    return limit({b_.cast(t, v.expr), false, v.depth + 1}, where);
  }
  if (name == "Select") {
    Parsed c = expression();
    expect(",");
    Parsed a = expression();
    expect(",");
    Parsed b = expression();
    if (a.expr->dtype != b.expr->dtype && b.bare)
      b.expr = constant_like(b.expr, a.expr->dtype);
    else if (a.expr->dtype != b.expr->dtype && a.bare)
      a.expr = constant_like(a.expr, b.expr->dtype);
    DataType t = dtype_keyword(a.expr->dtype);
    return limit({b_.add(Select{{ExprKind::kSelect, t, 0}, c.expr, a.expr, b.expr}), false, std::max({c.depth, a.depth, b.depth}) + 1},
                 where);
  }
  if (name == "Shuffle") {
    expect("[");
    auto vectors = expressions("]");
    expect(",");
    expect("[");
    auto picks = expressions("]");
    if (error || picks.empty()) return fail_at(where, "a shuffle needs vectors and indices"), dummy();
    DataType element = vectors.empty() ? kVoid : vectors[0]->dtype;
    DataType t = dtype_keyword(element.with_lanes(static_cast<uint16_t>(picks.size())));
    return {b_.add(Shuffle{{ExprKind::kShuffle, t, 0}, b_.list(vectors), b_.list(picks)}), false, depth_};
  }
  if (name == "BufferLoad") {
    const Buffer* b = find_buffer(identifier("a buffer"));
    expect(",");
    expect("[");
    auto list = expressions("]");
    const Expr* predicate = nullptr;
    if (at(",") && peek(1).is("predicate")) at_ += 2, expect("="), predicate = expr();
    if (error) return dummy();
    DataType t = dtype_keyword(access_dtype(b, list));
    return {b_.load(t, b, b_.list(list), predicate), false, 2};
  }
  if (name == "IntImm" || name == "FloatImm") {
    DataType t = type().dtype;
    expect(",");
    if (name == "FloatImm") {
      Parsed p = typed_literal(kFloat64, where);
      return error ? dummy() : Parsed{b_.float_imm(t, p.expr->as<FloatImm>() ? p.expr->as<FloatImm>()->value : 0)};
    }
    int64_t v = integer_literal();
    expect(")");
    return {b_.int_imm(t, v)};
  }
  if (name == "StringImm") {
    std::string text = string_literal();
    expect(")");
    return {b_.string_imm(text)};
  }
  if (name == "call_intrin" || name == "call_function") {
    Type t = type();
    expect(",");
    std::string callee = string_literal();
    if (callee.empty()) fail_at(where, "a call without a name");
    if (!at(")")) expect(",");
    Op op = name == "call_function" ? Op::kFunction : find_op(callee);
    return finish_call(t, op, op == Op::kUnknown || op == Op::kFunction ? b_.string(callee) : op_info(op).name, {}, 0);
  }
  if (name == "handle") {
    --at_;
    return fail_at(where, "a type where a value was expected"), dummy();
  }
  if (auto t = parse_dtype(name); t && name != "void") return typed_literal(*t, where);
  return op_call(name, where);
}

std::vector<const Expr*> ExpressionParser::expressions(std::string_view close) {
  std::vector<const Expr*> list;
  while (!error && !at(close)) {
    list.push_back(expr());
    if (!accept(",")) break;
  }
  expect(close);
  return list;
}

}  // namespace kiln::ir::script
