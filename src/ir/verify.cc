#include "ir/verify.h"

#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/one_line.h"
#include "ir/rewriter.h"

namespace kiln::ir {

namespace {

std::string quoted(std::string_view name) { return "'" + one_line(name.substr(0, 200)) + "'"; }

class Verifier {
 public:
  Verifier(const Module& m, size_t limit) : m_(m), limit_(limit) {}

  std::vector<Error> run() {
    std::unordered_map<std::string_view, const Function*> symbols, names;
    for (const Function* f : m_.functions) {
      function_ = f->name;
      span_ = f->span;
      if (f->name.empty()) fault("a function without a name");
      if (!names.emplace(f->name, f).second) fault("function " + quoted(f->name) + " is defined twice");
      std::string_view symbol = f->symbol();
      if (symbol.empty() && f->attrs && f->attrs->find("global_symbol"))
        fault("attribute global_symbol of function " + quoted(f->name) + " is empty");
      if (!symbol.empty() && !symbols.emplace(symbol, f).second) fault("kernel " + quoted(symbol) + " is defined twice");
    }
    for (const Function* f : m_.functions) function(*f, names);
    return std::move(faults_);
  }

 private:
  void fault(std::string message, std::string hint = "") {
    if (faults_.size() >= limit_) return;
    std::string where = m_.place(span_);
    std::string place = where.empty() ? "function " + quoted(function_) : where + ": function " + quoted(function_);
    faults_.push_back({Code::kInvalidIr, std::move(message), std::move(place), std::move(hint)});
  }
  bool full() const { return faults_.size() >= limit_; }

  void function(const Function& f, const std::unordered_map<std::string_view, const Function*>& names) {
    function_ = f.name;
    span_ = f.span;
    names_ = &names;
    scope_.clear();
    ++epoch_;
    reported_.clear();
    for (const Var* p : f.params) {
      if (p->dtype.is_void()) fault("parameter " + quoted(p->name) + " has no dtype");
      if (!define(p)) fault("parameter " + quoted(p->name) + " is given twice");
    }
    stmt(f.body);
  }

  // ---- scopes: a variable is visible from its definition to the end of the enclosing block ------------------------------

  bool define(const Var* v) {
    if (!scope_.insert(v).second) return false;
    undo_.push_back(v);
    return true;
  }
  void close(size_t mark) {
    while (undo_.size() > mark) {
      scope_.erase(undo_.back());
      ended_.insert(undo_.back());
      undo_.pop_back();
      ++epoch_;  // what was checked may have used it
    }
  }
  template <class F>
  void block(F&& body) {
    size_t mark = undo_.size();
    body();
    close(mark);
  }
  void use(const Var* v) {
    if (scope_.contains(v) || !reported_.insert(v).second) return;
    if (ended_.contains(v)) {
      fault("variable " + quoted(v->name) + " is used outside its scope");
    } else {
      fault("variable " + quoted(v->name) + " is not defined");
    }
  }
  void define_once(const Var* v, const char* what) {
    if (v->dtype.is_void()) fault(std::string(what) + " " + quoted(v->name) + " has no dtype");
    if (!define(v)) fault(std::string(what) + " " + quoted(v->name) + " is already defined");
  }

  // ---- expressions --------------------------------------------------------------------------------------------------

  void mismatch(std::string_view what, DataType want, DataType got) {
    fault(std::string(what) + ": expected " + to_string(want) + ", got " + to_string(got));
  }
  void expr(const Expr* e) {
    if (full()) return;
    if (auto* v = e->as<Var>()) return use(v);
    if (e->kind == ExprKind::kIntImm || e->kind == ExprKind::kFloatImm || e->kind == ExprKind::kStringImm) return immediate(e);
    if (std::exchange(checked_[e], epoch_) == epoch_) return;  // shared: once while the scope stays
    SpanId outer = span_;
    if (e->span) span_ = e->span;
    if (auto* let = e->as<Let>()) {
      expr(let->value);
      if (let->var->dtype != let->value->dtype)
        mismatch("value of let variable " + quoted(let->var->name), let->var->dtype, let->value->dtype);
      block([&] {
        define_once(let->var, "let variable");
        expr(let->body);
      });
    } else {
      for_each_operand(e, [&](const Expr* child) { expr(child); });
      types(e);
    }
    span_ = outer;
  }
  void immediate(const Expr* e) {
    if (e->kind == ExprKind::kIntImm && !e->dtype.is_integer() && !e->dtype.is_bool() && !e->dtype.is_handle()) {
      fault("integer constant of dtype " + to_string(e->dtype));
    }
    if (e->kind == ExprKind::kFloatImm && !e->dtype.is_floating()) fault("floating constant of dtype " + to_string(e->dtype));
    if (e->kind != ExprKind::kStringImm && e->dtype.lanes != 1) fault("constant of vector dtype " + to_string(e->dtype));
  }

