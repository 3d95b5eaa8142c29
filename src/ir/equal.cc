#include "ir/equal.h"

#include <bit>
#include <unordered_map>

namespace kiln::ir {

namespace {

class Comparer {
 public:
  bool modules(const Module& a, const Module& b) {
    if (a.functions.size() != b.functions.size()) return no("number of functions", a.functions.size(), b.functions.size());
    if (!values(a.attrs, b.attrs)) return no("module attributes");
    for (size_t i = 0; i < a.functions.size(); ++i) {
      where_ = a.functions[i]->name;
      if (!functions(*a.functions[i], *b.functions[i])) return false;
    }
    return true;
  }
  std::string why;

 private:
  bool no(std::string what) {
    if (why.empty()) why = "function '" + std::string(where_) + "': " + what + " differs";
    return false;
  }
  template <class T>
  bool no(std::string what, const T& a, const T& b) {
    return no(what + " (" + std::to_string(a) + ", " + std::to_string(b) + ")");
  }
  bool no_text(std::string what, std::string_view a, std::string_view b) {
    return no(what + " ('" + std::string(a) + "', '" + std::string(b) + "')");
  }

  bool functions(const Function& a, const Function& b) {
    if (a.name != b.name) return no_text("name", a.name, b.name);
    if (a.ret != b.ret) return no("return type");
    if (a.params.size() != b.params.size()) return no("number of parameters", a.params.size(), b.params.size());
    for (size_t i = 0; i < a.params.size(); ++i) {
      if (!vars(a.params[i], b.params[i])) return false;
    }
    return (values(a.attrs, b.attrs) || no("attributes")) && stmts(a.body, b.body);
  }

  static bool pointers(const PointerType* a, const PointerType* b) {
    return a == b || (a && b && a->element == b->element && a->scope == b->scope);
  }
  // One-to-one: the first meeting pairs the two, whether it is a definition or a use.
  bool vars(const Var* a, const Var* b) {
    auto [ab, fresh_a] = vars_.emplace(a, b);
    auto [ba, fresh_b] = back_.emplace(b, a);
    if (!fresh_a || !fresh_b) return (ab->second == b && ba->second == a) || no_text("variable", a->name, b->name);
    if (a->dtype != b->dtype) return no_text("dtype of variable " + std::string(a->name), to_string(a->dtype), to_string(b->dtype));
    return pointers(a->pointer, b->pointer) || no_text("pointer type of variable", a->name, b->name);
  }
  bool buffers(const Buffer* a, const Buffer* b) {
    auto [ab, fresh_a] = buffers_.emplace(a, b);
    auto [ba, fresh_b] = buffers_back_.emplace(b, a);
    if (!fresh_a || !fresh_b) return (ab->second == b && ba->second == a) || no_text("buffer", a->name, b->name);
    std::string name = " of buffer " + std::string(a->name);
    if (a->dtype != b->dtype) return no_text("dtype" + name, to_string(a->dtype), to_string(b->dtype));
    if (a->data_alignment != b->data_alignment) return no("alignment" + name, a->data_alignment, b->data_alignment);
    if (a->offset_factor != b->offset_factor) return no("offset factor" + name, a->offset_factor, b->offset_factor);
    return vars(a->data, b->data) && (lists(a->shape, b->shape) || no("shape" + name)) &&
           (lists(a->strides, b->strides) || no("strides" + name)) && (optional(a->elem_offset, b->elem_offset) || no("offset" + name));
  }
  bool lists(List<const Expr*> a, List<const Expr*> b) {
    if (a.size() != b.size()) return no("number of operands", a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      if (!exprs(a[i], b[i])) return false;
    }
    return true;
  }
  bool optional(const Expr* a, const Expr* b) {
    if (!a || !b) return a == b || no("presence of an operand");
    return exprs(a, b);
  }

