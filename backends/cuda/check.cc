#include "backends/cuda/check.h"

#include <algorithm>
#include <unordered_set>

#include "backends/cuda/check_launch.h"
#include "backends/cuda/dialect.h"
#include "backends/cuda/generated.h"
#include "backends/cuda/intrinsics.h"
#include "check/operators.h"
#include "check/simt.h"
#include "emit/functions.h"
#include "emit/names.h"
#include "intrinsics/fragments.h"

namespace kiln::cuda {
namespace {

using namespace ir;
using namespace intrinsics;

constexpr int64_t kMostExponent = 1024;  // of tl.pow_of_int: its multiplications are unrolled

class Checker {
 public:
  Checker(const Module& module, const Arch& arch)
      : report_(module, "cuda", arch.sm()), arch_(arch), has_source_(!emit::imported_source(module).empty()) {}

  Status run() {
    for (const Function* f : report_.module.functions) {
      if (emit::has_imported_body(f)) continue;  // its body stands for the text
      dynamic_ = 0, seeded_ = false;
      report_.in(f);
      f = lower_fragments(arena_, f);
      for (const Var* p : f->params) type(p->dtype, p->span, "parameter '" + std::string(p->name) + "'");
      check_launch(report_, f, arch_);
      kiln::check::loop_exits(report_, f);
      report_.walk(
          f, [&](const Stmt* s) { stmt(s); }, [&](const Expr* e) { expr(e); });
    }
    return report_.status();
  }

 private:
  void type(DataType t, SpanId span, const std::string& where) {
    bool wide = t.is_floating() && t.bits == 6 && t.lanes > 4;  // CUDA has vectors of 2 and 4
    if (has_type(t.element()) && !wide) return;
    report_.fault(span, "codegen 'cuda' has no type for dtype '" + to_string(t) + "' of " + where + report_.on_arch());
  }

  // A dtype that an element in memory, or in registers, can have. Elements of 4 bits share a byte; no element is a vector of them.
  void storage(const Buffer* b, SpanId span) {
    std::string name = "buffer '" + std::string(b->name) + "'";
    type(b->dtype, span, name);
    bool whole = b->dtype.bits >= 6 || b->dtype.is_void();  // float6 takes a byte each
    if (whole || b->dtype.lanes == 1) return;
    report_.fault(span, "codegen 'cuda' has no " + name + " of vectors '" + to_string(b->dtype) + "'" + report_.on_arch(),
                  "load bytes and reinterpret them");
  }

  void stmt(const Stmt* s) {
    if (auto* a = s->as<AllocBuffer>()) {
      storage(a->buffer, a->span);
      kiln::check::simt_allocation(report_, a, dynamic_);
    }
    if (auto* st = s->as<Store>()) storage(st->buffer, s->span);
    if (auto* e = s->as<Evaluate>()) statement_ = e->value;
    if (auto* t = s->as<ThreadExtent>()) kiln::check::simt_thread_index(report_, t->tag, s->span);
    auto* f = s->as<For>();
    if (f && f->for_kind == ForKind::kThreadBinding) kiln::check::simt_thread_index(report_, f->thread_tag, s->span);
    if (f) unroll_factor(f);
    if (auto* a = s->as<Attr>(); a && a->key == "threadblock_swizzle_pattern") kiln::check::simt_swizzle(report_, a);
  }

  // The number of the loop's annotation, as before_loop prints it.
  void unroll_factor(const For* f) {
    const Value* v = f->annotations ? f->annotations->find("pragma_unroll_factor") : nullptr;
    if (!v) return;
    auto* constant = v->kind == Value::Kind::kExpr ? v->expr->as<IntImm>() : nullptr;
    bool known = constant || v->kind == Value::Kind::kInt;
    int64_t n = constant ? constant->value : v->integer;
    if (known && n >= 1 && n <= kMostUnrolled) return;
    report_.fault(f->span, "annotation pragma_unroll_factor expects a constant of 1 to " + std::to_string(kMostUnrolled) + ", got " +
                               (known ? std::to_string(n) : "no integer"));
  }

  void expr(const Expr* e) {
    auto* c = e->as<Call>();
    type(e->dtype, e->span, c ? "operator '" + std::string(c->name) + "'" : "an expression");
    if (auto* l = e->as<Load>()) storage(l->buffer, e->span);
    if (!c) return;
    call(c);
    if (c != statement_ && !report_.failed() && gives_nothing(c)) {
      bool external = c->op == Op::tirx_call_extern || c->op == Op::tirx_call_pure_extern;
      report_.fault(c->span, "'" + std::string(external ? text_arg(c, 0) : c->name) + "' gives no value, and is used as one",
                    "make it a statement, as in T.evaluate(...)");
    }
  }

