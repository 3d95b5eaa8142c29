#include <algorithm>
#include <charconv>
#include <cmath>

#include "ir/parse.h"

namespace kiln::ir::script {

// ---- tokens -----------------------------------------------------------------------------------------------------------

void ExpressionParser::fail_at(const Token& t, std::string message, std::string hint) {
  if (!error) error = Error{Code::kParse, std::move(message), place_of(t, file_), std::move(hint)};
}
void ExpressionParser::fail(std::string message, std::string hint) { fail_at(peek(), std::move(message), std::move(hint)); }

std::string ExpressionParser::got() const {
  const Token& t = peek();
  switch (t.kind) {
    case Token::Kind::kNewline: return "the end of the line";
    case Token::Kind::kIndent:
    case Token::Kind::kDedent: return "a change of indentation";
    case Token::Kind::kEnd: return "the end of the file";
    case Token::Kind::kName:
    case Token::Kind::kInteger:
    case Token::Kind::kReal:
    case Token::Kind::kString:
    case Token::Kind::kPunctuation: break;
  }
  return "'" + std::string(t.text.substr(0, 60)) + "'";
}
void ExpressionParser::expect(std::string_view s) {
  if (!error && !accept(s)) fail("expected '" + std::string(s) + "', got " + got());
}
SpanId ExpressionParser::span_here() {
  const Token& t = peek();
  module_.spans.push_back({file_, t.line, t.column, t.line, t.column});
  return static_cast<SpanId>(module_.spans.size() - 1);
}
std::string_view ExpressionParser::identifier(std::string_view what) {
  if (error || peek().kind != Token::Kind::kName) return fail("expected " + std::string(what) + ", got " + got()), std::string_view("?");
  return tokens_[at_++].text;
}
std::string ExpressionParser::string_literal() {
  // What TVM's own text leaves out of long messages.
  if (at("metadata")) {
    while (!at_end() && !at(",") && !at(")") && !(at("]") && !peek(1).is("["))) ++at_;
    accept("]");
    return "<omitted>";
  }
  if (error || peek().kind != Token::Kind::kString) return fail("expected a string, got " + got()), std::string();
  auto text = unescape(tokens_[at_++], file_);
  if (!text) return error = error ? error : std::optional(text.error()), std::string();
  return *text;
}
int64_t ExpressionParser::integer_literal() {
  Parsed p = expression();
  auto* i = p.expr->as<IntImm>();
  if (!i) fail("expected an integer constant");
  return i ? i->value : 0;
}
void ExpressionParser::skip_balanced() {
  int open = 0;
  do {
    if (at("(") || at("[") || at("{")) ++open;
    if (at(")") || at("]") || at("}")) --open;
    ++at_;
  } while (open > 0 && !at_end());
}

// ---- types ------------------------------------------------------------------------------------------------------------

DataType ExpressionParser::dtype_text(std::string_view text, const Token& where) {
  auto t = parse_dtype(text);
  if (t) return *t;
  if (!error) error = Error{t.error().code, t.error().message, place_of(where, file_), t.error().hint};
  return kVoid;
}

bool ExpressionParser::at_type() const {
  if (error || !peek().is("T") || !peek(1).is(".")) return false;
  if (peek(2).is("handle")) return true;
  return !peek(3).is("(") && parse_dtype(peek(2).text).ok();
}

// "float32", T.float32, T.handle, T.handle("float32", "global"), T.let[...], each with TVM's optional ".ty".
Type ExpressionParser::type() {
  const Token& where = peek();
  if (peek().kind == Token::Kind::kString) return {dtype_text(b_.string(string_literal()), where), nullptr};
  if (accept("None")) return {kVoid};
  expect("T");
  expect(".");
  std::string_view name = identifier("a type");
  Type t;
  if (name == "let") {
    expect("[");
    t = type();
    expect("]");
  } else if (name == "handle") {
    t.dtype = kHandle;
    if (accept("(")) {
      if (!at(")")) {
        DataType element = type().dtype;
        std::string scope = "global";
        if (accept(",")) scope = string_literal();
        t.pointer = b_.pointer(element, scope);
      }
      expect(")");
    }
  } else if (name == "Buffer") {
    fail_at(where, "a parameter of type T.Buffer belongs to a function that is not lowered", "print the module after the lowering passes");
  } else {
    t.dtype = dtype_text(name, where);
    if (at("(") && peek(1).is(")")) at_ += 2;
  }
  if (at(".") && peek(1).is("ty")) at_ += 2;
  return t;
}

// ---- operators --------------------------------------------------------------------------------------------------------

namespace {

struct Operator {
  std::string_view text;
  ExprKind kind;
  int precedence;
};
constexpr int kNot = 3, kCompare = 4, kUnary = 11;
constexpr Operator kOperators[] = {
    {"or", ExprKind::kOr, 1},         {"and", ExprKind::kAnd, 2},      {"==", ExprKind::kEQ, 4},       {"!=", ExprKind::kNE, 4},
    {"<", ExprKind::kLT, 4},          {"<=", ExprKind::kLE, 4},        {">", ExprKind::kGT, 4},        {">=", ExprKind::kGE, 4},
    {"|", ExprKind::kBitOr, 5},       {"^", ExprKind::kBitXor, 6},     {"&", ExprKind::kBitAnd, 7},    {"<<", ExprKind::kShiftLeft, 8},
    {">>", ExprKind::kShiftRight, 8}, {"+", ExprKind::kAdd, 9},        {"-", ExprKind::kSub, 9},       {"*", ExprKind::kMul, 10},
    {"/", ExprKind::kDiv, 10},        {"//", ExprKind::kFloorDiv, 10}, {"%", ExprKind::kFloorMod, 10},
};

const Operator* find_operator(const Token& t) {
  if (t.kind != Token::Kind::kPunctuation && t.kind != Token::Kind::kName) return nullptr;
  for (const Operator& o : kOperators) {
    if (o.text == t.text) return &o;
  }
  return nullptr;
}

}  // namespace

Parsed ExpressionParser::limit(Parsed p, const Token& where) {
  if (p.depth + depth_ > kMaxDepth) fail_at(where, "nested more than " + std::to_string(kMaxDepth) + " levels deep");
  return p;
}

// A bare literal as a constant of `want`.
const Expr* ExpressionParser::constant_like(const Expr* literal, DataType want) {
  const Expr* c;
  if (auto* i = literal->as<IntImm>()) {
    c = want.is_floating() ? static_cast<const Expr*>(b_.float_imm(want.element(), static_cast<double>(i->value), i->span))
                           : b_.int_imm(want.element(), i->value, i->span);
  } else if (want.is_floating()) {
    c = b_.float_imm(want.element(), literal->as<FloatImm>()->value, literal->span);
  } else {
    return literal;
  }
  return want.lanes > 1 ? b_.broadcast(c, want.lanes) : c;
}

Parsed ExpressionParser::make_binary(ExprKind kind, Parsed a, Parsed b, const Token& where) {
  bool shift = kind == ExprKind::kShiftLeft || kind == ExprKind::kShiftRight;
  if (!shift && a.expr->dtype != b.expr->dtype) {
    if (b.bare)
      b.expr = constant_like(b.expr, a.expr->dtype);
    else if (a.bare)
      a.expr = constant_like(a.expr, b.expr->dtype);
  }
  return limit({b_.binary(kind, a.expr, b.expr), false, std::max(a.depth, b.depth) + 1}, where);
}

Parsed ExpressionParser::expression(int precedence) {
  if (error) return dummy();
  if (depth_ >= kMaxDepth) return fail("nested more than " + std::to_string(kMaxDepth) + " levels deep"), dummy();
  // The right side of an operator is no deeper in the text; a tree that gets too deep is found by limit().
  bool opens = precedence == 0 || precedence == kNot || precedence == kUnary;
  depth_ += opens;
  Parsed left = unary(precedence);
  while (!error) {
    const Token& where = peek();
    const Operator* op = find_operator(where);
    if (!op || op->precedence < precedence) break;
    ++at_;
    Parsed right = expression(op->precedence + 1);
    left = make_binary(op->kind, left, right, where);
    if (op->precedence == kCompare) {
      const Operator* next = find_operator(peek());
      if (next && next->precedence == kCompare) fail("a chain of comparisons", "put one of them in parentheses");
    }
  }
  depth_ -= opens;
  return left;
}

Parsed ExpressionParser::unary(int precedence) {
  const Token& where = peek();
  if (accept("not")) {
    if (precedence > kNot) fail_at(where, "'not' must be in parentheses here");
    Parsed a = expression(kNot);
    return limit({b_.unary(ExprKind::kNot, a.expr), false, a.depth + 1}, where);
  }
  if (accept("~")) {
    Parsed a = expression(kUnary);
    return limit({b_.unary(ExprKind::kBitNot, a.expr), false, a.depth + 1}, where);
  }
  if (accept("-")) {
    if (peek().kind == Token::Kind::kInteger || peek().kind == Token::Kind::kReal) return number(true);
    Parsed a = expression(kUnary);
    return make_binary(ExprKind::kSub, {b_.int_imm(kInt32, 0), true}, a, where);
  }
  return primary();
}

Parsed ExpressionParser::number(bool negative) {
  const Token& t = tokens_[at_++];
  if (t.kind == Token::Kind::kReal) {
    double v = 0;
    auto [end, ec] = std::from_chars(t.text.data(), t.text.data() + t.text.size(), v);
    if (ec == std::errc::result_out_of_range)
      v = t.text.find("e-") != t.text.npos ? 0.0 : HUGE_VAL;
    else if (ec != std::errc() || end != t.text.data() + t.text.size())
      fail_at(t, "'" + std::string(t.text.substr(0, 60)) + "' is not a number");
    return {b_.float_imm(kFloat32, negative ? -v : v), true};
  }
  std::string_view digits = t.text;
  int base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0X")) digits.remove_prefix(2), base = 16;
  uint64_t v = 0;
  auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), v, base);
  if (ec != std::errc() || end != digits.data() + digits.size())
    fail_at(t, "'" + std::string(t.text.substr(0, 60)) + "' is not a number of at most 64 bits");
  return {b_.int_imm(kInt32, static_cast<int64_t>(negative ? 0 - v : v)), true};
}

