// Names, expressions and attribute values.
#include <charconv>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "ir/printer.h"
#include "ir/rewriter.h"

namespace kiln::ir::script {

namespace {

struct Infix {
  std::string_view text;  // empty: written as a function
  int precedence;
};

// Integer division and modulo that truncate have no operator in Python.
Infix infix(ExprKind k, bool floating) {
  using enum ExprKind;
  switch (k) {
    case kAdd: return {" + ", kPrecSum};
    case kSub: return {" - ", kPrecSum};
    case kMul: return {" * ", kPrecProduct};
    case kDiv: return {floating ? " / " : "", kPrecProduct};
    case kFloorDiv: return {" // ", kPrecProduct};
    case kFloorMod: return {" % ", kPrecProduct};
    case kEQ: return {" == ", kPrecCompare};
    case kNE: return {" != ", kPrecCompare};
    case kLT: return {" < ", kPrecCompare};
    case kLE: return {" <= ", kPrecCompare};
    case kGT: return {" > ", kPrecCompare};
    case kGE: return {" >= ", kPrecCompare};
    case kAnd: return {" and ", kPrecAnd};
    case kOr: return {" or ", kPrecOr};
    case kBitAnd: return {" & ", kPrecBitAnd};
    case kBitOr: return {" | ", kPrecBitOr};
    case kBitXor: return {" ^ ", kPrecBitXor};
    case kShiftLeft: return {" << ", kPrecShift};
    case kShiftRight: return {" >> ", kPrecShift};
    default: return {"", kPrecPrimary};
  }
}

std::string_view function_name(ExprKind k) {
  using enum ExprKind;
  switch (k) {
    case kAdd: return "T.Add";
    case kSub: return "T.Sub";
    case kMul: return "T.Mul";
    case kDiv: return "T.Div";
    case kMod: return "T.truncmod";
    case kFloorDiv: return "T.FloorDiv";
    case kFloorMod: return "T.FloorMod";
    case kMin: return "T.min";
    case kMax: return "T.max";
    case kEQ: return "T.EQ";
    case kNE: return "T.NE";
    case kLT: return "T.LT";
    case kLE: return "T.LE";
    case kGT: return "T.GT";
    case kGE: return "T.GE";
    case kAnd: return "T.And";
    case kOr: return "T.Or";
    case kBitAnd: return "T.bitwise_and";
    case kBitOr: return "T.bitwise_or";
    case kBitXor: return "T.bitwise_xor";
    case kShiftLeft: return "T.shift_left";
    case kShiftRight: return "T.shift_right";
    case kNot: return "T.Not";
    case kBitNot: return "T.bitwise_not";
    default: return "";
  }
}

}  // namespace

// ---- output --------------------------------------------------------------------------------------------------------

void Printer::number(int64_t v) {
  char b[24];
  out_.append(b, std::to_chars(b, b + sizeof b, v).ptr);
}

void Printer::unsigned_number(uint64_t v) {
  char b[24];
  out_.append(b, std::to_chars(b, b + sizeof b, v).ptr);
}

void Printer::real(double v) {
  char b[40];
  char* end = std::to_chars(b, b + sizeof b, v).ptr;
  std::string_view s(b, static_cast<size_t>(end - b));
  out_ += s;
  if (s.find_first_of(".en") == s.npos) out_ += ".0";
}

void Printer::text(std::string_view s) {
  static constexpr char kHex[] = "0123456789abcdef";
  out_ += '"';
  for (char c : s) {
    auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out_ += '\\', out_ += c;
    else if (c == '\n')
      out_ += "\\n";
    else if (c == '\t')
      out_ += "\\t";
    else if (c == '\r')
      out_ += "\\r";
    else if (u < 0x20 || u == 0x7f)
      out_ += "\\x", out_ += kHex[u >> 4], out_ += kHex[u & 15];
    else
      out_ += c;
  }
  out_ += '"';
}

void Printer::dtype_text(DataType t) {
  out_ += '"';
  append_dtype(out_, t);
  out_ += '"';
}

void Printer::type(DataType t, const PointerType* p) {
  if (t == kHandle && p) {
    out_ += "T.handle(";
    dtype_text(p->element);
    out_ += ", ";
    text(p->scope);
    out_ += ")";
  } else {
    out_ += "T.";
    append_dtype(out_, t);
  }
}

void Printer::result_type(DataType t, const PointerType* p) {
  if (p)
    type(t, p);
  else
    dtype_text(t);
}

// ---- names ---------------------------------------------------------------------------------------------------------

std::string Printer::fresh(std::string_view wanted) {
  std::string name(wanted);
  if (!is_identifier(name)) {
    for (char& c : name) {
      if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))) c = '_';
    }
    if (name.empty() || (name[0] >= '0' && name[0] <= '9') || !is_identifier(name)) name = "v_" + name;
  }
  if (taken_.insert(name).second) return name;
  int& n = suffix_[name];
  for (;;) {
    std::string candidate = name + "_" + std::to_string(++n);
    if (taken_.insert(candidate).second) return candidate;
  }
}

