#include "emit/c_family.h"

#include <charconv>

#include "ir/rewriter.h"

namespace kiln::emit {

using namespace ir;

namespace {

struct Operator {
  const char* text;
  Prec prec;
};

Operator operator_of(ExprKind k) {
  switch (k) {
    case ExprKind::kAdd: return {"+", Prec::kAdd};
    case ExprKind::kSub: return {"-", Prec::kAdd};
    case ExprKind::kMul: return {"*", Prec::kMul};
    case ExprKind::kDiv:
    case ExprKind::kFloorDiv: return {"/", Prec::kMul};
    case ExprKind::kMod:
    case ExprKind::kFloorMod: return {"%", Prec::kMul};
    case ExprKind::kEQ: return {"==", Prec::kEqual};
    case ExprKind::kNE: return {"!=", Prec::kEqual};
    case ExprKind::kLT: return {"<", Prec::kRelational};
    case ExprKind::kLE: return {"<=", Prec::kRelational};
    case ExprKind::kGT: return {">", Prec::kRelational};
    case ExprKind::kGE: return {">=", Prec::kRelational};
    case ExprKind::kAnd: return {"&&", Prec::kAnd};
    case ExprKind::kOr: return {"||", Prec::kOr};
    case ExprKind::kBitAnd: return {"&", Prec::kBitAnd};
    case ExprKind::kBitOr: return {"|", Prec::kBitOr};
    case ExprKind::kBitXor: return {"^", Prec::kBitXor};
    case ExprKind::kShiftLeft: return {"<<", Prec::kShift};
    case ExprKind::kShiftRight: return {">>", Prec::kShift};
    default: return {"?", Prec::kTernary};
  }
}

bool is_bitwise(Prec p) { return p == Prec::kBitAnd || p == Prec::kBitOr || p == Prec::kBitXor || p == Prec::kShift; }

// C promotes 8- and 16-bit integers and bool to int by itself.
const Expr* promoted(const Expr* e) {
  auto* c = e->as<Cast>();
  if (!c || c->dtype != kInt32) return e;
  DataType from = c->value->dtype;
  return from.is_bool() || (from.is_integer() && from.bits < 32) ? c->value : e;
}

template <class T>
std::string shortest(T value) {
  char buffer[64];
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::string decimal(float value) { return shortest(value); }
std::string decimal(double value) { return shortest(value); }

std::string hex(uint64_t bits, int digits) {
  std::string out = "0x";
  for (int i = digits - 1; i >= 0; --i) out += "0123456789ABCDEF"[bits >> (4 * i) & 15];
  return out;
}

std::string quoted(std::string_view text) {
  static const char digits[] = "01234567";
  std::string out = "\"";
  for (char ch : text) {
    auto c = static_cast<unsigned char>(ch);
    if (c == '"' || c == '\\') {
      out += '\\', out += ch;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c < 32 || c > 126 || c == '?') {  // '?' could begin a trigraph
      out += '\\', out += digits[c >> 6], out += digits[c >> 3 & 7], out += digits[c & 7];
    } else {
      out += ch;
    }
  }
  return out + '"';
}

std::string comment(std::string_view text) {
  std::string out;
  for (char c : text) out += c < 32 || c > 126 || c == '\\' || c == '?' ? '_' : c;
  return out;
}

Text CFamily::int_literal(DataType t, int64_t v, bool typed) const {
  if (t.is_bool()) return {v ? "true" : "false", Prec::kPostfix};
  if (t.is_uint()) {
    auto u = static_cast<uint64_t>(v);
    if (t.bits < 64) u &= (uint64_t{1} << t.bits) - 1;
    std::string text = std::to_string(u);
    if (t.bits == 64 && (typed || u > UINT32_MAX)) return {text + "ULL"};
    return {u > INT32_MAX || (typed && t.bits == 32) ? text + "u" : text};
  }
  if (v == INT64_MIN) return {"INT64_MIN"};
  if (v == INT32_MIN && t.bits < 64) return {"INT32_MIN"};
  std::string text = std::to_string(v);
  if (t.bits == 64 && (typed || v > INT32_MAX || v <= INT32_MIN)) text += "LL";
  return {text, v < 0 ? Prec::kUnary : Prec::kPostfix};
}

std::string CFamily::str(const Expr* e, Prec least) {
  Text t = expr(e);
  return t.prec < least ? "(" + t.text + ")" : t.text;
}

std::string CFamily::typed_str(const Expr* e) {
  auto* i = e->as<IntImm>();
  return i ? int_literal(e->dtype, i->value, true).text : str(e);
}

std::string CFamily::args(List<const Expr*> list, size_t first) {
  std::string out;
  for (size_t i = first; i < list.size(); ++i) out += (i > first ? ", " : "") + str(list[i]);
  return out;
}

std::string CFamily::typed_args(List<const Expr*> list, size_t first) {
  std::string out;
  for (size_t i = first; i < list.size(); ++i) out += (i > first ? ", " : "") + typed_str(list[i]);
  return out;
}

// An operand of `parent`. Besides what precedence asks, parentheses go where a reader (and -Wparentheses) would want them.
std::string CFamily::operand(const Expr* e, ExprKind parent, bool right, bool typed) {
  Prec prec = operator_of(parent).prec;
  if (!is_comparison(parent) || !e->as<Cast>() || e->as<Cast>()->value->dtype.bits < 32) e = promoted(e);
  Text t = e->as<IntImm>() ? int_literal(e->dtype, e->as<IntImm>()->value, typed) : expr(e);
  bool wrap = t.prec < prec;
  if (t.prec == prec && right) {
    bool associative = e->kind == parent && e->dtype.is_integer() && (parent == ExprKind::kAdd || parent == ExprKind::kMul);
    bool logical = e->kind == parent && (parent == ExprKind::kAnd || parent == ExprKind::kOr);
    wrap = !associative && !logical;
  }
  if (t.prec == prec && !right && (is_comparison(parent) || (is_bitwise(prec) && e->kind != parent))) wrap = true;
  if (is_bitwise(prec) && t.prec != prec && t.prec < Prec::kUnary) wrap = true;
  if (parent == ExprKind::kOr && t.prec == Prec::kAnd) wrap = true;
  if (is_comparison(parent) && (t.prec == Prec::kEqual || t.prec == Prec::kRelational || e->kind == ExprKind::kNot)) wrap = true;
  if (right && t.text[0] == '-' && prec == Prec::kAdd) wrap = true;
  return wrap ? "(" + t.text + ")" : t.text;
}

std::string CFamily::negated(const Expr* e) {
  auto* b = e->as<Binary>();
  if (e->kind == ExprKind::kNot) return str(e->as<Unary>()->a);
  if (b && is_comparison(b->kind) && !b->a->dtype.is_floating()) {  // a NaN compares neither way
    Binary opposite = *b;
    switch (b->kind) {
      case ExprKind::kEQ: opposite.kind = ExprKind::kNE; break;
      case ExprKind::kNE: opposite.kind = ExprKind::kEQ; break;
      case ExprKind::kLT: opposite.kind = ExprKind::kGE; break;
      case ExprKind::kLE: opposite.kind = ExprKind::kGT; break;
      case ExprKind::kGT: opposite.kind = ExprKind::kLE; break;
      default: opposite.kind = ExprKind::kLT; break;
    }
    return str(&opposite);
  }
  return "!" + str(e, Prec::kUnary);
}

Text CFamily::binary(const Binary* b) {
  auto *x = b->a->as<IntImm>(), *y = b->b->as<IntImm>();
  Operator op = operator_of(b->kind);
  bool shift = op.prec == Prec::kShift;
  // A literal has the type of the other operand, unless that is a literal too.
  bool typed = x && (y || shift);
  std::string a = operand(b->a, b->kind, false, typed);
  bool negative = y && b->dtype.is_int() && y->value < 0 && y->value > INT32_MIN;
  if (negative && (b->kind == ExprKind::kAdd || b->kind == ExprKind::kSub)) {
    return {a + (b->kind == ExprKind::kAdd ? " - " : " + ") + int_literal(b->dtype, -y->value, typed).text, op.prec};
  }
  return {a + " " + op.text + " " + operand(b->b, b->kind, true, typed && !shift), op.prec};
}

std::string CFamily::first_element(const Buffer* buffer) {
  std::string base = names.of(buffer->data);
  auto known = pointees.find(buffer->data);
  DataType t = buffer->dtype.element();
  if (known == pointees.end() || known->second != t) base = "((" + type(t) + "*)" + base + ")";
  return base;
}

std::string CFamily::element(const Buffer* buffer, const Expr* index) { return first_element(buffer) + "[" + str(index) + "]"; }

Text CFamily::expr(const Expr* e) {
  if (auto* b = e->as<Binary>()) return binary(b);
  switch (e->kind) {
    case ExprKind::kIntImm: return int_literal(e->dtype, e->as<IntImm>()->value, false);
    case ExprKind::kFloatImm: {
      std::string text = dialect_.float_literal(e->dtype, e->as<FloatImm>()->value);
      return {text, text[0] == '-' ? Prec::kUnary : Prec::kPostfix};
    }
    case ExprKind::kStringImm: return {quoted(e->as<StringImm>()->value)};
    case ExprKind::kVar: return {names.of(e->as<Var>())};
    case ExprKind::kNot: return {"!" + str(e->as<Unary>()->a, Prec::kUnary), Prec::kUnary};
    case ExprKind::kBitNot: {
      const Expr* a = promoted(e->as<Unary>()->a);
      return {"~" + (a->as<IntImm>() ? typed_str(a) : str(a, Prec::kUnary)), Prec::kUnary};
    }
    case ExprKind::kCast: return {"(" + type(e->dtype) + ")" + str(promoted(e->as<Cast>()->value), Prec::kUnary), Prec::kUnary};
    case ExprKind::kSelect: {
      auto* s = e->as<Select>();
      auto side = [&](const Expr* x) {
        auto* i = x->as<IntImm>();
        Text t = i ? int_literal(x->dtype, i->value, true) : expr(x);
        return t.prec <= Prec::kTernary ? "(" + t.text + ")" : t.text;
      };
      Text c = expr(s->condition);
      std::string condition = c.prec <= Prec::kTernary ? "(" + c.text + ")" : c.text;
      return {condition + " ? " + side(s->true_value) + " : " + side(s->false_value), Prec::kTernary};
    }
    case ExprKind::kLoad:
      if (dialect_.load) return dialect_.load(*this, *e->as<Load>());
      return {element(e->as<Load>()->buffer, e->as<Load>()->indices[0])};
    case ExprKind::kCall: return dialect_.call(*this, *e->as<Call>());
    default: return {"0"};  // vectors and Let are gone, binaries are done
  }
}

std::string CFamily::pointer_type(const Var* v) const { return v->pointer ? type(v->pointer->element.element()) + "*" : "void*"; }

void CFamily::count_uses(const Stmt* body) {
  auto count = [&](const Expr* e) {
    if (auto* v = e->as<Var>()) ++uses_[v];
    if (auto* l = e->as<Load>()) ++uses_[l->buffer->data];
  };
  visit(
      body,
      [&](const Stmt* s) {
        if (auto* st = s->as<Store>()) ++uses_[st->buffer->data];
      },
      [&](const Expr* e) { visit(e, count); });
}

void CFamily::block(std::string_view head, const Stmt* s) {
  auto* scope = s->as<Attr>();
  if (scope && scope->key == "lexical_alloc_scope") s = scope->body;  // these braces are that scope
  out.open(head);
  names.push();
  stmt(s);
  names.pop();
  out.close();
}

// The loop variable's type, or a wider one that also holds the end, which the variable itself never is: int8 counts to 128.
static DataType counter_type(const For* f) {
  DataType t = f->var->dtype;
  auto *min = f->min->as<IntImm>(), *extent = f->extent->as<IntImm>();
  if (t.bits < 32) return kInt32;
  if (t.bits > 32 || !min || !extent) return t;
  int64_t end = min->value + extent->value;
  return end > (t.is_uint() ? int64_t{UINT32_MAX} : int64_t{INT32_MAX}) ? kInt64 : t;
}

void CFamily::loop(const For* f) {
  auto *min = f->min->as<IntImm>(), *extent = f->extent->as<IntImm>();
  dialect_.before_loop(*this, *f);
  bool outer = false;  // whether a name for the end needs a scope
  DataType counter = counter_type(f);
  std::string start = str(f->min), end;
  if (min && extent) {
    end = int_literal(counter, min->value + extent->value, false).text;
  } else if (min && min->value == 0) {
    end = str(f->extent, Prec::kShift);
  } else {
    end = str(f->min, Prec::kAdd) + " + " + str(f->extent, Prec::kMul);
  }
  bool reads = false;
  visit(f->extent, [&](const Expr* e) { reads |= e->kind == ExprKind::kLoad; });
  visit(f->min, [&](const Expr* e) { reads |= e->kind == ExprKind::kLoad; });
  if (reads) {  // the body may change what is read: the extent is that at the start
    outer = true;
    out.open("");
    names.push();
    std::string name = names.fresh("end");
    out.line("const " + type(counter) + " " + name + " = " + end + ";");
    end = name;
  }
  names.push();
  const std::string& i = names.declare(f->var);
  std::string step = f->step ? i + " += " + str(f->step) : "++" + i;
  block("for (" + type(counter) + " " + i + " = " + start + "; " + i + " < " + end + "; " + step + ")", f->body);
  names.pop();
  if (outer) names.pop(), out.close();
}

void CFamily::bind(const Bind* b) {
  // A value without a use that does nothing else is left out.
  bool effect = false;
  visit(b->value, [&](const Expr* e) {
    auto* c = e->as<Call>();
    effect |= c && op_info(c->op).effect >= Effect::kUpdate && c->op != Op::tirx_call_pure_extern;
  });
  if (!uses_[b->var] && !effect) return;
  std::string value;
  if (b->var->dtype.is_handle()) {
    auto* v = b->value->as<Var>();
    auto* c = b->value->as<Call>();
    bool typed = c && c->op == Op::tirx_reinterpret && c->pointer && b->var->pointer && c->pointer->element == b->var->pointer->element;
    auto* place = c && c->op == Op::tirx_address_of ? c->args[0]->as<Load>() : nullptr;
    const Var* of = place ? place->buffer->data : nullptr;
    if (of && b->var->pointer && pointees.contains(of)) typed = pointees[of] == b->var->pointer->element.element();
    bool constant = typed && read_only.contains(of);
    if (constant) read_only.insert(b->var);
    bool same = typed || (v && pointees.contains(v) && b->var->pointer && pointees[v] == b->var->pointer->element.element());
    std::string t = pointer_type(b->var);
    value = same ? str(b->value) : "(" + t + ")" + str(b->value, Prec::kUnary);
    if (b->var->pointer) pointees[b->var] = b->var->pointer->element.element();
    out.line((constant ? "const " : "") + t + " " + names.declare(b->var) + " = " + value + ";");
  } else {
    value = str(b->value);
    out.line("const " + type(b->var->dtype) + " " + names.declare(b->var) + " = " + value + ";");
  }
  if (!uses_[b->var]) out.line("(void)" + names.of(b->var) + ";");
}

// x[i] = x[i] + y is x[i] += y: for arithmetic that the language does in the element's own type.
void CFamily::store(const Store* s) {
  std::string place = element(s->buffer, s->indices[0]);
  auto* b = s->value->as<Binary>();
  auto* l = b ? b->a->as<Load>() : nullptr;
  bool arithmetic = b && (b->kind == ExprKind::kAdd || b->kind == ExprKind::kSub || b->kind == ExprKind::kMul || b->kind == ExprKind::kDiv);
  bool updates = arithmetic && l && l->buffer == s->buffer && b->dtype.bits >= 32 && str(l) == place;
  if (!updates) return out.line(place + " = " + str(s->value) + ";");
  out.line(place + " " + operator_of(b->kind).text + "= " + str(b->b) + ";");
}

void CFamily::branch(const If* i) {
  out.open("if (" + str(i->condition) + ")");
  names.push();
  stmt(i->then_case);
  names.pop();
  if (i->else_case) {
    out.next("else");
    names.push();
    stmt(i->else_case);
    names.pop();
  }
  out.close();
}

void CFamily::stmt(const Stmt* s) {
  if (s->kind != StmtKind::kSeq) out.at(s->span);
  switch (s->kind) {
    case StmtKind::kSeq:
      for (const Stmt* child : s->as<Seq>()->stmts) stmt(child);
      return;
    case StmtKind::kFor: {
      auto* f = s->as<For>();
      if (f->for_kind != ForKind::kThreadBinding) return loop(f);
      std::string value = dialect_.thread_index ? thread_index(f->thread_tag) : str(f->min);
      out.line("const " + type(f->var->dtype) + " " + names.declare(f->var) + " = " + value + ";");
      return stmt(f->body);
    }
    case StmtKind::kWhile: return block("while (" + str(s->as<While>()->condition) + ")", s->as<While>()->body);
    case StmtKind::kIf: return branch(s->as<If>());
    case StmtKind::kBind: return bind(s->as<Bind>());
    case StmtKind::kAllocBuffer: return dialect_.alloc(*this, *s->as<AllocBuffer>());
    case StmtKind::kDeclBuffer: return;
    case StmtKind::kStore: return dialect_.store ? dialect_.store(*this, *s->as<Store>()) : store(s->as<Store>());
    case StmtKind::kEvaluate: {
      std::string text = dialect_.evaluate(*this, *s->as<Evaluate>());
      if (!text.empty()) out.line(text);
      return;
    }
    case StmtKind::kAttr: return dialect_.attr(*this, *s->as<Attr>());
    case StmtKind::kThreadExtent: {
      auto* t = s->as<ThreadExtent>();
      if (uses_[t->var]) out.line("const " + type(t->var->dtype) + " " + names.declare(t->var) + " = " + thread_index(t->tag) + ";");
      return stmt(t->body);
    }
    case StmtKind::kAssert: return dialect_.assertion(*this, *s->as<Assert>());
    case StmtKind::kReturn: {
      auto* r = s->as<Return>();
      return out.line(r->value && !function->ret.is_void() ? "return " + str(r->value) + ";" : std::string(bare_return));
    }
    case StmtKind::kBreak: return out.line("break;");
    case StmtKind::kContinue: return out.line("continue;");
  }
}

}  // namespace kiln::emit