  void types(const Expr* e) {
    if (is_binary(e->kind)) return binary(e->as<Binary>());
    switch (e->kind) {
      case ExprKind::kNot:
        if (!e->as<Unary>()->a->dtype.is_bool()) fault("operand of not: expected bool, got " + to_string(e->as<Unary>()->a->dtype));
        return;
      case ExprKind::kCast:
        if (e->dtype.lanes != e->as<Cast>()->value->dtype.lanes)
          fault("cast from " + to_string(e->as<Cast>()->value->dtype) + " to " + to_string(e->dtype) + " changes the number of lanes");
        return;
      case ExprKind::kSelect: {
        auto* s = e->as<Select>();
        if (!s->condition->dtype.is_bool()) fault("condition of select: expected bool, got " + to_string(s->condition->dtype));
        if (s->true_value->dtype != s->false_value->dtype) mismatch("values of select", s->true_value->dtype, s->false_value->dtype);
        if (s->condition->dtype.lanes != 1 && s->condition->dtype.lanes != e->dtype.lanes)
          fault("condition of select has " + std::to_string(s->condition->dtype.lanes) + " lanes, its values " +
                std::to_string(e->dtype.lanes));
        return;
      }
      case ExprKind::kRamp: {
        auto* r = e->as<Ramp>();
        if (r->base->dtype != r->stride->dtype) mismatch("stride of ramp", r->base->dtype, r->stride->dtype);
        if (e->dtype.element() != r->base->dtype.element() || e->dtype.lanes < r->base->dtype.lanes)
          mismatch("base of ramp", e->dtype.element(), r->base->dtype);
        return;
      }
      case ExprKind::kBroadcast:
        if (e->dtype.element() != e->as<Broadcast>()->value->dtype.element())
          mismatch("value of broadcast", e->dtype.element(), e->as<Broadcast>()->value->dtype);
        return;
      case ExprKind::kShuffle: return shuffle(e->as<Shuffle>());
      case ExprKind::kLoad: {
        auto* l = e->as<Load>();
        access(l->buffer, l->indices, l->dtype, "load from");
        if (l->predicate && !l->predicate->dtype.is_bool())
          fault("predicate of a load: expected bool, got " + to_string(l->predicate->dtype));
        return;
      }
      case ExprKind::kCall: return call(e->as<Call>());
      default: return;
    }
  }

  void binary(const Binary* e) {
    DataType a = e->a->dtype, b = e->b->dtype;
    bool shift = e->kind == ExprKind::kShiftLeft || e->kind == ExprKind::kShiftRight;
    if (shift ? a.lanes != b.lanes : a != b) return fault("operands differ in dtype: " + to_string(a) + " and " + to_string(b));
    bool logical = is_comparison(e->kind) || e->kind == ExprKind::kAnd || e->kind == ExprKind::kOr;
    if (logical) {
      if (!e->dtype.is_bool() || e->dtype.lanes != a.lanes) mismatch("result of a comparison", kBool.with_lanes(a.lanes), e->dtype);
      if (!is_comparison(e->kind) && !a.is_bool()) fault("operand of a logical operator: expected bool, got " + to_string(a));
    } else if (e->dtype != a) {
      mismatch("result of an operator", a, e->dtype);
    }
  }

  void shuffle(const Shuffle* s) {
    int lanes = 0;
    for (const Expr* v : s->vectors) {
      lanes += v->dtype.lanes;
      if (v->dtype.element() != s->dtype.element()) mismatch("vector of shuffle", s->dtype.element(), v->dtype.element());
    }
    if (s->indices.size() != s->dtype.lanes)
      fault("shuffle has " + std::to_string(s->indices.size()) + " indices for " + std::to_string(s->dtype.lanes) + " lanes");
    for (const Expr* i : s->indices) {
      auto* imm = i->as<IntImm>();
      if (imm && (imm->value < 0 || imm->value >= lanes))
        fault("shuffle index " + std::to_string(imm->value) + " of " + std::to_string(lanes) + " lanes");
    }
  }