const std::string& Printer::define(const Var* v) {
  auto [it, is_new] = vars_.try_emplace(v);
  if (is_new)
    it->second.text = fresh(v->name);
  else
    up_front(it->first, it->second);
  return it->second.text;
}

void Printer::up_front(const Var* v, VarName& n) {
  if (!n.up_front) up_front_.push_back(v);
  n.up_front = true;
}

void Printer::var(const Var* v) {
  if (plain_) {
    out_ += v->name;
    return;
  }
  auto it = vars_.find(v);
  if (it == vars_.end()) {
    out_ += free_variable(v);
    return;
  }
  // The declaration of a buffer stands before the statement, outside of the lets around the buffer's use.
  if (it->second.open_let && in_declaration_) up_front(v, it->second);
  out_ += it->second.text;
}

const std::string& Printer::free_variable(const Var* v) {
  const std::string& name = define(v);
  hoisted_.push_back(declaration(v, name));
  return name;
}

std::string Printer::declaration(const Var* v, std::string_view name) {
  std::string line(name);
  line += " = ";
  std::swap(out_, line);
  if (v->dtype == kHandle && v->pointer)
    type(v->dtype, v->pointer);
  else
    out_ += "T.", append_dtype(out_, v->dtype), out_ += "()";
  std::swap(out_, line);
  return line;
}

void Printer::buffer(const Buffer* b) {
  if (plain_) {
    out_ += b->name;
    return;
  }
  auto it = buffers_.find(b);
  if (it == buffers_.end()) {
    std::string line;
    std::swap(out_, line);
    bool outer = std::exchange(in_declaration_, true);
    std::string name = fresh(b->name);
    out_ += name + " = T.Buffer(";
    layout(b, true);
    out_ += ")";
    in_declaration_ = outer;
    std::swap(out_, line);
    hoisted_.push_back(std::move(line));
    it = buffers_.emplace(b, std::move(name)).first;
  }
  out_ += it->second;
}

void Printer::layout(const Buffer* b, bool with_data) {
  tuple(b->shape);
  out_ += ", ";
  dtype_text(b->dtype);
  if (with_data) out_ += ", data=", var(b->data);
  if (!b->strides.empty()) out_ += ", strides=", tuple(b->strides);
  if (b->elem_offset) out_ += ", elem_offset=", expr(b->elem_offset, kLowest);
  if (!with_data && b->scope() != "global") out_ += ", scope=", text(b->scope());
  if (b->data_alignment != 64) out_ += ", align=", number(b->data_alignment);
  if (b->offset_factor != 1) out_ += ", offset_factor=", number(b->offset_factor);
}

void Printer::tuple(List<const Expr*> items) {
  out_ += "(";
  list(items);
  out_ += items.size() == 1 ? ",)" : ")";
}

void Printer::list(List<const Expr*> items) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i) out_ += ", ";
    expr(items[i], kLowest);
  }
}

// ---- expressions ---------------------------------------------------------------------------------------------------

