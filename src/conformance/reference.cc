#include "conformance/reference.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "conformance/scalar_ops.h"

namespace kiln::conformance {

namespace {

using namespace ir;

// A vector of lanes, or a pointer.
struct Operand {
  std::vector<Scalar> lanes;
  Memory* memory = nullptr;
  int64_t offset = 0;  // bytes
};

enum class Flow : uint8_t { kNext, kBreak, kContinue, kReturn, kFailed };

constexpr int64_t kMaxSteps = 1000000;

size_t lanes_of(DataType t) { return std::max<size_t>(t.lanes, 1); }

class Interpreter {
 public:
  explicit Interpreter(const Module& module) : module_(module) {}

  Flow call(const Function& f, std::vector<Operand> args) {
    for (size_t i = 0; i < f.params.size() && i < args.size(); ++i) values_[f.params[i]] = std::move(args[i]);
    Flow flow = run(f.body);
    return flow == Flow::kFailed ? flow : Flow::kNext;
  }
  const std::optional<Error>& error() const { return error_; }
  const std::string& message() const { return message_; }

 private:
  void fail(Code code, std::string message) {
    if (!error_) error_ = Error{code, std::move(message), "reference evaluator", ""};
  }
  void no_rule(std::string what) { fail(Code::kUnsupported, "the reference evaluator has no rule for " + std::move(what)); }

  // ---- memory -----------------------------------------------------------------------------------------------------

  // Byte offset of each lane of an access, or nothing when it is out of bounds.
  struct Place {
    Memory* memory = nullptr;
    std::vector<int64_t> offsets;
  };
  Place place(const Buffer* b, List<const Expr*> indices) {
    const Operand& base = values_[b->data];
    Place p{base.memory, {}};
    if (!base.memory) return fail(Code::kInvalidIr, "buffer '" + std::string(b->name) + "' has no memory"), p;
    std::vector<Operand> at;
    for (const Expr* i : indices) at.push_back(eval(i));
    size_t lanes = at.empty() ? 1 : at.back().lanes.size(), item = lanes_of(b->dtype);
    for (size_t lane = 0; lane < lanes && !error_; ++lane) {
      Integer element = b->elem_offset ? integer(b->elem_offset) : 0, stride = 1;
      for (size_t d = at.size(); d-- > 0;) {
        Integer index = at[d].lanes[d + 1 == at.size() ? lane : 0].integer;
        element += index * (b->strides.empty() ? stride : integer(b->strides[d]));
        stride *= integer(b->shape[d]);
      }
      for (size_t k = 0; k < item; ++k) {
        Integer first = base.offset + (element * static_cast<Integer>(item) + static_cast<Integer>(k)) * b->dtype.element_bytes();
        p.offsets.push_back(static_cast<int64_t>(first));
      }
    }
    return p;
  }
  bool in_bounds(const Place& p, size_t lane, DataType t) {
    if (p.memory && p.offsets[lane] >= 0 && p.offsets[lane] + t.element_bytes() <= static_cast<int64_t>(p.memory->bytes.size()))
      return true;
    fail(Code::kInvalidIr, "an access out of bounds");
    return false;
  }
  Scalar read(const Place& p, size_t lane, DataType t) {
    if (!in_bounds(p, lane, t)) return undefined(t);
    uint64_t bits = 0;
    bool defined = true;
    for (int k = 0; k < t.element_bytes(); ++k) {
      auto at = static_cast<size_t>(p.offsets[lane] + k);
      bits |= static_cast<uint64_t>(p.memory->bytes[at]) << (8 * k);
      defined = defined && p.memory->defined[at];
    }
    return defined ? from_bits(t, bits) : undefined(t);
  }
  void write(const Place& p, size_t lane, const Scalar& v) {
    if (!in_bounds(p, lane, v.type)) return;
    uint64_t bits = to_bits(v);
    for (int k = 0; k < v.type.element_bytes(); ++k) {
      auto at = static_cast<size_t>(p.offsets[lane] + k);
      p.memory->bytes[at] = static_cast<uint8_t>(bits >> (8 * k));
      p.memory->defined[at] = v.defined;
    }
  }

  // ---- expressions ------------------------------------------------------------------------------------------------

  Integer integer(const Expr* e) {
    Operand v = eval(e);
    if (v.lanes.empty() || !v.lanes[0].defined) return fail(Code::kInvalidIr, "an undefined value where an integer decides"), 0;
    return v.lanes[0].integer;
  }
  static const Scalar& lane(const Operand& v, size_t i) { return v.lanes[v.lanes.size() == 1 ? 0 : i]; }
  // f(lane) for every lane of the dtype.
  template <class F>
  static Operand each(DataType t, F&& f) {
    Operand out;
    for (size_t i = 0; i < lanes_of(t); ++i) out.lanes.push_back(f(i));
    return out;
  }

