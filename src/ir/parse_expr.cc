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
    if (v.kind == Value::Kind::kString) {  // T.target("KIND")
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