void Printer::expr(const Expr* e, int outer) {
  switch (e->kind) {
    case ExprKind::kIntImm: return integer(e->as<IntImm>());
    case ExprKind::kFloatImm: return floating(e->as<FloatImm>());
    case ExprKind::kStringImm: return text(e->as<StringImm>()->value);
    case ExprKind::kVar: return var(e->as<Var>());
    case ExprKind::kAdd:
    case ExprKind::kSub:
    case ExprKind::kMul:
    case ExprKind::kDiv:
    case ExprKind::kMod:
    case ExprKind::kFloorDiv:
    case ExprKind::kFloorMod:
    case ExprKind::kMin:
    case ExprKind::kMax:
    case ExprKind::kEQ:
    case ExprKind::kNE:
    case ExprKind::kLT:
    case ExprKind::kLE:
    case ExprKind::kGT:
    case ExprKind::kGE:
    case ExprKind::kAnd:
    case ExprKind::kOr:
    case ExprKind::kBitAnd:
    case ExprKind::kBitOr:
    case ExprKind::kBitXor:
    case ExprKind::kShiftLeft:
    case ExprKind::kShiftRight: return binary(e->as<Binary>(), outer);
    case ExprKind::kNot:
    case ExprKind::kBitNot: return unary(e->as<Unary>(), outer);
    case ExprKind::kCast:
      out_ += "T.Cast(";
      dtype_text(e->dtype);
      out_ += ", ";
      expr(e->as<Cast>()->value, kLowest);
      out_ += ")";
      return;
    case ExprKind::kSelect: {
      auto* s = e->as<Select>();
      out_ += "T.Select(";
      expr(s->condition, kLowest), out_ += ", ";
      operand(s->true_value, s->false_value->dtype), out_ += ", ", operand(s->false_value, s->true_value->dtype);
      return end_call(e->dtype, s->true_value->dtype);
    }
    case ExprKind::kRamp: {
      auto* r = e->as<Ramp>();
      out_ += "T.Ramp(";
      expr(r->base, kLowest), out_ += ", ", operand(r->stride, r->base->dtype), out_ += ", ";
      return lanes(e->dtype, r->base->dtype);
    }
    case ExprKind::kBroadcast:
      out_ += "T.Broadcast(";
      expr(e->as<Broadcast>()->value, kLowest), out_ += ", ";
      return lanes(e->dtype, e->as<Broadcast>()->value->dtype);
    case ExprKind::kShuffle: {
      auto* s = e->as<Shuffle>();
      out_ += "T.Shuffle([", list(s->vectors), out_ += "], [", list(s->indices), out_ += "]";
      DataType element = s->vectors.empty() ? kVoid : s->vectors[0]->dtype;
      return end_call(e->dtype, element.with_lanes(static_cast<uint16_t>(s->indices.size())));
    }
    case ExprKind::kLet: return let(e->as<Let>());
    case ExprKind::kLoad: return load(e->as<Load>());
    case ExprKind::kCall: return call(e->as<Call>());
  }
}

void Printer::end_call(DataType dtype, DataType implied) {
  if (dtype != implied) out_ += ", dtype=", dtype_text(dtype);
  out_ += ")";
}

void Printer::lanes(DataType dtype, DataType operand) {
  int n = operand.lanes ? dtype.lanes / operand.lanes : 0;
  number(n);
  end_call(dtype, operand.with_lanes(static_cast<uint16_t>(n * operand.lanes)));
}

void Printer::integer(const IntImm* i) {
  if (i->dtype == kInt32 && i->value >= INT32_MIN && i->value <= INT32_MAX) return number(i->value);
  if (i->dtype == kBool && (i->value == 0 || i->value == 1)) {
    out_ += i->value ? "T.bool(True)" : "T.bool(False)";
    return;
  }
  if ((i->dtype.is_integer() || i->dtype.is_bool()) && i->dtype.lanes == 1) {
    out_ += "T.", append_dtype(out_, i->dtype), out_ += "(";
    if (i->dtype.is_uint() && i->dtype.bits == 64)
      unsigned_number(static_cast<uint64_t>(i->value));
    else
      number(i->value);
    out_ += ")";
    return;
  }
  out_ += "T.IntImm(", dtype_text(i->dtype), out_ += ", ", number(i->value), out_ += ")";
}

void Printer::floating(const FloatImm* f) {
  bool plain = f->dtype.is_floating() && f->dtype.lanes == 1;
  if (plain)
    out_ += "T.", append_dtype(out_, f->dtype), out_ += "(";
  else
    out_ += "T.FloatImm(", dtype_text(f->dtype), out_ += ", ";
  if (std::isnan(f->value))
    out_ += "\"nan\"";
  else if (std::isinf(f->value))
    out_ += f->value > 0 ? "\"inf\"" : "\"-inf\"";
  else
    real(f->value);
  out_ += ")";
}