  Operand eval(const Expr* e) {
    Operand v = error_ ? Operand{} : value_of(e);
    if (v.lanes.empty() && !v.memory) v.lanes.assign(lanes_of(e->dtype), undefined(e->dtype.element()));  // after an error
    return v;
  }

  Operand value_of(const Expr* e) {
    DataType element = e->dtype.element();
    if (auto* b = e->as<Binary>()) return binary(b);
    if (auto* u = e->as<Unary>()) {
      Operand a = eval(u->a);
      return each(e->dtype, [&](size_t i) { return evaluate_unary(e->kind, lane(a, i)); });
    }
    switch (e->kind) {
      case ExprKind::kIntImm: return {{make_integer(element, e->as<IntImm>()->value)}};
      case ExprKind::kFloatImm: return {{make_floating(element, e->as<FloatImm>()->value)}};
      case ExprKind::kVar: return values_[e->as<Var>()];
      case ExprKind::kCast: {
        Operand a = eval(e->as<Cast>()->value);
        return each(e->dtype, [&](size_t i) { return evaluate_cast(element, lane(a, i)); });
      }
      case ExprKind::kSelect: {
        auto* s = e->as<Select>();
        Operand c = eval(s->condition), t = eval(s->true_value), f = eval(s->false_value);
        return each(e->dtype,
                    [&](size_t i) { return lane(c, i).defined ? lane(c, i).integer ? lane(t, i) : lane(f, i) : undefined(element); });
      }
      case ExprKind::kRamp: {
        auto* r = e->as<Ramp>();
        Operand base = eval(r->base), stride = eval(r->stride);
        return each(e->dtype, [&](size_t i) {
          return make_integer(element, base.lanes[0].integer + static_cast<Integer>(i) * stride.lanes[0].integer);
        });
      }
      case ExprKind::kBroadcast: {
        Operand a = eval(e->as<Broadcast>()->value);
        return each(e->dtype, [&](size_t i) { return a.lanes[i % a.lanes.size()]; });
      }
      case ExprKind::kShuffle: return shuffle(e->as<Shuffle>());
      case ExprKind::kLet: {
        auto* l = e->as<Let>();
        values_[l->var] = eval(l->value);
        return eval(l->body);
      }
      case ExprKind::kLoad: return load(e->as<Load>());
      case ExprKind::kCall: return call_of(e->as<Call>());
      default: return no_rule("a text constant"), Operand{};
    }
  }

  Operand binary(const Binary* b) {
    Operand a = eval(b->a);
    // The right side of a scalar && or || may be illegal where the left side decides.
    if (b->kind == ExprKind::kAnd && a.lanes.size() == 1 && !a.lanes[0].integer) return a;
    if (b->kind == ExprKind::kOr && a.lanes.size() == 1 && a.lanes[0].integer) return a;
    Operand c = eval(b->b);
    return each(b->dtype, [&](size_t i) { return evaluate_binary(b->kind, lane(a, i), lane(c, i)); });
  }

  Operand shuffle(const Shuffle* s) {
    std::vector<Scalar> all;
    for (const Expr* v : s->vectors) {
      for (const Scalar& x : eval(v).lanes) all.push_back(x);
    }
    return each(s->dtype, [&](size_t i) { return all[static_cast<size_t>(integer(s->indices[i])) % all.size()]; });
  }

  // A lane whose predicate is false is zero.
  Operand load(const Load* l) {
    Place p = place(l->buffer, l->indices);
    Operand predicate = l->predicate ? eval(l->predicate) : Operand{{make_integer(kBool, 1)}};
    DataType t = l->dtype.element();
    if (error_) return {};
    return each(l->dtype, [&](size_t i) { return lane(predicate, i).integer ? read(p, i, t) : from_bits(t, 0); });
  }

