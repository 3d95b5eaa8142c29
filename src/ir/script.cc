#include "ir/script.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <unordered_set>

#include "ir/rewriter.h"

namespace kiln::ir::script {

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

bool is_reserved(std::string_view name) {
  // Sorted.
  static constexpr std::string_view kNames[] = {
      // clang-format off
      "Add", "And", "Broadcast", "Buffer", "BufferLoad", "BufferStore", "Cast", "Div", "EQ", "FloatImm", "FloorDiv", "FloorMod", "GE",
      "GT", "IntImm", "LE", "LT", "Let", "Max", "Min", "Mod", "Mul", "NE", "Not", "Or", "Ramp", "Select", "Shuffle", "StringImm", "Sub",
      "Var", "abs", "alloc_buffer", "alloc_local", "alloc_shared", "attr", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor",
      "break_loop", "call_function", "call_intrin", "ceildiv", "comm_reducer", "continue_loop", "decl_buffer", "env_thread", "evaluate",
      "floordiv", "floormod", "func_attr", "grid", "handle", "launch_thread", "let", "max", "min", "parallel", "prim_func", "ret",
      "serial", "shift_left", "shift_right", "target", "thread_binding", "truncdiv", "truncmod", "unroll", "vectorized",
      // clang-format on
  };
  return std::binary_search(std::begin(kNames), std::end(kNames), name);
}

Op op_of_short_name(std::string_view name, bool tilelang) {
  Op of_tvm = find_op("tirx." + std::string(name)), of_tilelang = find_op("tl." + std::string(name));
  bool first = of_tvm == Op::kUnknown || (tilelang && of_tilelang != Op::kUnknown);
  return first ? of_tilelang : of_tvm;
}

std::string_view short_name(Op op) {
  // One look-up table: which short names lead back to the operator.
  static const auto* const names = [] {
    auto* table = new std::vector<std::string_view>;
#define KILN_OP(id, name, args, rule, effect) table->push_back(name);
#include "ir/ops.def"
#undef KILN_OP
    for (size_t i = 0; i < table->size(); ++i) {
      std::string_view& name = (*table)[i];
      std::string_view rest = name.substr(name.find('.') + 1);
      auto op = static_cast<Op>(i + 2);
      bool leads_back = op_of_short_name(rest, false) == op && op_of_short_name(rest, true) == op && !is_reserved(rest);
      name = leads_back ? rest : std::string_view();
    }
    return table;
  }();
  size_t i = static_cast<size_t>(op);
  return i < 2 ? std::string_view() : (*names)[i - 2];
}

bool implied_dtype(Op op, List<const Expr*> args, DataType& dtype) {
  switch (op_info(op).rule) {
    case ResultRule::kFirstArg:
      if (args.empty()) return false;
      dtype = args[0]->dtype;
      return true;
    case ResultRule::kSecondArg:
      if (args.size() < 2) return false;
      dtype = args[1]->dtype;
      return true;
    case ResultRule::kExplicitFirst:
    case ResultRule::kExplicitLast: return false;
    case ResultRule::kInt32: dtype = kInt32; return true;
    case ResultRule::kUInt32: dtype = kUInt32; return true;
    case ResultRule::kBool: dtype = kBool.with_lanes(args.empty() ? uint16_t{1} : std::max<uint16_t>(args[0]->dtype.lanes, 1)); return true;
    case ResultRule::kHandle: dtype = kHandle; return true;
    case ResultRule::kVoid: dtype = kVoid; return true;
  }
  return false;
}

bool same(const Expr* a, const Expr* b) {
  if (a == b) return true;
  if (a->kind != b->kind || a->dtype != b->dtype) return false;
  switch (a->kind) {
    case ExprKind::kIntImm: return a->as<IntImm>()->value == b->as<IntImm>()->value;
    case ExprKind::kFloatImm: return std::bit_cast<uint64_t>(a->as<FloatImm>()->value) == std::bit_cast<uint64_t>(b->as<FloatImm>()->value);
    case ExprKind::kStringImm: return a->as<StringImm>()->value == b->as<StringImm>()->value;
    case ExprKind::kVar:
    case ExprKind::kLet: return false;
    case ExprKind::kLoad:
      if (a->as<Load>()->buffer != b->as<Load>()->buffer || a->as<Load>()->indices.size() != b->as<Load>()->indices.size() ||
          !a->as<Load>()->predicate != !b->as<Load>()->predicate) {
        return false;
      }
      break;
    case ExprKind::kCall:
      if (a->as<Call>()->op != b->as<Call>()->op || a->as<Call>()->name != b->as<Call>()->name ||
          a->as<Call>()->args.size() != b->as<Call>()->args.size() || a->as<Call>()->annotations || b->as<Call>()->annotations) {
        return false;
      }
      break;
    case ExprKind::kShuffle:
      if (a->as<Shuffle>()->vectors.size() != b->as<Shuffle>()->vectors.size() ||
          a->as<Shuffle>()->indices.size() != b->as<Shuffle>()->indices.size())
        return false;
      break;
    default: break;
  }
  std::vector<const Expr*> x, y;
  for_each_operand(a, [&](const Expr* e) { x.push_back(e); });
  for_each_operand(b, [&](const Expr* e) { y.push_back(e); });
  return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), same);
}

namespace {

struct NameWalk {
  const std::function<void(const Var*)>& on_var;
  const std::function<bool(const Buffer*)>& on_buffer;

  void buffer(const Buffer* b) {
    if (!on_buffer(b)) return;
    on_var(b->data);
    for (const Expr* e : b->shape) expr(e);
    for (const Expr* e : b->strides) expr(e);
    if (b->elem_offset) expr(b->elem_offset);
  }
  void expr(const Expr* root) {
    visit(root, [&](const Expr* e) {
      if (auto* v = e->as<Var>()) on_var(v);
      if (auto* l = e->as<Let>()) on_var(l->var);
      if (auto* l = e->as<Load>()) buffer(l->buffer);
      if (auto* c = e->as<Call>()) value(c->annotations);
    });
  }
  void value(const Value* v) {
    if (!v) return;
    if (v->expr) expr(v->expr);
    if (v->buffer) buffer(v->buffer);
    for (const Value& item : v->array) value(&item);
    for (const KeyValue& kv : v->map) value(&kv.key), value(&kv.value);
  }
  void stmt(const Stmt* s) {
    if (auto* f = s->as<For>()) on_var(f->var), value(f->annotations);
    if (auto* b = s->as<Bind>()) on_var(b->var);
    if (auto* t = s->as<ThreadExtent>()) on_var(t->var);
    if (auto* a = s->as<AllocBuffer>()) buffer(a->buffer), value(a->annotations);
    if (auto* d = s->as<DeclBuffer>()) buffer(d->buffer);
    if (auto* st = s->as<Store>()) buffer(st->buffer);
    if (auto* a = s->as<Attr>()) value(&a->node);
  }
};

}  // namespace

void for_each_name(const Function& f, const std::function<void(const Var*)>& on_var, const std::function<bool(const Buffer*)>& on_buffer) {
  NameWalk walk{on_var, on_buffer};
  for (const Var* p : f.params) on_var(p);
  walk.value(f.attrs);
  visit(
      f.body, [&](const Stmt* s) { walk.stmt(s); }, [&](const Expr* e) { walk.expr(e); });
}

}  // namespace kiln::ir::script
