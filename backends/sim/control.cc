#include "backends/sim/control.h"

#include "backends/sim/operations.h"
#include "intrinsics/arguments.h"
#include "intrinsics/functions.h"
#include "legalise/rewrite.h"

namespace kiln::sim {
namespace {

using namespace ir;

class PlainControl : public Rewriter {
 public:
  using Rewriter::Rewriter;

  const Expr* expr(const Expr* e) override {
    e = expr_children(e);
    auto* c = e->as<Call>();
    if (!c || (c->op != Op::tirx_call_extern && c->op != Op::tirx_call_pure_extern)) return e;
    auto* f = intrinsics::named_math_function(intrinsics::text_arg(c, 0));
    if (!f) return e;
    std::vector<const Expr*> args(c->args.begin() + 1, c->args.end());
    if (f->op != Op::kUnknown) return build.call(c->dtype, f->op, args, c->span);
    args.insert(args.begin(), build.string_imm(f->name));
    return build.call(c->dtype, Op::tirx_call_pure_extern, args, c->span);
  }

  const Stmt* stmt(const Stmt* s) override {
    s = stmt_children(s);
    if (auto* a = s->as<Attr>()) return attr(a);
    if (auto* i = s->as<If>(); i && is_empty(i->then_case) && !i->else_case) return build.seq({});  // it guarded a hint
    auto* f = s->as<For>();
    if (f && f->for_kind == ForKind::kThreadBinding) {
      return build.add(ThreadExtent{{StmtKind::kThreadExtent, s->span}, f->var, f->thread_tag, f->extent, f->body});
    }
    auto* e = s->as<Evaluate>();
    auto* c = e ? e->value->as<Call>() : nullptr;
    if (!c) return s;
    if (is_hint(c->op)) return build.seq({});
    switch (c->op) {
      case Op::tl_loop_break:
      case Op::tirx_break_loop: return build.add(Break{{StmtKind::kBreak, s->span}});
      case Op::tirx_continue_loop: return build.add(Continue{{StmtKind::kContinue, s->span}});
      case Op::tirx_thread_return:
      case Op::tirx_ret: return build.add(Return{{StmtKind::kReturn, s->span}, nullptr});
      default: return s;
    }
  }

 private:
  static bool is_empty(const Stmt* s) { return s->as<Seq>() && s->as<Seq>()->stmts.empty(); }

  const Stmt* attr(const Attr* a) {
    if (a->key == "async_commit_queue_scope") {
      return build.seq({a->body, build.evaluate(build.call(kVoid, Op::tirx_ptx_commit_group, {}, a->span), a->span)}, a->span);
    }
    auto* inner = a->key == "async_wait_queue_scope" ? a->body->as<Attr>() : nullptr;
    if (inner && inner->key == "async_wait_inflight_count") {
      const Expr* wait = build.call(kVoid, Op::tirx_ptx_wait_group, {inner->value}, a->span);
      return build.seq({build.evaluate(wait, a->span), inner->body}, a->span);
    }
    return a;
  }
};

}  // namespace

const Function* plain_control(Arena& arena, const Function* f) {
  PlainControl pass(arena);
  return legalise::rewrite_body(arena, f, pass);
}

}  // namespace kiln::sim