  // Whether what the call is printed as returns nothing: its helper is void, or it is a statement.
  bool gives_nothing(const Call* c) {
    switch (c->op) {
      case Op::tirx_call_extern:
      case Op::tirx_call_pure_extern: return is_void_function(text_arg(c, 0));
      case Op::tirx_tvm_storage_sync:
      case Op::tl_sync_warp:
      case Op::tl_loop_break:
      case Op::tirx_break_loop:
      case Op::tirx_continue_loop:
      case Op::tirx_thread_return:
      case Op::tirx_ret:
      case Op::tl_set_max_nreg:
      case Op::tl_ptx_cp_async:
      case Op::tirx_ptx_cp_async:
      case Op::tirx_s_tir__cp_async_raw:
      case Op::tl_initialize_tcgen05_descriptor:
      case Op::tl_initialize_wgmma_descriptor:
      case Op::tl_rng_init:
      case Op::tl_warpgroup_fence_operand: return true;
      default: break;
    }
    if (generator_of(c)) {
      Result<Generated> g = generate(arch_, c);
      return g && g->text.find("void " + g->name + "(") != std::string::npos;
    }
    const HelperCall* h = helper_call(c->op);
    return h && void_helpers().contains(h->function);
  }

  // The names of helpers that return nothing.
  static const std::unordered_set<std::string_view>& void_helpers() {
    static const std::unordered_set<std::string_view> all = [] {
      std::unordered_set<std::string_view> names;
      std::string_view before;
      for (const Helper& h : helpers()) {
        emit::each_word(h.text, [&](std::string_view word) {
          if (before == "void") names.insert(word);
          before = word;
        });
      }
      return names;
    }();
    return all;
  }

  // Barriers 0 to 15, of whole warps (PTX ISA 9.0, 9.7.13.1), as far as they are constant: `first` is the argument with the barrier.
  void named_barrier(const Call* c, size_t first) {
    auto *id = c->args[first]->as<IntImm>(), *threads = c->args[first + 1]->as<IntImm>();
    std::string name = "'" + std::string(c->name) + "'";
    if (id && (id->value < 0 || id->value > 15)) {
      return report_.fault(c->span, name + " is of barrier " + std::to_string(id->value) + ", expected 0 to 15");
    }
    if (!threads || (threads->value >= 32 && threads->value <= 1024 && threads->value % 32 == 0)) return;
    report_.fault(c->span, name + " is for " + std::to_string(threads->value) + " threads, expected a multiple of 32 up to 1024");
  }

  void external(const Call* c) {
    std::string text(text_arg(c, 0));
    if (text.empty()) return report_.fault(c->span, "'" + std::string(c->name) + "' has no function name");
    if (kiln::check::simt_function(report_, c, text)) return;
    if (!emit::is_identifier(text)) return report_.fault(c->span, "external function '" + text + "' is not known on " + arch_.sm());
    if (!has_source_) {
      return report_.fault(c->span, "external function '" + text + "' is not one of CUDA's and the module brings no source",
                           "bring its definition with T.import_source");
    }
    bool vector = c->dtype.is_vector(), small = c->dtype.is_floating() && c->dtype.bits <= 16;
    for (size_t i = 1; i < c->args.size(); ++i) small |= c->args[i]->dtype.is_floating() && c->args[i]->dtype.bits <= 16;
    if (vector || small)
      report_.fault(c->span,
                    "external function '" + text + "' takes or returns a vector or a small float, which codegen 'cuda' does not pass");
  }

  void helper(const Call* c, const HelperCall& h) {
    if (c->args.size() > h.args.size() || h.args.find_first_not_of("o-", c->args.size()) != h.args.npos) {
      return report_.fault(c->span, "'" + std::string(c->name) + "' takes " + std::to_string(h.args.size()) + " arguments, got " +
                                        std::to_string(c->args.size()));
    }
    if (arch_.number < h.first_sm) return report_.unsupported(c, "it needs sm_" + std::to_string(h.first_sm) + " or newer");
    if (c->op == Op::tl_clc_try_cancel_multicast && !arch_.suffix) return report_.unsupported(c, arch_.needs_specific(100));
    if (h.function.starts_with("wgmma") && !arch_.has_wgmma()) return report_.unsupported(c, "it needs sm_90a");
    for (size_t i = 0; i < c->args.size(); ++i) {
      if (c->args[i]->kind == ExprKind::kStringImm && h.args[i] != '-') return report_.unsupported(c);
      if (h.args[i] == 't' && !c->args[i]->as<IntImm>())
        report_.fault(c->span, "argument " + std::to_string(i) + " of '" + std::string(c->name) + "' is not constant");
      if (h.args[i] == 'p' && (!c->args[i]->dtype.is_handle() || c->args[i]->as<StringImm>())) report_.unsupported(c);
      if (h.args[i] == '&' && !c->args[i]->as<Load>() && !c->args[i]->dtype.is_handle()) report_.unsupported(c);
    }
    if (c->op == Op::tl_pow_of_int && !report_.failed() && (int_arg(c, 1) < 0 || int_arg(c, 1) > kMostExponent)) {
      report_.fault(c->span,
                    "the exponent of '" + std::string(c->name) + "' is from 0 to " + std::to_string(kMostExponent) + ", got " +
                        std::to_string(int_arg(c, 1)),
                    "use T.pow");
    }
    bool elect = c->op == Op::tl_tl_shuffle_elect && (c->args.size() != 1 || int_arg(c, 0) < 0 || int_arg(c, 0) % 32);
    if (elect) report_.unsupported(c);
    if (c->op == Op::tl_named_barrier_arrive && !report_.failed()) named_barrier(c, 0);
  }