Parsed ExpressionParser::primary() {
  const Token& t = peek();
  switch (t.kind) {
    case Token::Kind::kInteger:
    case Token::Kind::kReal: return number(false);
    case Token::Kind::kString: return {b_.string_imm(string_literal())};
    case Token::Kind::kName: return name();
    case Token::Kind::kPunctuation:
      if (accept("(")) {
        Parsed p = expression();
        expect(")");
        p.bare = false;
        return p;
      }
      break;
    case Token::Kind::kNewline:
    case Token::Kind::kIndent:
    case Token::Kind::kDedent:
    case Token::Kind::kEnd: break;
  }
  fail("expected an expression, got " + got());
  return dummy();
}

Parsed ExpressionParser::name() {
  const Token& where = peek();
  std::string_view id = tokens_[at_++].text;
  if (id == "True" || id == "False") return {b_.int_imm(kBool, id == "True"), false};
  if (id == "T" && accept(".")) {
    std::string path(identifier("a name"));
    while (at(".") && peek(1).kind == Token::Kind::kName && (peek(2).is("(") || peek(2).is("."))) {
      ++at_;
      path += "." + std::string(identifier("a name"));
    }
    if (!at("(")) return fail("expected '(' after T." + path + ", got " + got()), dummy();
    return t_call(path, where);
  }
  if (id == "Module" && accept(".")) {
    std::string_view callee = identifier("a function");
    auto it = returns_.find(callee);
    if (it == returns_.end()) fail_at(where, "function '" + std::string(callee) + "' is not in the module");
    expect("(");
    return error ? dummy() : finish_call({it->second}, Op::kFunction, b_.string(callee), {}, 0);
  }
  if (id == "metadata") return fail_at(where, "a value that was left out of the text", "print the module with show_meta=True"), dummy();
  auto it = names_.find(id);
  if (it == names_.end() || (!it->second.var && !it->second.buffer)) {
    fail_at(where, "'" + std::string(id.substr(0, 60)) + "' is not defined");
    return dummy();
  }
  return postfix(it->second, id, where);
}