  bool exprs(const Expr* a, const Expr* b) {
    if (a->kind != b->kind) return no("kind of expression", static_cast<int>(a->kind), static_cast<int>(b->kind));
    if (a->kind == ExprKind::kVar) return vars(a->as<Var>(), b->as<Var>());
    if (a->dtype != b->dtype) return no_text("dtype of an expression", to_string(a->dtype), to_string(b->dtype));
    // A shared node is compared once with each partner; the pairing of variables only grows, so the answer stays.
    auto [seen, fresh] = exprs_.emplace(a, b);
    if (!fresh && seen->second == b) return true;
    bool same = operands(a, b);
    if (same) exprs_[a] = b;
    return same;
  }
  bool operands(const Expr* a, const Expr* b) {
    switch (a->kind) {
      case ExprKind::kIntImm:
        return a->as<IntImm>()->value == b->as<IntImm>()->value || no("integer", a->as<IntImm>()->value, b->as<IntImm>()->value);
      case ExprKind::kFloatImm: {
        double x = a->as<FloatImm>()->value, y = b->as<FloatImm>()->value;
        return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y) || (x != x && y != y) || no("number", x, y);
      }
      case ExprKind::kStringImm: return a->as<StringImm>()->value == b->as<StringImm>()->value || no("string");
      case ExprKind::kVar: return true;  // compared by the caller
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
      case ExprKind::kShiftRight: return exprs(a->as<Binary>()->a, b->as<Binary>()->a) && exprs(a->as<Binary>()->b, b->as<Binary>()->b);
      case ExprKind::kNot:
      case ExprKind::kBitNot: return exprs(a->as<Unary>()->a, b->as<Unary>()->a);
      case ExprKind::kCast: return exprs(a->as<Cast>()->value, b->as<Cast>()->value);
      case ExprKind::kSelect: {
        auto *x = a->as<Select>(), *y = b->as<Select>();
        return exprs(x->condition, y->condition) && exprs(x->true_value, y->true_value) && exprs(x->false_value, y->false_value);
      }
      case ExprKind::kRamp: return exprs(a->as<Ramp>()->base, b->as<Ramp>()->base) && exprs(a->as<Ramp>()->stride, b->as<Ramp>()->stride);
      case ExprKind::kBroadcast: return exprs(a->as<Broadcast>()->value, b->as<Broadcast>()->value);
      case ExprKind::kShuffle:
        return lists(a->as<Shuffle>()->vectors, b->as<Shuffle>()->vectors) && lists(a->as<Shuffle>()->indices, b->as<Shuffle>()->indices);
      case ExprKind::kLet: {
        auto *x = a->as<Let>(), *y = b->as<Let>();
        return vars(x->var, y->var) && exprs(x->value, y->value) && exprs(x->body, y->body);
      }
      case ExprKind::kLoad: {
        auto *x = a->as<Load>(), *y = b->as<Load>();
        return buffers(x->buffer, y->buffer) && lists(x->indices, y->indices) && optional(x->predicate, y->predicate);
      }
      case ExprKind::kCall: {
        auto *x = a->as<Call>(), *y = b->as<Call>();
        if (x->op != y->op || x->name != y->name) return no_text("callee", x->name, y->name);
        if (!pointers(x->pointer, y->pointer)) return no_text("pointer type of a call", x->name, y->name);
        return lists(x->args, y->args) && (values(x->annotations, y->annotations) || no("annotations of " + std::string(x->name)));
      }
    }
    return false;
  }

  bool values(const Value* a, const Value* b) {
    if (!a || !b) return a == b || (empty(a) && empty(b));
    return values(*a, *b);
  }
  static bool empty(const Value* v) { return !v || (v->kind == Value::Kind::kMap && v->map.empty()); }
  bool values(const Value& a, const Value& b) {
    if (a.kind != b.kind) return false;
    switch (a.kind) {
      case Value::Kind::kNone: return true;
      case Value::Kind::kBool: return a.boolean == b.boolean;
      case Value::Kind::kInt: return a.integer == b.integer;
      case Value::Kind::kFloat:
        return std::bit_cast<uint64_t>(a.floating) == std::bit_cast<uint64_t>(b.floating) ||
               (a.floating != a.floating && b.floating != b.floating);
      case Value::Kind::kString: return a.string == b.string;
      case Value::Kind::kArray:
        if (a.array.size() != b.array.size()) return false;
        for (size_t i = 0; i < a.array.size(); ++i) {
          if (!values(a.array[i], b.array[i])) return false;
        }
        return true;
      case Value::Kind::kMap:
      case Value::Kind::kTarget: return maps(a, b);
      case Value::Kind::kExpr: return exprs(a.expr, b.expr);
      case Value::Kind::kBuffer: return buffers(a.buffer, b.buffer);
    }
    return false;
  }
  // Text keys may come in any order; others are compared in theirs.
  bool maps(const Value& a, const Value& b) {
    if (a.map.size() != b.map.size()) return false;
    for (size_t i = 0; i < a.map.size(); ++i) {
      const KeyValue& kv = a.map[i];
      if (kv.key.kind == Value::Kind::kString) {
        const Value* other =
            b.map[i].key.kind == Value::Kind::kString && b.map[i].key.string == kv.key.string ? &b.map[i].value : b.find(kv.key.string);
        if (!other || !values(kv.value, *other)) return no("attribute '" + std::string(kv.key.string) + "'");
      } else if (!values(kv.key, b.map[i].key) || !values(kv.value, b.map[i].value)) {
        return false;
      }
    }
    return true;
  }