  void not_generated(const Call* c, const Error& e) {
    std::string called = is_template_call(c) || e.message.find(c->name) != std::string::npos ? "" : " in '" + std::string(c->name) + "'";
    report_.fault(c->span, "codegen 'cuda'" + called + ": " + e.message, e.hint);
  }

  // An update of several elements is checked as that of one.
  void vector_add(const Call* c) {
    kiln::check::simt_operator(report_, c);
    if (report_.failed()) return;
    Call one = *c;
    one.op = Op::tl_atomic_add_elem_op;
    Result<Generated> g = generate(arch_, &one);
    if (!g) not_generated(c, g.error());
  }

  // What operators without a helper of their own need of the architecture.
  void architecture(const Call* c) {
    switch (c->op) {
      case Op::tl_ptx_cp_async:
      case Op::tirx_ptx_cp_async:
      case Op::tirx_s_tir__cp_async_raw:
        if (arch_.number < 80) report_.unsupported(c, "it needs sm_80 or newer");
        return;
      case Op::tl_set_max_nreg:
        if (!arch_.has_setmaxnreg()) report_.unsupported(c, arch_.needs_specific(90));
        return;
      case Op::tl_initialize_wgmma_descriptor:
        if (!arch_.has_wgmma()) report_.unsupported(c, "it needs sm_90a");
        return;
      case Op::tirx_tvm_storage_sync:
        if (text_arg(c, 0) != "warp" && c->args.size() == 3 && !c->args[1]->dtype.is_bool()) named_barrier(c, 1);
        return;
      default: return;
    }
  }

  // tl.rng_init: seed, sequence, offset, cuRAND's name of the generator; later draws of the function are from the last one.
  void random(const Call* c) {
    bool fits = c->op == Op::tl_rng_init   ? c->args.size() == 4 && has_kinds(c, "vvvs")
                : c->op == Op::tl_rng_rand ? c->args.empty() && c->dtype == kUInt32
                                           : c->args.size() == 1 && (c->dtype == kFloat32 || c->dtype == kFloat64);
    if (c->op == Op::tl_rng_rand_float && text_arg(c, 0) != "uniform" && text_arg(c, 0) != "normal") fits = false;
    if (!fits) return report_.unsupported(c);
    if (c->op == Op::tl_rng_init && text_arg(c, 3) != "curandStatePhilox4_32_10_t") {
      return report_.fault(
          c->span,
          "codegen 'cuda' has no generator '" + std::string(text_arg(c, 3)) + "' for '" + std::string(c->name) + "'" + report_.on_arch(),
          "use curandStatePhilox4_32_10_t");
    }
    if (c->op == Op::tl_rng_init) seeded_ = true;
    if (!seeded_) report_.fault(c->span, "'" + std::string(c->name) + "' comes before tl.rng_init");
  }

  void call(const Call* c) {
    switch (c->op) {
      case Op::tl_atomic_addx2_elem_op:
      case Op::tl_atomic_addx4_elem_op:
      case Op::tl_atomic_addx2_ret_elem_op:
      case Op::tl_atomic_addx4_ret_elem_op: return vector_add(c);
      default: break;
    }
    if (auto* f = math_function(c->op)) return kiln::check::math(report_, c, *f, 0);
    if (generator_of(c)) {
      Result<Generated> g = generate(arch_, c);
      if (!g) not_generated(c, g.error());
      return;
    }
    if (const HelperCall* h = helper_call(c->op)) return helper(c, *h);
    if (c->op == Op::tirx_call_extern || c->op == Op::tirx_call_pure_extern) return external(c);
    if (c->op == Op::tl_rng_init || c->op == Op::tl_rng_rand || c->op == Op::tl_rng_rand_float) return random(c);
    architecture(c);
    if (!kiln::check::common_operator(report_, c) && !kiln::check::simt_operator(report_, c)) report_.unsupported(c);
  }

  kiln::check::Report report_;
  const Arch& arch_;
  Arena arena_;
  const bool has_source_;
  const Expr* statement_ = nullptr;  // the value of the statement that is looked at, where that is nothing but a value
  int dynamic_ = 0;
  bool seeded_ = false;  // a generator of random numbers is there
};

}  // namespace

Status check(const Module& module, const Arch& arch) { return Checker(module, arch).run(); }

}  // namespace kiln::cuda