Parsed ExpressionParser::postfix(const Symbol& s, std::string_view name, const Token& where) {
  if (!s.buffer) return {s.var};
  if (at(".") && peek(1).is("data")) return at_ += 2, Parsed{s.buffer->data};
  if (at(".") && (peek(1).is("access_ptr") || peek(1).is("vload")))
    return fail_at(where, "'" + std::string(name) + "." + std::string(peek(1).text) + "' is not read", "index the buffer"), dummy();
  if (!accept("[")) return {s.buffer->data};
  int depth = 0;
  auto list = indices(depth);
  if (error) return dummy();
  return limit({b_.load(access_dtype(s.buffer, list), s.buffer, b_.list(list)), false, depth + 1}, where);
}

DataType ExpressionParser::access_dtype(const Buffer* b, const std::vector<const Expr*>& list) const {
  unsigned n = list.empty() ? 1 : list.back()->dtype.lanes;
  return b->dtype.with_lanes(static_cast<uint16_t>(b->dtype.lanes * n));
}

// `start:stop` is a Ramp of stride 1; the number of lanes is stop - start, which must be a constant.
std::vector<const Expr*> ExpressionParser::indices(int& depth) {
  std::vector<const Expr*> list;
  if (at("(") && peek(1).is(")")) {  // A[()]
    at_ += 2;
    expect("]");
    return list;
  }
  auto split = [](const Expr* e) -> std::pair<const Expr*, int64_t> {  // e as rest + constant
    if (auto* i = e->as<IntImm>()) return {nullptr, i->value};
    if (e->kind == ExprKind::kAdd && e->as<Binary>()->b->as<IntImm>()) return {e->as<Binary>()->a, e->as<Binary>()->b->as<IntImm>()->value};
    return {e, 0};
  };
  while (!error) {
    const Token& where = peek();
    size_t begin = at_;
    Parsed start = expression();
    depth = std::max(depth, start.depth);
    size_t end = at_;
    if (accept(":")) {
      // The usual `start:start + n` repeats the text of the start.
      bool repeats = at_ + (end - begin) < tokens_.size() && tokens_[at_ + (end - begin)].is("+");
      for (size_t i = begin; repeats && i < end; ++i) repeats = tokens_[i].text == tokens_[i + (at_ - begin)].text;
      const Expr* stop;
      if (repeats) {
        at_ += end - begin + 1;
        stop = b_.binary(ExprKind::kAdd, start.expr, expression(kUnary).expr);
      } else {
        stop = expression().expr;
      }
      if (stop->dtype != start.expr->dtype && stop->as<IntImm>()) stop = constant_like(stop, start.expr->dtype);
      auto [a, from] = split(start.expr);
      auto [b, to] = split(stop);
      bool whole = b && !error && (repeats || same(b, start.expr));  // start + n, whatever start is
      int64_t length = whole ? to : to - from, step = 1;
      bool known = whole || (!a && !b) || (a && b && same(a, b));
      if (accept(":")) step = integer_literal();
      int64_t lanes = step >= 1 ? length / step : 0;
      if (!known || lanes < 1 || lanes > 65535) fail_at(where, "a slice of unknown length", "write start:start + n");
      if (error) return list;
      const Expr* stride = b_.int_imm(start.expr->dtype, step);
      list.push_back(lanes == 1 ? start.expr : b_.ramp(start.expr, stride, static_cast<uint16_t>(lanes)));
      ++depth;
    } else {
      list.push_back(start.expr);
    }
    if (!accept(",")) break;
  }
  expect("]");
  return list;
}

