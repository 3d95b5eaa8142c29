#include <charconv>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "ir/rewriter.h"
#include "ir/script.h"
#include "ir/text.h"

namespace kiln::ir {

namespace {

// Python's precedences, low to high.
enum Precedence : int {
  kLowest,
  kPrecOr,
  kPrecAnd,
  kPrecNot,
  kPrecCompare,
  kPrecBitOr,
  kPrecBitXor,
  kPrecBitAnd,
  kPrecShift,
  kPrecSum,
  kPrecProduct,
  kPrecUnary,
  kPrecPrimary
};

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

bool is_identifier(std::string_view s) {
  if (s.empty() || (s[0] >= '0' && s[0] <= '9')) return false;
  for (char c : s) {
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_')) return false;
  }
  static const std::unordered_set<std::string_view> kTaken = {
      "False", "None",  "True",   "and",      "as",     "assert",  "async", "await",   "break",  "class", "continue",
      "def",   "del",   "elif",   "else",     "except", "finally", "for",   "from",    "global", "if",    "import",
      "in",    "is",    "lambda", "nonlocal", "not",    "or",      "pass",  "raise",   "return", "try",   "while",
      "with",  "yield", "T",      "I",        "Module", "range",   "float", "metadata"};
  return !kTaken.contains(s);
}

class Printer {
 public:
  explicit Printer(bool names_as_they_are = false) : plain_(names_as_they_are) {}

  std::string module(const Module& m) {
    out_.reserve(1 << 14);
    out_ = "# from tvm.script import ir as I\n# from tvm.script import tirx as T\n\n@I.ir_module\nclass Module:\n";
    for (const Function* f : m.functions) returns_.emplace(f->name, f->ret);
    depth_ = 1;
    if (m.attrs && !m.attrs->map.empty()) {
      indent();
      out_ += "I.module_attrs(";
      value(*m.attrs);
      out_ += ")\n";
    }
    if (m.functions.empty()) out_ += "    pass\n";
    if (m.functions.size() > 1) declare_shared(m);
    for (size_t i = 0; i < m.functions.size(); ++i) {
      if (i) out_ += "\n";
      function(*m.functions[i]);
    }
    return std::move(out_);
  }
  std::string expression(const Expr* e) {
    expr(e, kLowest);
    return std::move(out_);
  }
  std::string statement(const Stmt* s) {
    block_item(s, true);
    if (!out_.empty() && out_.back() == '\n') out_.pop_back();
    return std::move(out_);
  }

 private:
  struct VarName {
    std::string text;
    bool up_front = false, open_let = false;
  };

  // ---- output -------------------------------------------------------------------------------------------------------