void Printer::binary(const Binary* e, int outer) {
  DataType a = e->a->dtype, b = e->b->dtype;
  bool shift = e->kind == ExprKind::kShiftLeft || e->kind == ExprKind::kShiftRight;
  bool logical = is_comparison(e->kind) || e->kind == ExprKind::kAnd || e->kind == ExprKind::kOr;
  DataType implied = logical ? kBool.with_lanes(a.lanes) : a;
  Infix op = infix(e->kind, a.is_floating());
  if (op.text.empty() || e->dtype != implied || (a != b && !shift)) {
    out_ += function_name(e->kind), out_ += "(";
    operand(e->a, b), out_ += ", ", operand(e->b, a);
    return end_call(e->dtype, implied);
  }
  bool parens = op.precedence < outer;
  if (parens) out_ += "(";
  // Comparisons chain in Python, so neither side may be one.
  expr(e->a, is_comparison(e->kind) ? op.precedence + 1 : op.precedence);
  out_ += op.text;
  expr(e->b, op.precedence + 1);
  if (parens) out_ += ")";
}

void Printer::operand(const Expr* e, DataType beside) {
  auto* i = e->as<IntImm>();
  if (!i || e->dtype != kInt32 || beside == kInt32) return expr(e, kLowest);
  out_ += "T.int32(", number(i->value), out_ += ")";
}

void Printer::unary(const Unary* e, int outer) {
  bool is_not = e->kind == ExprKind::kNot;
  if (e->dtype != e->a->dtype) {
    out_ += function_name(e->kind), out_ += "(", expr(e->a, kLowest);
    return end_call(e->dtype, e->a->dtype);
  }
  int precedence = is_not ? kPrecNot : kPrecUnary;
  bool parens = precedence < outer;
  if (parens) out_ += "(";
  out_ += is_not ? "not " : "~";
  expr(e->a, precedence);
  if (parens) out_ += ")";
}

void Printer::let(const Let* e) {
  std::string name(plain_ ? std::string(e->var->name) : define(e->var));
  if (!plain_) vars_[e->var].open_let = true;
  out_ += "T.Let(", expr(e->body, kLowest);
  if (!plain_) vars_[e->var].open_let = false;
  out_ += ", where={", out_ += name, out_ += ": ", expr(e->value, kLowest), out_ += "}";
  if (e->var->dtype != e->value->dtype || e->var->pointer) out_ += ", type=", type(e->var->dtype, e->var->pointer);
  end_call(e->dtype, e->body->dtype);
}

void Printer::subscript(List<const Expr*> indices) {
  out_ += "[";
  for (size_t i = 0; i < indices.size(); ++i) {
    if (i) out_ += ", ";
    auto* ramp = indices[i]->as<Ramp>();
    auto* stride = ramp ? ramp->stride->as<IntImm>() : nullptr;
    bool slice = stride && stride->value >= 1 && stride->value <= 4096 && ramp->base->dtype.lanes == 1 &&
                 stride->dtype == ramp->base->dtype && ramp->dtype.element() == ramp->base->dtype && ramp->dtype.lanes > 1 && !in_slice_;
    if (!slice) {
      expr(indices[i], kLowest);
      continue;
    }
    in_slice_ = true;  // the base is printed twice: a slice in a slice would double at each level
    size_t from = out_.size();
    auto* constant = ramp->base->as<IntImm>();
    if (constant) {
      expr(constant, kLowest), out_ += ":";
      IntImm end = *constant;
      end.value = static_cast<int64_t>(static_cast<uint64_t>(end.value) + ramp->dtype.lanes * static_cast<uint64_t>(stride->value));
      expr(&end, kLowest);
    } else {
      expr(ramp->base, kPrecSum);
      std::string base = out_.substr(from);
      out_ += ":", out_ += base, out_ += " + ";
      IntImm n{{ExprKind::kIntImm, ramp->base->dtype, 0}, ramp->dtype.lanes * stride->value};
      integer(&n);
    }
    if (stride->value != 1) out_ += ":", integer(stride);
    in_slice_ = false;
  }
  out_ += indices.empty() ? "()]" : "]";
}

DataType Printer::access_dtype(const Buffer* b, List<const Expr*> indices) {
  unsigned n = indices.empty() ? 1 : indices.back()->dtype.lanes;
  return b->dtype.with_lanes(static_cast<uint16_t>(b->dtype.lanes * n));
}