  bool stmts(const Stmt* a, const Stmt* b) {
    if (a->kind != b->kind) return no("kind of statement", static_cast<int>(a->kind), static_cast<int>(b->kind));
    switch (a->kind) {
      case StmtKind::kSeq: {
        auto x = a->as<Seq>()->stmts, y = b->as<Seq>()->stmts;
        if (x.size() != y.size()) return no("number of statements", x.size(), y.size());
        for (size_t i = 0; i < x.size(); ++i) {
          if (!stmts(x[i], y[i])) return false;
        }
        return true;
      }
      case StmtKind::kFor: {
        auto *x = a->as<For>(), *y = b->as<For>();
        if (x->for_kind != y->for_kind || x->thread_tag != y->thread_tag) return no("kind of loop");
        return vars(x->var, y->var) && exprs(x->min, y->min) && exprs(x->extent, y->extent) && optional(x->step, y->step) &&
               (values(x->annotations, y->annotations) || no("annotations of a loop")) && stmts(x->body, y->body);
      }
      case StmtKind::kWhile:
        return exprs(a->as<While>()->condition, b->as<While>()->condition) && stmts(a->as<While>()->body, b->as<While>()->body);
      case StmtKind::kIf: {
        auto *x = a->as<If>(), *y = b->as<If>();
        if (!x->else_case != !y->else_case) return no("presence of an else branch");
        return exprs(x->condition, y->condition) && stmts(x->then_case, y->then_case) &&
               (!x->else_case || stmts(x->else_case, y->else_case));
      }
      case StmtKind::kBind: return exprs(a->as<Bind>()->value, b->as<Bind>()->value) && vars(a->as<Bind>()->var, b->as<Bind>()->var);
      case StmtKind::kAllocBuffer:
        return buffers(a->as<AllocBuffer>()->buffer, b->as<AllocBuffer>()->buffer) &&
               (values(a->as<AllocBuffer>()->annotations, b->as<AllocBuffer>()->annotations) || no("annotations of an allocation"));
      case StmtKind::kDeclBuffer: return buffers(a->as<DeclBuffer>()->buffer, b->as<DeclBuffer>()->buffer);
      case StmtKind::kStore: {
        auto *x = a->as<Store>(), *y = b->as<Store>();
        return buffers(x->buffer, y->buffer) && lists(x->indices, y->indices) && exprs(x->value, y->value) &&
               optional(x->predicate, y->predicate);
      }
      case StmtKind::kEvaluate: return exprs(a->as<Evaluate>()->value, b->as<Evaluate>()->value);
      case StmtKind::kAttr: {
        auto *x = a->as<Attr>(), *y = b->as<Attr>();
        if (x->key != y->key) return no_text("attribute key", x->key, y->key);
        return (values(x->node, y->node) || no("node of attribute " + std::string(x->key))) && exprs(x->value, y->value) &&
               stmts(x->body, y->body);
      }
      case StmtKind::kThreadExtent: {
        auto *x = a->as<ThreadExtent>(), *y = b->as<ThreadExtent>();
        if (x->tag != y->tag) return no_text("thread axis", x->tag, y->tag);
        return vars(x->var, y->var) && exprs(x->extent, y->extent) && stmts(x->body, y->body);
      }
      case StmtKind::kAssert: {
        auto *x = a->as<Assert>(), *y = b->as<Assert>();
        if (x->error_kind != y->error_kind ||
            !std::equal(x->message_parts.begin(), x->message_parts.end(), y->message_parts.begin(), y->message_parts.end())) {
          return no("message of an assertion");
        }
        return exprs(x->condition, y->condition);
      }
      case StmtKind::kReturn: return optional(a->as<Return>()->value, b->as<Return>()->value);
      case StmtKind::kBreak:
      case StmtKind::kContinue: return true;
    }
    return false;
  }

  std::string_view where_;
  std::unordered_map<const Var*, const Var*> vars_, back_;
  std::unordered_map<const Buffer*, const Buffer*> buffers_, buffers_back_;
  std::unordered_map<const Expr*, const Expr*> exprs_;
};

}  // namespace

bool equal(const Module& a, const Module& b, std::string* why) {
  Comparer c;
  bool same = c.modules(a, b);
  if (why) *why = std::move(c.why);
  return same;
}

}  // namespace kiln::ir