// ---- T.<name>(...) ----------------------------------------------------------------------------------------------------

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

// ---- attribute values -------------------------------------------------------------------------------------------------

Value ExpressionParser::plain(const Expr* e) {
  Value v;
  if (auto* i = e->as<IntImm>(); i && e->dtype == kBool)
    v.kind = Value::Kind::kBool, v.boolean = i->value != 0;
  else if (i && e->dtype == kInt32)
    v.kind = Value::Kind::kInt, v.integer = i->value;
  else if (auto* s = e->as<StringImm>())
    v.kind = Value::Kind::kString, v.string = s->value;
  else
    v.kind = Value::Kind::kExpr, v.expr = e;
  return v;
}

const Value* ExpressionParser::map_value() {
  Value v = value();
  if (v.kind != Value::Kind::kMap) fail("expected a dictionary");
  return b_.add(v);
}

Value ExpressionParser::value() {
  Value v;
  if (error) return v;
  if (depth_ >= kMaxDepth) return fail("nested more than " + std::to_string(kMaxDepth) + " levels deep"), v;
  ++depth_;
  if (accept("None")) {
    v.kind = Value::Kind::kNone;
  } else if (accept("[")) {
    std::vector<Value> items;
    while (!error && !at("]")) {
      items.push_back(value());
      if (!accept(",")) break;
    }
    expect("]");
    v.kind = Value::Kind::kArray, v.array = b_.list(items);
  } else if (accept("{")) {
    std::vector<KeyValue> items;
    while (!error && !at("}")) {
      Value key = value();
      expect(":");
      items.push_back({key, value()});
      if (!accept(",")) break;
    }
    expect("}");
    v.kind = Value::Kind::kMap, v.map = b_.list(items);
  } else if (at("T") && peek(2).is("target")) {
    at_ += 3;
    expect("(");
    v = value();
    if (v.kind == Value::Kind::kString) {  // T.target("cuda")
      Value key;
      key.kind = Value::Kind::kString, key.string = "kind";
      v.map = b_.list(std::vector<KeyValue>{{key, v}}), v.string = {};
    }
    v.kind = Value::Kind::kTarget;
    std::vector<KeyValue> items;  // an empty tag is none
    for (const KeyValue& kv : v.map) {
      if (!(kv.key.string == "tag" && kv.value.kind == Value::Kind::kString && kv.value.string.empty())) items.push_back(kv);
    }
    v.map = b_.list(items);
    if (accept(",")) expect("host"), expect("="), fail("a host outside the target's dictionary", "write it under the key \"host\"");
    expect(")");
  } else if (at("T") && peek(2).is("comm_reducer")) {
    at_ += 3;
    skip_balanced();
  } else if (at("T") && (peek(2).is("IntImm") || peek(2).is("StringImm"))) {
    v.kind = Value::Kind::kExpr, v.expr = expr();  // a constant that is to stay an expression
  } else if (accept("float")) {
    expect("(");
    std::string s = string_literal();
    expect(")");
    v.kind = Value::Kind::kFloat, v.floating = s == "inf" ? HUGE_VAL : s == "-inf" ? -HUGE_VAL : std::nan("");
  } else if (peek().kind == Token::Kind::kName && names_.contains(peek().text) && names_[peek().text].buffer && !peek(1).is(".") &&
             !peek(1).is("[")) {
    v.kind = Value::Kind::kBuffer, v.buffer = names_[tokens_[at_++].text].buffer;
  } else {
    Parsed p = expression();
    if (p.bare && p.expr->as<FloatImm>())
      v.kind = Value::Kind::kFloat, v.floating = p.expr->as<FloatImm>()->value;
    else if (p.bare)
      v.kind = Value::Kind::kInt, v.integer = p.expr->as<IntImm>()->value;
    else
      v = plain(p.expr);
  }
  --depth_;
  return v;
}