  void indent() { out_.append(static_cast<size_t>(depth_) * 4, ' '); }
  void number(int64_t v) {
    char b[24];
    out_.append(b, std::to_chars(b, b + sizeof b, v).ptr);
  }
  void unsigned_number(uint64_t v) {
    char b[24];
    out_.append(b, std::to_chars(b, b + sizeof b, v).ptr);
  }
  void real(double v) {  // the shortest text that reads back to the same double
    char b[40];
    char* end = std::to_chars(b, b + sizeof b, v).ptr;
    std::string_view s(b, static_cast<size_t>(end - b));
    out_ += s;
    if (s.find_first_of(".en") == s.npos) out_ += ".0";
  }
  void text(std::string_view s) {
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
  void dtype_text(DataType t) {
    out_ += '"';
    append_dtype(out_, t);
    out_ += '"';
  }
  // As an annotation and as a type argument: T.int32, T.handle("float32", "global").
  void type(DataType t, const PointerType* p) {
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
  // A call's result type where text must say it: "int32", T.handle("float32", "global").
  void result_type(DataType t, const PointerType* p) {
    if (p)
      type(t, p);
    else
      dtype_text(t);
  }

  // ---- names --------------------------------------------------------------------------------------------------------

  // A fresh name: the wanted one made an identifier, with a suffix when it is taken.
  std::string fresh(std::string_view wanted) {
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
  const std::string& define(const Var* v) {
    auto [it, is_new] = vars_.try_emplace(v);
    if (is_new)
      it->second.text = fresh(v->name);
    else
      up_front(it->first, it->second);
    return it->second.text;
  }
  // A variable with several definitions is declared at the top of the function; each definition then is of that variable.
  void up_front(const Var* v, VarName& n) {
    if (!n.up_front) up_front_.push_back(v);
    n.up_front = true;
  }
  void var(const Var* v) {
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
  // A variable that nothing has defined yet is declared on a line of its own, before the statement that uses it.
  const std::string& free_variable(const Var* v) {
    const std::string& name = define(v);
    hoisted_.push_back(declaration(v, name));
    return name;
  }
  // `i = T.int32()`
  std::string declaration(const Var* v, std::string_view name) {
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
  void buffer(const Buffer* b) {
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
  // Shape and the rest of a buffer, as arguments.
  void layout(const Buffer* b, bool with_data) {
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
  void tuple(List<const Expr*> items) {
    out_ += "(";
    list(items);
    out_ += items.size() == 1 ? ",)" : ")";
  }
  void list(List<const Expr*> items) {
    for (size_t i = 0; i < items.size(); ++i) {
      if (i) out_ += ", ";
      expr(items[i], kLowest);
    }
  }

  // ---- expressions --------------------------------------------------------------------------------------------------

  void expr(const Expr* e, int outer) {
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
  // Closes a call; a dtype other than the implied one is said.
  void end_call(DataType dtype, DataType implied) {
    if (dtype != implied) out_ += ", dtype=", dtype_text(dtype);
    out_ += ")";
  }
  // Lanes of a Ramp or Broadcast, as a multiple of its operand's.
  void lanes(DataType dtype, DataType operand) {
    int n = operand.lanes ? dtype.lanes / operand.lanes : 0;
    number(n);
    end_call(dtype, operand.with_lanes(static_cast<uint16_t>(n * operand.lanes)));
  }

  void integer(const IntImm* i) {
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
  void floating(const FloatImm* f) {
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

  void binary(const Binary* e, int outer) {
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

  // A bare constant would take the dtype of what it stands beside.
  void operand(const Expr* e, DataType beside) {
    auto* i = e->as<IntImm>();
    if (!i || e->dtype != kInt32 || beside == kInt32) return expr(e, kLowest);
    out_ += "T.int32(", number(i->value), out_ += ")";
  }

  void unary(const Unary* e, int outer) {
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

  void let(const Let* e) {
    std::string name(plain_ ? std::string(e->var->name) : define(e->var));
    if (!plain_) vars_[e->var].open_let = true;
    out_ += "T.Let(", expr(e->body, kLowest);
    if (!plain_) vars_[e->var].open_let = false;
    out_ += ", where={", out_ += name, out_ += ": ", expr(e->value, kLowest), out_ += "}";
    if (e->var->dtype != e->value->dtype || e->var->pointer) out_ += ", type=", type(e->var->dtype, e->var->pointer);
    end_call(e->dtype, e->body->dtype);
  }

  // A[i]; a Ramp as a slice: A[i:i + 4], A[i:i + 8:2].
  void subscript(List<const Expr*> indices) {
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
  static DataType access_dtype(const Buffer* b, List<const Expr*> indices) {
    unsigned n = indices.empty() ? 1 : indices.back()->dtype.lanes;
    return b->dtype.with_lanes(static_cast<uint16_t>(b->dtype.lanes * n));
  }
  void load(const Load* l) {
    if (l->dtype == access_dtype(l->buffer, l->indices) && !l->predicate) {
      buffer(l->buffer);
      return subscript(l->indices);
    }
    out_ += "T.BufferLoad(", buffer(l->buffer), out_ += ", [", list(l->indices), out_ += "]";
    if (l->predicate) out_ += ", predicate=", expr(l->predicate, kLowest);
    end_call(l->dtype, access_dtype(l->buffer, l->indices));
  }

  void call(const Call* c) {
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

  // ---- attribute values ---------------------------------------------------------------------------------------------

  void value(const Value& v) {
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
  // A bare constant would read as a plain value.
  void expression_value(const Expr* e) {
    if (auto* i = e->as<IntImm>(); i && (i->dtype == kInt32 || i->dtype == kBool))
      out_ += "T.IntImm(", dtype_text(i->dtype), out_ += ", ", number(i->value), out_ += ")";
    else if (auto* s = e->as<StringImm>())
      out_ += "T.StringImm(", text(s->value), out_ += ")";
    else
      expr(e, kLowest);
  }
  void map(List<KeyValue> items, std::string_view skip = {}) {
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

  // ---- statements ---------------------------------------------------------------------------------------------------

  // Prints one statement at the current depth; `last` says that nothing follows it in its block.
  void block_item(const Stmt* s, bool last) {
    if (auto* seq = s->as<Seq>()) {
      for (size_t i = 0; i < seq->stmts.size(); ++i) block_item(seq->stmts[i], last && i + 1 == seq->stmts.size());
      if (seq->stmts.empty()) line("pass");
      return;
    }
    size_t start = out_.size();
    indent();
    head(s, last);
    out_ += '\n';
    // Declarations that the head turned out to need go before it.
    if (!hoisted_.empty()) {
      std::string mine = out_.substr(start);
      out_.resize(start);
      for (const std::string& text : std::exchange(hoisted_, {})) line(text);
      out_ += mine;
    }
    bodies(s, last);
  }
  void line(std::string_view text) {
    indent();
    out_ += text;
    out_ += '\n';
  }
  void block(const Stmt* s) {
    ++depth_;
    block_item(s, true);
    --depth_;
  }
  // An annotation that covers the rest of its block is a plain line, as in TVM's own text.
  void rest(const Stmt* body, bool last) {
    if (!last) return block(body);
    auto* seq = body->as<Seq>();
    if (!seq || !seq->stmts.empty()) block_item(body, true);
  }
  void bodies(const Stmt* s, bool last) {
    if (auto* f = s->as<For>()) return block(f->body);
    if (auto* w = s->as<While>()) return block(w->body);
    if (auto* a = s->as<Attr>()) return rest(a->body, last);
    if (auto* t = s->as<ThreadExtent>()) return rest(t->body, last);
    if (auto* i = s->as<If>()) {
      block(i->then_case);
      if (i->else_case) {
        line("else:");
        block(i->else_case);
      }
    }
  }

  void head(const Stmt* s, bool last) {
    switch (s->kind) {
      case StmtKind::kSeq: return;
      case StmtKind::kFor: return loop(s->as<For>());
      case StmtKind::kWhile: out_ += "while ", expr(s->as<While>()->condition, kLowest), out_ += ":"; return;
      case StmtKind::kIf: out_ += "if ", expr(s->as<If>()->condition, kLowest), out_ += ":"; return;
      case StmtKind::kBind: {
        auto* b = s->as<Bind>();
        std::string value;
        std::swap(out_, value);
        operand(b->value, b->var->dtype);
        std::swap(out_, value);
        out_ += plain_ ? std::string(b->var->name) : define(b->var);
        out_ += ": ", type(b->var->dtype, b->var->pointer), out_ += " = ", out_ += value;
        return;
      }
      case StmtKind::kAllocBuffer: return alloc(s->as<AllocBuffer>());
      case StmtKind::kDeclBuffer: {
        const Buffer* b = s->as<DeclBuffer>()->buffer;
        std::string args;
        std::swap(out_, args);
        layout(b, true);
        std::swap(out_, args);
        out_ += declare(b), out_ += " = T.decl_buffer(", out_ += args, out_ += ")";
        return;
      }
      case StmtKind::kStore: return store(s->as<Store>());
      case StmtKind::kEvaluate: {
        const Expr* v = s->as<Evaluate>()->value;
        auto* c = v->as<Call>();
        // Alone on a line these are statements of their own.
        bool control = c && (c->op == Op::tirx_ret || c->op == Op::tirx_break_loop || c->op == Op::tirx_continue_loop);
        if (c && !control) return expr(v, kLowest);
        out_ += "T.evaluate(", expr(v, kLowest), out_ += ")";
        return;
      }
      case StmtKind::kAttr: {
        auto* a = s->as<Attr>();
        if (!last) out_ += "with ";
        out_ += "T.attr(", value(a->node), out_ += ", ", text(a->key), out_ += ", ", expr(a->value, kLowest), out_ += last ? ")" : "):";
        return;
      }
      case StmtKind::kThreadExtent: return thread(s->as<ThreadExtent>(), last);
      case StmtKind::kAssert: {
        auto* a = s->as<Assert>();
        out_ += "assert ", expr(a->condition, kLowest), out_ += ", (", text(a->error_kind), out_ += ", [";
        for (size_t i = 0; i < a->message_parts.size(); ++i) {
          if (i) out_ += ", ";
          text(a->message_parts[i]);
        }
        out_ += "])";
        return;
      }
      case StmtKind::kReturn:
        out_ += "return";
        if (s->as<Return>()->value) out_ += " ", expr(s->as<Return>()->value, kLowest);
        return;
      case StmtKind::kBreak: out_ += "break"; return;
      case StmtKind::kContinue: out_ += "continue"; return;
    }
  }
  std::string declare(const Buffer* b) {
    if (plain_) return std::string(b->name);
    auto it = buffers_.find(b);
    if (it == buffers_.end()) it = buffers_.emplace(b, fresh(b->name)).first;
    return it->second;
  }

  void alloc(const AllocBuffer* a) {
    const Buffer* b = a->buffer;
    std::string args;
    std::swap(out_, args);
    std::string notes;
    std::swap(out_, notes);
    if (a->annotations && !a->annotations->map.empty()) out_ += ", annotations=", value(*a->annotations);
    std::swap(out_, notes);
    bool shared = !plain_ && vars_.contains(b->data);
    layout(b, shared);
    std::swap(out_, args);
    std::string name = declare(b);
    if (!shared && !plain_) vars_[b->data].text = name + ".data";
    out_ += name, out_ += " = T.alloc_buffer(", out_ += args;
    bool usual = b->data->pointer && b->data->pointer->element == b->dtype && b->data->dtype == kHandle;
    if (!usual && !shared) out_ += ", type=", type(b->data->dtype, b->data->pointer);
    out_ += notes, out_ += ")";
  }

  void store(const Store* s) {
    if (s->value->dtype == access_dtype(s->buffer, s->indices) && !s->predicate) {
      buffer(s->buffer);
      subscript(s->indices);
      out_ += " = ";
      return expr(s->value, kLowest);
    }
    out_ += "T.BufferStore(", buffer(s->buffer), out_ += ", ", expr(s->value, kLowest), out_ += ", [", list(s->indices), out_ += "]";
    if (s->predicate) out_ += ", predicate=", expr(s->predicate, kLowest);
    out_ += ")";
  }

  void loop(const For* f) {
    std::string args;
    std::swap(out_, args);
    auto *min = f->min->as<IntImm>(), *extent = f->extent->as<IntImm>();
    bool from_zero = min && min->value == 0 && min->dtype == f->extent->dtype;
    bool both = min && extent && min->dtype == kInt32 && extent->dtype == kInt32 && min->value + extent->value <= INT32_MAX &&
                min->value + extent->value >= INT32_MIN;
    if (from_zero)
      expr(f->extent, kLowest);
    else if (both)
      number(min->value), out_ += ", ", number(min->value + extent->value);
    else
      expr(f->min, kLowest), out_ += ", extent=", expr(f->extent, kLowest);
    if (f->for_kind == ForKind::kThreadBinding) out_ += ", thread=", text(f->thread_tag);
    if (f->step) out_ += ", step=", expr(f->step, kLowest);
    if (f->annotations && !f->annotations->map.empty()) out_ += ", annotations=", value(*f->annotations);
    if (f->var->dtype != f->extent->dtype) out_ += ", dtype=", dtype_text(f->var->dtype);
    std::swap(out_, args);
    bool simple = f->for_kind == ForKind::kSerial && (from_zero || both) && !f->step && !(f->annotations && !f->annotations->map.empty()) &&
                  f->var->dtype == f->extent->dtype;
    static constexpr std::string_view kKinds[] = {"T.serial(", "T.parallel(", "T.vectorized(", "T.unroll(", "T.thread_binding("};
    out_ += "for ", out_ += plain_ ? std::string(f->var->name) : define(f->var), out_ += " in ";
    out_ += simple ? "range(" : kKinds[static_cast<size_t>(f->for_kind)], out_ += args, out_ += "):";
  }

  void thread(const ThreadExtent* t, bool last) {
    std::string extent;
    std::swap(out_, extent);
    expr(t->extent, kLowest);
    std::swap(out_, extent);
    std::string name = plain_ ? std::string(t->var->name) : define(t->var);
    std::string call = "T.launch_thread(";
    std::swap(out_, call);
    text(t->tag), out_ += ", ", out_ += extent;
    if (t->var->dtype != kInt32) out_ += ", dtype=", dtype_text(t->var->dtype);
    out_ += ")";
    std::swap(out_, call);
    if (last)
      out_ += name, out_ += " = ", out_ += call;
    else
      out_ += "with ", out_ += call, out_ += " as ", out_ += name, out_ += ":";
  }

  // ---- functions ----------------------------------------------------------------------------------------------------

  // Variables and buffers that several functions use are declared in the class.
  void declare_shared(const Module& m) {
    std::unordered_map<const void*, const Function*> first;
    std::vector<const Var*> vars;
    std::vector<const Buffer*> buffers;
    for (const Function* f : m.functions) {
      script::for_each_name(
          *f,
          [&](const Var* v) {
            auto [it, is_new] = first.try_emplace(v, f);
            if (!is_new && it->second && it->second != f) vars.push_back(v), it->second = nullptr;
          },
          [&](const Buffer* b) {
            auto [it, is_new] = first.try_emplace(b, f);
            bool elsewhere = !is_new && it->second && it->second != f;
            if (elsewhere) buffers.push_back(b), it->second = nullptr;
            return is_new || elsewhere;  // what a shared buffer mentions is shared
          });
    }
    for (const Var* v : vars) line(declaration(v, define(v)));
    for (const Buffer* b : buffers) {
      std::string ignored;
      std::swap(out_, ignored);
      buffer(b);
      std::swap(out_, ignored);
      for (const std::string& text : std::exchange(hoisted_, {})) line(text);
    }
    for (auto& [v, n] : vars_) n.up_front = true;  // the class says it already
    shared_vars_ = vars_, shared_buffers_ = buffers_, shared_taken_ = taken_;
  }

  void function(const Function& f) {
    vars_ = shared_vars_, buffers_ = shared_buffers_, taken_ = shared_taken_;
    suffix_.clear(), hoisted_.clear(), up_front_.clear();
    const Value* symbol = f.attrs ? f.attrs->find("global_symbol") : nullptr;
    bool same_symbol = symbol && symbol->kind == Value::Kind::kString && symbol->string == f.name;
    bool named = is_identifier(f.name);
    std::string args;
    if (!symbol) args = "private=True";
    if (!named) {
      std::swap(out_, args);
      out_ += out_.empty() ? "name=" : ", name=", text(f.name);
      std::swap(out_, args);
    }
    line(args.empty() ? "@T.prim_func" : "@T.prim_func(" + args + ")");
    indent();
    out_ += "def ", out_ += named ? std::string(f.name) : "f", out_ += "(";
    for (size_t i = 0; i < f.params.size(); ++i) {
      if (i) out_ += ", ";
      out_ += define(f.params[i]), out_ += ": ", type(f.params[i]->dtype, f.params[i]->pointer);
    }
    out_ += ")";
    if (!f.ret.is_void()) out_ += " -> ", type(f.ret, nullptr);
    out_ += ":\n";
    ++depth_;
    // The attributes may name variables of the body, so the body gives the names first.
    std::string before;
    std::swap(out_, before);
    block_item(f.body, true);
    std::swap(out_, before);
    std::string attrs;
    std::swap(out_, attrs);
    attributes(f, same_symbol ? "global_symbol" : "");
    std::swap(out_, attrs);
    for (const Var* v : up_front_) line(declaration(v, vars_[v].text));
    out_ += attrs, out_ += before;
    --depth_;
  }
  void attributes(const Function& f, std::string_view skip) {
    if (!f.attrs || f.attrs->map.size() == (skip.empty() ? 0u : 1u)) return;
    std::string text;
    std::swap(out_, text);
    map(f.attrs->map, skip);
    std::swap(out_, text);
    for (const std::string& declaration : std::exchange(hoisted_, {})) line(declaration);
    line("T.func_attr(" + text + ")");
  }

  bool plain_;  // names as they are, nothing declared: for messages
  std::string out_;
  int depth_ = 0;
  bool in_slice_ = false;
  std::vector<std::string> hoisted_;
  std::unordered_map<const Var*, VarName> vars_, shared_vars_;
  std::unordered_map<const Buffer*, std::string> buffers_, shared_buffers_;
  std::unordered_set<std::string> taken_, shared_taken_;
  std::vector<const Var*> up_front_;
  bool in_declaration_ = false;
  std::unordered_map<std::string, int> suffix_;
  std::unordered_map<std::string_view, DataType> returns_;
};

}  // namespace

std::string print(const Module& module) { return Printer().module(module); }
std::string print(const Expr* e) { return Printer(true).expression(e); }
std::string print(const Stmt* s) { return Printer(true).statement(s); }

}  // namespace kiln::ir