  Operand call_of(const Call* c) {
    if (is_scalar_function(c->op)) {
      std::vector<Operand> args;
      for (const Expr* a : c->args) {
        if (a->kind != ExprKind::kStringImm) args.push_back(eval(a));  // a rounding mode: "rn"
      }
      return each(c->dtype, [&](size_t i) {
        std::vector<Scalar> of_lane;
        for (const Operand& a : args) of_lane.push_back(lane(a, i));
        return evaluate_call(c->op, c->dtype.element(), of_lane);
      });
    }
    switch (c->op) {
      case Op::kFunction: return function(c);
      case Op::tirx_if_then_else: {
        Operand condition = eval(c->args[0]);
        if (condition.lanes.size() == 1) return eval(c->args[integer(c->args[0]) ? 1 : 2]);  // lazy
        Operand t = eval(c->args[1]), f = eval(c->args[2]);
        return each(c->dtype, [&](size_t i) { return lane(condition, i).integer ? lane(t, i) : lane(f, i); });
      }
      case Op::tirx_reinterpret: return reinterpret(c);
      case Op::tirx_vectorlow: {
        Operand v = eval(c->args[0]);
        return each(c->dtype, [&](size_t i) { return v.lanes[i]; });
      }
      case Op::tirx_vectorhigh: {
        Operand v = eval(c->args[0]);
        return each(c->dtype, [&](size_t i) { return v.lanes[v.lanes.size() / 2 + i]; });
      }
      case Op::tirx_vectorcombine: {
        Operand v = eval(c->args[0]), w = eval(c->args[1]);
        v.lanes.insert(v.lanes.end(), w.lanes.begin(), w.lanes.end());
        return v;
      }
      case Op::tirx_address_of: {
        auto* l = c->args[0]->as<Load>();
        if (!l) return no_rule("the address of what is not in memory"), Operand{};
        Place p = place(l->buffer, l->indices);
        return {{}, p.memory, p.offsets.empty() ? 0 : p.offsets[0]};
      }
      default: return atomic(c);
    }
  }

  Operand reinterpret(const Call* c) {
    Operand v = eval(c->args[0]);
    std::vector<uint8_t> bytes;
    bool defined = true;
    for (const Scalar& s : v.lanes) {
      uint64_t bits = to_bits(s);
      for (int k = 0; k < s.type.element_bytes(); ++k) bytes.push_back(static_cast<uint8_t>(bits >> (8 * k)));
      defined = defined && s.defined;
    }
    DataType t = c->dtype.element();
    auto size = static_cast<size_t>(t.element_bytes());
    return each(c->dtype, [&](size_t i) {
      uint64_t bits = 0;
      for (size_t k = 0; k < size && i * size + k < bytes.size(); ++k) bits |= static_cast<uint64_t>(bytes[i * size + k]) << (8 * k);
      return defined ? from_bits(t, bits) : undefined(t);
    });
  }

  // The element at an address is read, combined and written; the result is what it was before.
  Operand atomic(const Call* c) {
    auto* address = c->args.empty() ? nullptr : c->args[0]->as<Call>();
    auto* l = address && address->op == Op::tirx_address_of ? address->args[0]->as<Load>() : nullptr;
    if (!l) return no_rule("operator '" + std::string(c->name) + "'"), Operand{};
    Place p = place(l->buffer, l->indices);
    DataType t = l->dtype.element();
    if (error_ || p.offsets.empty()) return {};
    Scalar old = read(p, 0, t), operand = c->op == Op::tl_atomic_load_elem_op ? old : eval(c->args[1]).lanes[0];
    switch (c->op) {
      case Op::tl_atomic_load_elem_op: break;
      case Op::tl_atomic_store_elem_op: write(p, 0, operand); break;
      case Op::tirx_atomic_add:
      case Op::tl_atomic_add_elem_op:
      case Op::tl_atomic_add_ret_elem_op: write(p, 0, evaluate_binary(ExprKind::kAdd, old, operand)); break;
      case Op::tl_atomic_max_elem_op:
      case Op::tl_atomic_max_ret_elem_op: write(p, 0, evaluate_binary(ExprKind::kMax, old, operand)); break;
      case Op::tl_atomic_min_elem_op:
      case Op::tl_atomic_min_ret_elem_op: write(p, 0, evaluate_binary(ExprKind::kMin, old, operand)); break;
      case Op::tl_atomic_or_elem_op: write(p, 0, evaluate_binary(ExprKind::kBitOr, old, operand)); break;
      default: no_rule("operator '" + std::string(c->name) + "'");
    }
    return {{old}};
  }

  Operand function(const Call* c) {
    for (const Function* f : module_.functions) {
      if (f->name != c->name) continue;
      std::vector<Operand> args;
      for (const Expr* a : c->args) args.push_back(eval(a));
      result_ = {};
      if (call(*f, std::move(args)) == Flow::kFailed) failed_ = true;
      return result_;
    }
    return no_rule("function '" + std::string(c->name) + "' of another module"), Operand{};
  }

  // ---- statements -------------------------------------------------------------------------------------------------

  Flow run(const Stmt* s) {
    if (++steps_ > kMaxSteps) fail(Code::kInvalidIr, "a function that does not end");
    Flow flow = error_ ? Flow::kReturn : step(s);
    return failed_ ? Flow::kFailed : flow;
  }