// ---- names ------------------------------------------------------------------------------------------------------------

void ExpressionParser::define(std::string_view name, Symbol s) {
  Symbol& old = names_[name];
  undo_.emplace_back(name, old.ended ? Symbol{} : old);
  old = s;
}

void ExpressionParser::end_scope(size_t mark) {
  for (; undo_.size() > mark; undo_.pop_back()) {
    auto& [name, old] = undo_.back();
    if (old.var || old.buffer)
      names_[name] = old;
    else
      names_[name].ended = true;
  }
}

namespace {

bool is_var(const Symbol& s, Type t) {
  if (!s.var || s.ended || s.var->dtype != t.dtype) return false;
  const PointerType *a = s.var->pointer, *b = t.pointer;
  return a == b || (a && b && a->element == b->element && a->scope == b->scope);
}

}  // namespace

const Var* ExpressionParser::define_var(std::string_view name, Type t, SpanId span) {
  Symbol& s = names_[name];
  if (s.forward && is_var(s, t)) return s.var;
  const Var* v = b_.var(name, t.dtype, t.pointer, span);
  define(name, {v});
  return v;
}

// `i = T.int32()`. Of a variable in scope it says that there are more definitions of it.
void ExpressionParser::declare_var(std::string_view name, Type t, SpanId span) {
  Symbol& s = names_[name];
  if (is_var(s, t)) {
    s.forward = true;
  } else {
    define(name, {b_.var(name, t.dtype, t.pointer, span), nullptr, true});
  }
}

const Buffer* ExpressionParser::define_buffer(std::string_view name, const Buffer& b) {
  Symbol& s = names_[name];
  auto same_list = [](List<const Expr*> a, List<const Expr*> b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), same);
  };
  const Buffer* old = s.buffer;
  bool again = old && old->data == b.data && old->dtype == b.dtype && same_list(old->shape, b.shape) &&
               same_list(old->strides, b.strides) && old->data_alignment == b.data_alignment && old->offset_factor == b.offset_factor &&
               (old->elem_offset == b.elem_offset || (old->elem_offset && b.elem_offset && same(old->elem_offset, b.elem_offset)));
  if (again) return old;
  const Buffer* made = b_.add(b);
  define(name, {nullptr, made});
  return made;
}

const Buffer* ExpressionParser::find_buffer(std::string_view name) {
  auto it = names_.find(name);
  if (it != names_.end() && it->second.buffer) return it->second.buffer;
  fail("'" + std::string(name.substr(0, 60)) + "' is not a buffer");
  static const Var kNothing{{ExprKind::kVar, kHandle, 0}, "", nullptr};
  static const Buffer kNone{"", &kNothing, kInt32, {}, {}, nullptr};
  return &kNone;
}

}  // namespace kiln::ir::script