void Printer::load(const Load* l) {
  if (l->dtype == access_dtype(l->buffer, l->indices) && !l->predicate) {
    buffer(l->buffer);
    return subscript(l->indices);
  }
  out_ += "T.BufferLoad(", buffer(l->buffer), out_ += ", [", list(l->indices), out_ += "]";
  if (l->predicate) out_ += ", predicate=", expr(l->predicate, kLowest);
  end_call(l->dtype, access_dtype(l->buffer, l->indices));
}

void Printer::call(const Call* c) {
  DataType implied;
  size_t close = 0;
  ResultRule rule = op_info(c->op).rule;
  std::string_view name = script::short_name(c->op);
  if (c->op == Op::kFunction) {
    auto it = returns_.find(c->name);
    if (it != returns_.end() && it->second == c->dtype && !c->pointer && is_identifier(c->name)) {
      out_ += "Module.", out_ += c->name, out_ += "(";
    } else {
      out_ += "T.call_function(", result_type(c->dtype, c->pointer), out_ += ", ", text(c->name), out_ += c->args.empty() ? "" : ", ";
    }
  } else if (!name.empty() && rule == ResultRule::kExplicitFirst) {
    out_ += "T.", out_ += name, out_ += "(", result_type(c->dtype, c->pointer), out_ += c->args.empty() ? "" : ", ";
  } else if (!name.empty() && rule == ResultRule::kExplicitLast) {
    out_ += "T.", out_ += name, out_ += "(";
    close = 1;
  } else if (!name.empty() && !c->pointer && script::implied_dtype(c->op, c->args, implied) && implied == c->dtype) {
    out_ += "T.", out_ += name, out_ += "(";
  } else {
    out_ += "T.call_intrin(", result_type(c->dtype, c->pointer), out_ += ", ", text(c->name), out_ += c->args.empty() ? "" : ", ";
  }
  list(c->args);
  if (close) out_ += c->args.empty() ? "" : ", ", result_type(c->dtype, c->pointer);
  if (c->annotations && !c->annotations->map.empty()) {
    if (out_.back() != '(') out_ += ", ";
    out_ += "annotations=", value(*c->annotations);
  }
  out_ += ")";
}

// ---- attribute values ----------------------------------------------------------------------------------------------

void Printer::value(const Value& v) {
  switch (v.kind) {
    case Value::Kind::kNone: out_ += "None"; return;
    case Value::Kind::kBool: out_ += v.boolean ? "True" : "False"; return;
    case Value::Kind::kInt: return number(v.integer);
    case Value::Kind::kFloat:
      if (std::isnan(v.floating))
        out_ += "float(\"nan\")";
      else if (std::isinf(v.floating))
        out_ += v.floating > 0 ? "float(\"inf\")" : "float(\"-inf\")";
      else
        real(v.floating);
      return;
    case Value::Kind::kString: return text(v.string);
    case Value::Kind::kArray:
      out_ += "[";
      for (size_t i = 0; i < v.array.size(); ++i) {
        if (i) out_ += ", ";
        value(v.array[i]);
      }
      out_ += "]";
      return;
    case Value::Kind::kTarget:
      out_ += "T.target(";
      map(v.map);
      out_ += ")";
      return;
    case Value::Kind::kMap: return map(v.map);
    case Value::Kind::kExpr: return expression_value(v.expr);
    case Value::Kind::kBuffer: return buffer(v.buffer);
  }
}

void Printer::expression_value(const Expr* e) {
  if (auto* i = e->as<IntImm>(); i && (i->dtype == kInt32 || i->dtype == kBool))
    out_ += "T.IntImm(", dtype_text(i->dtype), out_ += ", ", number(i->value), out_ += ")";
  else if (auto* s = e->as<StringImm>())
    out_ += "T.StringImm(", text(s->value), out_ += ")";
  else
    expr(e, kLowest);
}

void Printer::map(List<KeyValue> items, std::string_view skip) {
  out_ += "{";
  bool first = true;
  for (const KeyValue& kv : items) {
    if (!skip.empty() && kv.key.kind == Value::Kind::kString && kv.key.string == skip) continue;
    if (!first) out_ += ", ";
    first = false;
    value(kv.key), out_ += ": ", value(kv.value);
  }
  out_ += "}";
}

}  // namespace kiln::ir::script