  void call(const Call* c) {
    if (c->name.empty()) return fault("a call without a name");
    size_t n = c->args.size();
    if (c->op == Op::kFunction) {
      auto it = names_->find(c->name);
      if (it == names_->end()) return;  // of another module: linked later
      if (it->second->params.size() != n)
        fault("function " + quoted(c->name) + " takes " + std::to_string(it->second->params.size()) + " arguments, got " +
              std::to_string(n));
      return;
    }
    int want = op_info(c->op).args;
    if (c->op != Op::kUnknown && want >= 0 && static_cast<size_t>(want) != n) {
      fault("operator " + quoted(c->name) + " takes " + std::to_string(want) + (want == 1 ? " argument, got " : " arguments, got ") +
            std::to_string(n));
    }
    if (c->op == Op::tirx_call_extern || c->op == Op::tirx_call_pure_extern) {
      auto* name = n ? c->args[0]->as<StringImm>() : nullptr;
      if (!name || name->value.empty()) fault("operator " + quoted(c->name) + " needs the name of a function as its first argument");
    }
    if (c->op == Op::tirx_if_then_else && n == 3) {
      if (!c->args[0]->dtype.is_bool()) fault("condition of if_then_else: expected bool, got " + to_string(c->args[0]->dtype));
      if (c->args[1]->dtype != c->args[2]->dtype) mismatch("values of if_then_else", c->args[1]->dtype, c->args[2]->dtype);
    }
  }

  // Indices address the buffer's elements; the last one may be a vector, and then so is the value.
  void access(const Buffer* b, List<const Expr*> indices, DataType value, const char* what) {
    use(b->data);
    std::string name = std::string(what) + " buffer " + quoted(b->name);
    if (!b->data->dtype.is_handle()) fault(name + ": its data is " + to_string(b->data->dtype) + ", not a pointer");
    if (indices.size() != b->shape.size()) {
      fault(name + ": " + std::to_string(indices.size()) + (indices.size() == 1 ? " index" : " indices") + " for " +
            std::to_string(b->shape.size()) + (b->shape.size() == 1 ? " dimension" : " dimensions"));
    }
    int lanes = b->dtype.lanes;
    for (size_t i = 0; i < indices.size(); ++i) {
      DataType t = indices[i]->dtype;
      if (!t.is_integer()) fault(name + ": expected an integer index, got " + to_string(t));
      if (t.lanes > 1 && i + 1 != indices.size()) fault(name + ": only the last index may be a vector");
      if (i + 1 == indices.size()) lanes *= t.lanes;
    }
    DataType want = b->dtype.with_lanes(static_cast<uint16_t>(lanes));
    // Apache TVM stores lane masks, which are uint32, as int32.
    bool same_bits = value.is_integer() && want.is_integer() && value.bits == want.bits && value.lanes == want.lanes;
    if (value != want && !same_bits) mismatch(name, want, value);
  }

  // ---- statements ---------------------------------------------------------------------------------------------------

  void condition(const Expr* e, const char* what) {
    expr(e);
    if (!e->dtype.is_bool() || e->dtype.lanes != 1)
      fault(std::string("condition of ") + what + ": expected bool, got " + to_string(e->dtype));
  }

  void stmt(const Stmt* s) {
    if (full()) return;
    SpanId outer = span_;
    if (s->span) span_ = s->span;
    body(s);
    span_ = outer;
  }