  Flow step(const Stmt* s) {
    switch (s->kind) {
      case StmtKind::kSeq:
        for (const Stmt* child : s->as<Seq>()->stmts) {
          if (Flow f = run(child); f != Flow::kNext) return f;
        }
        return Flow::kNext;
      case StmtKind::kFor: return loop(s->as<For>());
      case StmtKind::kWhile:
        while (!error_ && integer(s->as<While>()->condition)) {
          Flow f = run(s->as<While>()->body);
          if (f == Flow::kBreak) break;
          if (f == Flow::kReturn || f == Flow::kFailed) return f;
        }
        return Flow::kNext;
      case StmtKind::kIf: {
        auto* i = s->as<If>();
        if (integer(i->condition)) return run(i->then_case);
        return i->else_case ? run(i->else_case) : Flow::kNext;
      }
      case StmtKind::kBind: values_[s->as<Bind>()->var] = eval(s->as<Bind>()->value); return Flow::kNext;
      case StmtKind::kAllocBuffer: return allocate(s->as<AllocBuffer>()->buffer);
      case StmtKind::kDeclBuffer: return Flow::kNext;
      case StmtKind::kStore: return store(s->as<Store>());
      case StmtKind::kEvaluate: eval(s->as<Evaluate>()->value); return Flow::kNext;
      case StmtKind::kAttr: return run(s->as<Attr>()->body);
      case StmtKind::kThreadExtent: {
        auto* t = s->as<ThreadExtent>();
        Integer n = integer(t->extent);
        for (Integer i = 0; i < n; ++i) {
          values_[t->var] = {{make_integer(t->var->dtype, i)}};
          if (run(t->body) == Flow::kFailed) return Flow::kFailed;
        }
        return Flow::kNext;
      }
      case StmtKind::kAssert: {
        auto* a = s->as<Assert>();
        if (integer(a->condition)) return Flow::kNext;
        message_ = std::string(a->error_kind) + ": ";
        for (std::string_view part : a->message_parts) message_ += part;
        failed_ = !error_;
        return Flow::kFailed;
      }
      case StmtKind::kReturn:
        if (s->as<Return>()->value) result_ = eval(s->as<Return>()->value);
        return Flow::kReturn;
      case StmtKind::kBreak: return Flow::kBreak;
      case StmtKind::kContinue: return Flow::kContinue;
    }
    return Flow::kNext;
  }

  Flow loop(const For* f) {
    Integer first = integer(f->min), end = first + integer(f->extent), by = f->step ? integer(f->step) : 1;
    for (Integer i = first; i < end && by > 0; i += by) {
      values_[f->var] = {{make_integer(f->var->dtype, i)}};
      Flow flow = run(f->body);
      if (flow == Flow::kBreak) break;
      if (flow == Flow::kReturn || flow == Flow::kFailed) return flow;
    }
    return Flow::kNext;
  }

  Flow allocate(const Buffer* b) {
    Integer n = static_cast<Integer>(lanes_of(b->dtype)) * b->dtype.element_bytes();
    for (const Expr* e : b->shape) n *= integer(e);
    if (n < 0 || n > (1 << 20)) return fail(Code::kUnsupported, "an allocation of more than 1 MiB"), Flow::kReturn;
    Memory& m = owned_.emplace_back(static_cast<size_t>(n));
    m.defined.assign(m.bytes.size(), false);
    values_[b->data] = {{}, &m, 0};
    return Flow::kNext;
  }

  Flow store(const Store* s) {
    Operand v = eval(s->value);
    Operand predicate = s->predicate ? eval(s->predicate) : Operand{{make_integer(kBool, 1)}};
    Place p = place(s->buffer, s->indices);
    for (size_t i = 0; i < p.offsets.size() && !error_; ++i) {
      if (lane(predicate, i).integer) write(p, i, lane(v, i));
    }
    return Flow::kNext;
  }

  const Module& module_;
  std::map<const Var*, Operand> values_;
  std::deque<Memory> owned_;
  Operand result_;
  std::optional<Error> error_;
  std::string message_;
  bool failed_ = false;
  int64_t steps_ = 0;
};

}  // namespace

Result<Outcome> run_reference(const ir::Module& module, std::string_view function, const std::vector<ReferenceArgument>& args) {
  for (const ir::Function* f : module.functions) {
    if (f->name != function) continue;
    if (f->params.size() != args.size()) break;
    std::vector<Operand> values;
    for (const ReferenceArgument& a : args) values.push_back(a.memory ? Operand{{}, a.memory, 0} : Operand{{a.scalar}});
    Interpreter interpreter(module);
    Flow flow = interpreter.call(*f, std::move(values));
    if (interpreter.error()) return *interpreter.error();
    return Outcome{flow == Flow::kFailed, interpreter.message()};
  }
  return Error{Code::kInvalidArgument, "the module has no function '" + std::string(function) + "' of that many parameters", "", ""};
}

}  // namespace kiln::conformance
