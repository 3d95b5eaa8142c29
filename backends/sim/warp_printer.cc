#include "backends/sim/warp_printer.h"

#include <algorithm>

#include "backends/sim/operations.h"
#include "emit/functions.h"
#include "host_c/intrinsics.h"
#include "ir/rewriter.h"

namespace kiln::sim {

using namespace ir;
using emit::Prec;

namespace {

// Variables that the statement or expression uses, and how often.
using Uses = std::map<const Var*, int>;
void count(const Expr* e, Uses& uses) {
  visit(e, [&](const Expr* x) {
    if (auto* v = x->as<Var>()) ++uses[v];
    if (auto* l = x->as<Load>()) ++uses[l->buffer->data];
  });
}
void count(const Stmt* s, Uses& uses) {
  visit(
      s,
      [&](const Stmt* x) {
        if (auto* st = x->as<Store>()) ++uses[st->buffer->data];
      },
      [&](const Expr* e) { count(e, uses); });
}

bool reads_shared_memory(const Expr* e) {
  bool found = false;
  visit(e, [&](const Expr* x) {
    auto* l = x->as<Load>();
    auto* c = x->as<Call>();
    found |= (l && !is_local(l->buffer)) || (c && op_info(c->op).effect >= Effect::kUpdate);
  });
  return found;
}

// What is in the scope of a list of statements, one after the other.
void flatten(const Stmt* s, std::vector<const Stmt*>& out) {
  if (auto* q = s->as<Seq>()) {
    for (const Stmt* child : q->stmts) flatten(child, out);
    return;
  }
  if (auto* a = s->as<Attr>(); a && a->key != "lexical_alloc_scope") return flatten(a->body, out);
  out.push_back(s);
  if (auto* t = s->as<ThreadExtent>()) flatten(t->body, out);
}

}  // namespace

BlockShape block_shape(const Function* f) {
  BlockShape shape{1, 1, 1};
  visit(
      f->body,
      [&](const Stmt* s) {
        auto* t = s->as<ThreadExtent>();
        if (!t || !t->tag.starts_with("threadIdx.")) return;
        int64_t n = t->extent->as<IntImm>() ? t->extent->as<IntImm>()->value : 0;
        (t->tag.back() == 'x' ? shape.x : t->tag.back() == 'y' ? shape.y : shape.z) = n;
      },
      [](const Expr*) {});
  return shape;
}

WarpPrinter::WarpPrinter(LanePrinter& lane, const Function* f, std::function<std::string(const Buffer*)> shared)
    : lane(lane), function_(f), shared_(std::move(shared)), shape_(block_shape(f)) {
  for (const Var* p : f->params) uniform_.declare_same(p);
  count(f->body, uses_);
  lane.count_uses(f->body);
}

void WarpPrinter::body() {
  Context c;
  if (!shape_.has_full_warps() || masked_exits(function_->body, false, false).returns) {
    c.mask = lane.names.fresh("active");
    lane.out.line("sim_mask " + c.mask + " = w->lanes;");
  }
  seq(function_->body, c);
}

// ---- loops over lanes ------------------------------------------------------------------------------------------------

void WarpPrinter::open_lanes(const std::string& mask) {
  if (mask.empty()) return lane.out.open("for (int lane = 0; lane < 32; ++lane)");
  lane.out.open("for (sim_mask rest = " + mask + "; rest; rest &= rest - 1)");
  lane.out.line("const int lane = __builtin_ctz(rest);");
}
void WarpPrinter::close_lanes() { lane.out.close(); }

void WarpPrinter::use_threads(const std::set<const Var*>& used) {
  for (const ThreadIndex& t : threads_) {
    if (used.contains(t.var)) lane.out.line("const " + lane.type(t.var->dtype) + " " + lane.names.of(t.var) + " = " + t.value + ";");
  }
}

void WarpPrinter::lane_begin(const std::string& mask, const std::vector<const Expr*>& used) {
  Uses uses;
  for (const Expr* e : used) count(e, uses);
  std::set<const Var*> vars;
  for (const auto& [v, n] : uses) vars.insert(v);
  open_lanes(mask);
  use_threads(vars);
}

void WarpPrinter::thread_extent(const ThreadExtent* t) {
  std::string axis(1, t->tag.empty() ? 'x' : t->tag.back());
  std::string type = lane.type(t->var->dtype);
  if (t->tag.starts_with("blockIdx.")) {
    uniform_.declare_same(t->var);
    if (uses_[t->var]) lane.out.line("const " + type + " " + lane.names.declare(t->var) + " = block_" + axis + ";");
    return;
  }
  auto* extent = t->extent->as<IntImm>();
  if (!t->tag.starts_with("threadIdx.") || (extent && extent->value == 1)) {
    uniform_.declare_same(t->var);
    lane.names.alias(t->var, "0");
    return;
  }
  lane.names.declare(t->var);
  bool line = axis == "x" && shape_.is_line();
  if (line) {  // outside of loops over lanes: the warp's first thread
    uniform_.declare_thread(t->var);
    lane.out.line("const " + type + " " + lane.names.of(t->var) + " = 32 * w->warp;");
  }
  threads_.push_back({t->var, line ? "32 * w->warp + lane" : "w->thread_" + axis + "[lane]"});
}

// Statements without anything that the warp does as one: one loop over lanes, with what they declare inside where it is used nowhere else.
void WarpPrinter::region(const std::vector<const Stmt*>& run, const Context& c) {
  Uses inside;
  for (const Stmt* s : run) count(s, inside);
  std::vector<const Stmt*> code;
  std::set<const Var*> used, arrays;
  for (const Stmt* s : run) {
    auto* b = s->as<Bind>();
    auto* a = s->as<AllocBuffer>();
    const Var* v = b ? b->var : a ? a->buffer->data : nullptr;
    if (v && inside[v] != uses_[v]) {
      arrays.insert(v);
      if (b) declare_array(v);
      if (a) {
        int64_t n = std::max<int64_t>(emit::constant_elements(a->buffer), 1);
        std::string name = lane.names.declare(v);
        lane.out.line(lane.type(a->buffer->dtype.element()) + " " + name + "[32][" + std::to_string(n) + "];");
        if (lane.checked) lane.out.line("sim->undefine(" + name + ", sizeof " + name + ");");
        lane.names.alias(v, name + "[lane]");
        lane.pointees[v] = a->buffer->dtype.element();
        continue;
      }
    }
    code.push_back(s);
  }
  bool only_allocations = std::all_of(code.begin(), code.end(), [](const Stmt* s) { return s->as<AllocBuffer>(); });
  if (only_allocations) return;
  for (const auto& [v, n] : inside) used.insert(v);
  open_lanes(c.mask);
  lane.names.push();
  use_threads(used);
  for (const Stmt* s : code) {
    lane.span = s->span;
    auto* b = s->as<Bind>();
    if (b && arrays.contains(b->var)) {
      lane.out.at(s->span);
      lane.out.line(lane.names.of(b->var) + " = " + lane.str(b->value) + ";");
    } else {
      lane.stmt(s);
    }
  }
  lane.names.pop();
  close_lanes();
}

void WarpPrinter::declare_array(const Var* v) {
  std::string type = v->dtype.is_handle() ? lane.pointer_type(v) : lane.type(v->dtype);
  std::string name = lane.names.declare(v);
  lane.out.line(type + " " + name + "[32];");
  lane.names.alias(v, name + "[lane]");
  if (v->pointer) lane.pointees[v] = v->pointer->element.element();
}

void WarpPrinter::declare_same(const Var* v, const std::string& type, const std::string& value) {
  uniform_.declare_same(v);
  lane.out.line("const " + type + " " + lane.names.declare(v) + " = " + value + ";");
}

void WarpPrinter::declare_bits(const Var* v, const std::string& value) {
  std::string name = lane.names.declare(v);
  lane.out.line("const sim_mask " + name + " = " + value + ";");
  bits_[v] = name;
  lane.names.alias(v, "(" + name + " >> lane & 1)");
}

// ---- lists of statements ---------------------------------------------------------------------------------------------

bool WarpPrinter::is_warp_level(const Stmt* s) const {
  bool found = false;
  int loops = 0;
  std::function<void(const Stmt*)> look = [&](const Stmt* x) {
    switch (x->kind) {
      case StmtKind::kSeq:
        for (const Stmt* child : x->as<Seq>()->stmts) look(child);
        return;
      case StmtKind::kFor: ++loops, look(x->as<For>()->body), --loops; return;
      case StmtKind::kWhile:
        found |= reads_shared_memory(x->as<While>()->condition);
        ++loops, look(x->as<While>()->body), --loops;
        return;
      case StmtKind::kIf:
        look(x->as<If>()->then_case);
        if (x->as<If>()->else_case) look(x->as<If>()->else_case);
        return;
      case StmtKind::kAttr: return look(x->as<Attr>()->body);
      case StmtKind::kReturn: found = true; return;
      case StmtKind::kBreak:
      case StmtKind::kContinue: found |= loops == 0; return;
      case StmtKind::kBind: {
        auto* c = x->as<Bind>()->value->as<Call>();
        found |= c && is_collective(c);
        return;
      }
      case StmtKind::kEvaluate: {
        auto* c = x->as<Evaluate>()->value->as<Call>();
        found |= c && is_collective(c);
        return;
      }
      case StmtKind::kAllocBuffer: found |= !is_local(x->as<AllocBuffer>()->buffer); return;
      case StmtKind::kThreadExtent:
      case StmtKind::kDeclBuffer:
      case StmtKind::kStore:
      case StmtKind::kAssert: return;
    }
  };
  look(s);
  return found;
}

// Ways out of `s` that not all lanes of a mask take: returns, and those out of the loop around it.
WarpPrinter::Exits WarpPrinter::masked_exits(const Stmt* s, bool divergent, bool divergent_in_loop) const {
  Exits out;
  auto add = [&](const Stmt* x, bool apart) {
    Exits e = masked_exits(x, divergent || apart, divergent_in_loop || apart);
    out.returns |= e.returns, out.loops |= e.loops;
  };
  switch (s->kind) {
    case StmtKind::kSeq:
      for (const Stmt* child : s->as<Seq>()->stmts) add(child, false);
      return out;
    case StmtKind::kAttr: add(s->as<Attr>()->body, false); return out;
    case StmtKind::kThreadExtent: add(s->as<ThreadExtent>()->body, false); return out;
    case StmtKind::kIf: {
      auto* i = s->as<If>();
      bool apart = !same(i->condition);
      add(i->then_case, apart);
      if (i->else_case) add(i->else_case, apart);
      return out;
    }
    case StmtKind::kFor: {
      auto* f = s->as<For>();
      bool apart = !same(f->min) || !same(f->extent);
      out.returns = masked_exits(f->body, divergent || apart || masked_exits(f->body, false, false).loops, apart).returns;
      return out;
    }
    case StmtKind::kWhile: {
      auto* w = s->as<While>();
      bool apart = !same(w->condition);
      out.returns = masked_exits(w->body, divergent || apart || masked_exits(w->body, false, false).loops, apart).returns;
      return out;
    }
    case StmtKind::kReturn: out.returns = divergent; return out;
    case StmtKind::kBreak:
    case StmtKind::kContinue: out.loops = divergent_in_loop; return out;
    default: return out;
  }
}

// Whether the statement declares something that is one for the warp, and does no more.
bool WarpPrinter::declares_same(const Stmt* s) {
  if (auto* b = s->as<Bind>()) return uniform_.kind(b->value) == Uniformity::Kind::kSame;
  if (auto* a = s->as<AllocBuffer>()) return !is_local(a->buffer);
  return s->kind == StmtKind::kThreadExtent || s->kind == StmtKind::kDeclBuffer;
}

void WarpPrinter::same_declaration(const Stmt* s) {
  if (auto* t = s->as<ThreadExtent>()) return thread_extent(t);
  if (auto* b = s->as<Bind>()) {
    uniform_.declare_same(b->var);
    lane.span = s->span;
    return lane.stmt(s);
  }
  auto* a = s->as<AllocBuffer>();
  if (!a) return;
  std::string type = lane.type(a->buffer->dtype.element());
  uniform_.declare_same(a->buffer->data);
  lane.pointees[a->buffer->data] = a->buffer->dtype.element();
  lane.out.line(type + "* const " + lane.names.declare(a->buffer->data) + " = (" + type + "*)" + shared_(a->buffer) + ";");
}

void WarpPrinter::seq(const Stmt* s, const Context& c) {
  std::vector<const Stmt*> all, run;
  flatten(s, all);
  int open = 0;  // blocks of what goes on after lanes have left
  auto flush = [&]() {
    if (!run.empty()) region(run, c);
    run.clear();
  };
  for (size_t i = 0; i < all.size(); ++i) {
    const Stmt* x = all[i];
    bool memory = x->as<Bind>() && uniform_.kind(x->as<Bind>()->value) == Uniformity::Kind::kFromMemory;
    if (declares_same(x)) {  // may go before the run: it reads nothing that the run writes
      same_declaration(x);
    } else if (memory) {
      flush();
      same_declaration(x);
    } else if (!is_warp_level(x)) {
      run.push_back(x);
    } else {
      flush();
      bool leaves = masked_exits(x, c.divergent, c.divergent_in_loop).any();  // before: what is printed knows no less
      stmt(x, c);
      if (!leaves || i + 1 == all.size()) continue;
      if (alive() != c.mask) lane.out.line(c.mask + " &= " + alive() + ";");
      lane.out.open("if (" + c.mask + ")");
      lane.names.push();
      ++open;
    }
  }
  flush();
  for (; open > 0; --open) lane.names.pop(), lane.out.close();
}

// ---- statements of the warp ------------------------------------------------------------------------------------------

void WarpPrinter::stmt(const Stmt* s, const Context& c) {
  if (s->span) lane.span = s->span;
  lane.out.at(s->span);
  auto* b = s->as<Bind>();
  auto* e = s->as<Evaluate>();
  if (b) return print_collective(*this, b->value->as<Call>(), b->var, c);
  if (e) return print_collective(*this, e->value->as<Call>(), nullptr, c);
  if (auto* i = s->as<If>()) return branch(i, c);
  if (auto* f = s->as<For>()) {
    bool is_same = same(f->min) && same(f->extent) && (!f->step || same(f->step));
    return is_same ? same_for(f, c) : varying_for(f, c);
  }
  if (auto* w = s->as<While>()) return loop_while(w, c);
  if (auto* a = s->as<Attr>()) {  // a scope
    lane.out.open("");
    lane.names.push();
    seq(a->body, c);
    lane.names.pop();
    return lane.out.close();
  }
  leave(s, c);
}

// Return, break, continue.
void WarpPrinter::leave(const Stmt* s, const Context& c) {
  if (s->kind == StmtKind::kReturn) {
    if (!c.divergent) return lane.out.line("return;");
    lane.out.line("w->live &= ~" + c.mask + ";");
    for (const Loop& l : loops_) lane.out.line(l.loop + " &= ~" + c.mask + ";");
    for (const Loop& l : loops_) {
      if (l.iteration != c.mask) lane.out.line(l.iteration + " &= ~" + c.mask + ";");
    }
    if (!loops_.empty() && loops_.back().iteration == c.mask) lane.out.line(c.mask + " = 0;");
    return;
  }
  bool is_break = s->kind == StmtKind::kBreak;
  if (!c.divergent_in_loop) return lane.out.line(is_break ? "break;" : "continue;");
  const Loop& l = loops_.back();
  if (is_break) lane.out.line(l.loop + " &= ~" + c.mask + ";");
  lane.out.line(l.iteration == c.mask ? c.mask + " = 0;" : l.iteration + " &= ~" + c.mask + ";");
}

// name: the lanes of `mask` for which the condition holds.
void WarpPrinter::mask_of(const std::string& name, const std::string& mask, const Expr* condition) {
  auto* v = condition->as<Var>();
  if (v && bits_.contains(v)) return lane.out.line("sim_mask " + name + " = " + (mask.empty() ? "" : mask + " & ") + bits_[v] + ";");
  lane.out.line("sim_mask " + name + " = 0;");
  lane_begin(mask, {condition});
  lane.out.line(name + " |= (sim_mask)(" + lane.str(condition) + ") << lane;");
  lane_end();
}

void WarpPrinter::branch(const If* i, const Context& c) {
  auto side = [&](const Stmt* s, const Context& inner) {
    lane.names.push();
    seq(s, inner);
    lane.names.pop();
  };
  if (same(i->condition)) {
    lane.out.open("if (" + lane.str(i->condition) + ")");
    side(i->then_case, c);
    if (i->else_case) lane.out.next("else"), side(i->else_case, c);
    return lane.out.close();
  }
  std::string taken = lane.names.fresh("taken"), others = i->else_case ? lane.names.fresh("others") : "";
  mask_of(taken, c.mask, i->condition);
  if (i->else_case) lane.out.line("sim_mask " + others + " = " + (c.mask.empty() ? "" : c.mask + " & ") + "~" + taken + ";");
  lane.out.open("if (" + taken + ")");
  side(i->then_case, {taken, true, true});
  lane.out.close();
  if (!i->else_case) return;
  lane.out.open("if (" + others + ")");
  side(i->else_case, {others, true, true});
  lane.out.close();
}

void WarpPrinter::open_turn(const Loop& l) { lane.out.line("sim_mask " + l.iteration + " = " + l.loop + ";"); }

void WarpPrinter::same_for(const For* f, const Context& c) {
  Exits exits = masked_exits(f->body, c.divergent, false);
  bool masked = exits.any();
  lane.names.push();
  auto *min = f->min->as<IntImm>(), *extent = f->extent->as<IntImm>();
  bool scope = masked || !extent;  // for names beside the variable's
  if (scope) lane.out.open("");
  std::string type = lane.type(f->var->dtype.bits < 32 ? kInt32 : f->var->dtype);
  std::string last = min && extent            ? std::to_string(min->value + extent->value)
                     : min && min->value == 0 ? lane.str(f->extent)
                                              : lane.str(f->min, Prec::kAdd) + " + " + lane.str(f->extent, Prec::kMul);
  if (!extent) {
    std::string end = lane.names.fresh("end");
    lane.out.line("const " + type + " " + end + " = " + last + ";");
    last = end;
  }
  Loop l;
  if (masked) {
    l = {lane.names.fresh("loop"), lane.names.fresh("turn")};
    lane.out.line("sim_mask " + l.loop + " = " + mask_text(c) + ";");
    loops_.push_back(l);
  }
  uniform_.declare_same(f->var);
  const std::string i = lane.names.declare(f->var);
  std::string step = f->step ? i + " += " + lane.str(f->step) : "++" + i;
  lane.out.open("for (" + type + " " + i + " = " + lane.str(f->min) + "; " + i + " < " + last + (masked ? " && " + l.loop : "") + "; " +
                step + ")");
  lane.names.push();
  if (masked) open_turn(l);
  Context inner = masked ? Context{l.iteration, true, true} : Context{c.mask, c.divergent, false};
  seq(f->body, inner);
  if (masked) loops_.pop_back();
  lane.names.pop();
  lane.out.close();
  if (scope) lane.out.close();
  lane.names.pop();
}

void WarpPrinter::varying_for(const For* f, const Context& c) {
  lane.names.push();
  lane.out.open("");
  std::string end = lane.names.fresh("end"), type = lane.type(f->var->dtype);
  declare_array(f->var);
  const std::string i = lane.names.of(f->var);
  lane.out.line(type + " " + end + "[32];");
  lane_begin(c.mask, {f->min, f->extent});
  lane.out.line(i + " = " + lane.str(f->min) + ";");
  lane.out.line(end + "[lane] = " + i + " + " + lane.str(f->extent, Prec::kMul) + ";");
  lane_end();
  Loop l{lane.names.fresh("loop"), lane.names.fresh("turn")};
  lane.out.line("sim_mask " + l.loop + " = " + mask_text(c) + ";");
  lane.out.open("for (;;)");
  lane.out.line("sim_mask " + l.iteration + " = 0;");
  open_lanes(l.loop);
  lane.out.line(l.iteration + " |= (sim_mask)(" + i + " < " + end + "[lane]) << lane;");
  close_lanes();
  lane.out.line(l.loop + " = " + l.iteration + ";");
  lane.out.line("if (!" + l.loop + ") break;");
  loops_.push_back(l);
  lane.names.push();
  seq(f->body, {l.iteration, true, true});
  lane.names.pop();
  loops_.pop_back();
  lane_begin(l.loop, f->step ? std::vector<const Expr*>{f->step} : std::vector<const Expr*>{});
  lane.out.line(i + " += " + (f->step ? lane.str(f->step) : "1") + ";");
  lane_end();
  lane.out.close();
  lane.out.close();
  lane.names.pop();
}

void WarpPrinter::loop_while(const While* w, const Context& c) {
  bool apart = !same(w->condition), masked = apart || masked_exits(w->body, c.divergent, false).any();
  Loop l;
  lane.names.push();
  if (masked) {
    lane.out.open("");
    l = {lane.names.fresh("loop"), lane.names.fresh("turn")};
    lane.out.line("sim_mask " + l.loop + " = " + mask_text(c) + ";");
  }
  if (apart) {
    lane.out.open("for (;;)");
    mask_of(l.iteration, l.loop, w->condition);
    lane.out.line(l.loop + " = " + l.iteration + ";");
    lane.out.line("if (!" + l.loop + ") break;");
  } else {
    lane.out.open("while (" + (masked ? l.loop + " && " + lane.str(w->condition, Prec::kAnd) : lane.str(w->condition)) + ")");
    if (masked) open_turn(l);
  }
  if (masked) loops_.push_back(l);
  lane.names.push();
  Context inner = masked ? Context{l.iteration, true, true} : Context{c.mask, c.divergent, false};
  // Who waits for what another warp writes lets it run.
  if (reads_shared_memory(w->condition)) lane.out.line("sim->sleep(w, " + mask_text(inner) + ", 0" + lane.site() + ");");
  seq(w->body, inner);
  lane.names.pop();
  if (masked) loops_.pop_back();
  lane.out.close();
  if (masked) lane.out.close();
  lane.names.pop();
}

}  // namespace kiln::sim