  void body(const Stmt* s) {
    switch (s->kind) {
      case StmtKind::kSeq:
        return block([&] {
          for (const Stmt* child : s->as<Seq>()->stmts) stmt(child);
        });
      case StmtKind::kFor: return loop(s->as<For>());
      case StmtKind::kWhile: condition(s->as<While>()->condition, "while"); return inside_loop(s->as<While>()->body);
      case StmtKind::kIf:
        condition(s->as<If>()->condition, "if");
        block([&] { stmt(s->as<If>()->then_case); });
        if (s->as<If>()->else_case) block([&] { stmt(s->as<If>()->else_case); });
        return;
      case StmtKind::kBind: {
        auto* b = s->as<Bind>();
        expr(b->value);
        if (b->var->dtype != b->value->dtype && !b->value->dtype.is_void())
          mismatch("value of variable " + quoted(b->var->name), b->var->dtype, b->value->dtype);
        return define_once(b->var, "variable");
      }
      case StmtKind::kAllocBuffer: {
        const Buffer* b = s->as<AllocBuffer>()->buffer;
        buffer_parts(b);
        for (const Expr* e : b->shape) expr(e);
        if (!b->data->dtype.is_handle()) fault("data of buffer " + quoted(b->name) + ": expected handle, got " + to_string(b->data->dtype));
        return define_once(b->data, "buffer");
      }
      case StmtKind::kDeclBuffer: buffer_parts(s->as<DeclBuffer>()->buffer); return use(s->as<DeclBuffer>()->buffer->data);
      case StmtKind::kStore: {
        auto* st = s->as<Store>();
        for (const Expr* i : st->indices) expr(i);
        expr(st->value);
        if (st->predicate) expr(st->predicate);
        return access(st->buffer, st->indices, st->value->dtype, "store to");
      }
      case StmtKind::kEvaluate: return expr(s->as<Evaluate>()->value);
      case StmtKind::kAttr: {
        auto* a = s->as<Attr>();
        if (a->key.empty()) fault("an attribute without a name");
        expr(a->value);
        // An annotation is no block: Apache TVM allocates a fragment inside the attribute that describes it and uses it after.
        if (a->key != "lexical_alloc_scope") return stmt(a->body);
        return block([&] { stmt(a->body); });
      }
      case StmtKind::kThreadExtent: return thread_extent(s->as<ThreadExtent>());
      case StmtKind::kAssert: return condition(s->as<Assert>()->condition, "assert");
      case StmtKind::kReturn:
        if (s->as<Return>()->value) expr(s->as<Return>()->value);
        return;
      case StmtKind::kBreak:
        if (loops_ == 0) fault("break outside a loop");
        return;
      case StmtKind::kContinue:
        if (loops_ == 0) fault("continue outside a loop");
        return;
    }
  }

  void inside_loop(const Stmt* body) {
    ++loops_;
    block([&] { stmt(body); });
    --loops_;
  }

  void loop(const For* f) {
    expr(f->min);
    expr(f->extent);
    if (f->step) expr(f->step);
    for (const Expr* e : {f->min, f->extent}) {
      if (e->dtype != f->var->dtype) mismatch("range of loop variable " + quoted(f->var->name), f->var->dtype, e->dtype);
    }
    if (!f->var->dtype.is_integer())
      fault("loop variable " + quoted(f->var->name) + ": expected an integer, got " + to_string(f->var->dtype));
    block([&] {
      define_once(f->var, "loop variable");
      inside_loop(f->body);
    });
  }

  void thread_extent(const ThreadExtent* t) {
    expr(t->extent);
    if (t->tag.empty()) fault("a thread axis without a name");
    if (!t->var->dtype.is_integer())
      fault("thread variable " + quoted(t->var->name) + ": expected an integer, got " + to_string(t->var->dtype));
    block([&] {
      // The same axis may be opened again inside (one variable, or one for each).
      if (!define(t->var) && !thread_vars_.contains(t->var)) fault("thread variable " + quoted(t->var->name) + " is already defined");
      thread_vars_.insert(t->var);
      stmt(t->body);
    });
  }

  // Shapes of views mean nothing in lowered modules; those of allocations are sizes.
  void buffer_parts(const Buffer* b) {
    if (b->dtype.is_void()) fault("buffer " + quoted(b->name) + " has no dtype");
    for (const Expr* e : b->shape) {
      if (!e->dtype.is_integer()) fault("shape of buffer " + quoted(b->name) + ": expected an integer, got " + to_string(e->dtype));
    }
  }

  const Module& m_;
  size_t limit_;
  const std::unordered_map<std::string_view, const Function*>* names_ = nullptr;
  std::vector<Error> faults_;
  std::string_view function_;
  SpanId span_ = 0;
  int loops_ = 0;
  std::unordered_set<const Var*> scope_, ended_, reported_, thread_vars_;
  std::vector<const Var*> undo_;
  std::unordered_map<const Expr*, uint64_t> checked_;  // the epoch of the last check; clearing a large set for each scope would be slow
  uint64_t epoch_ = 1;
};

}  // namespace

std::vector<Error> verify(const Module& module, size_t limit) { return Verifier(module, limit).run(); }

}  // namespace kiln::ir
