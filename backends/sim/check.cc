#include "backends/sim/check.h"

#include <charconv>

#include "backends/sim/atomics.h"
#include "backends/sim/operations.h"
#include "backends/sim/reductions.h"
#include "backends/sim/tensor_calls.h"
#include "check/operators.h"
#include "check/simt.h"
#include "emit/functions.h"
#include "emit/names.h"
#include "host_c/intrinsics.h"
#include "intrinsics/arguments.h"
#include "intrinsics/atomic.h"
#include "intrinsics/copy_calls.h"
#include "intrinsics/fragments.h"
#include "intrinsics/matrix_calls.h"

namespace kiln::sim {
namespace {

using namespace ir;
using namespace intrinsics;

class Checker {
 public:
  explicit Checker(const Module& module) : report_(module, "sim"), has_source_(!emit::imported_source(module).empty()) {}

  Status run() {
    for (const Function* f : report_.module.functions) {
      report_.in(f);
      if (emit::has_imported_body(f)) {
        report_.fault(f->span, "the kernel '" + std::string(emit::name_of(f)) + "' is CUDA source text, which codegen 'sim' does not read",
                      "codegen 'cuda_text' runs it");
        continue;
      }
      dynamic_ = 0;
      bool kernel = emit::is_kernel(f);
      f = lower_fragments(arena_, f);
      for (const Var* p : f->params) type(p->dtype, p->span, "parameter '" + std::string(p->name) + "'");
      kiln::check::loop_exits(report_, f);
      report_.walk(
          f, [&](const Stmt* s) { stmt(s); },
          [&](const Expr* e) {
            expr(e);
            auto* c = e->as<Call>();
            if (c && !kernel && is_collective(c)) {
              report_.fault(c->span, "codegen 'sim' has no '" + std::string(c->name) + "' in a function that is not a kernel");
            }
          });
    }
    return report_.status();
  }

 private:
  void type(DataType t, SpanId span, const std::string& where) {
    if (host_c::has_type(t.element())) return;
    report_.fault(span, "codegen 'sim' has no type for dtype '" + to_string(t) + "' of " + where);
  }

  void stmt(const Stmt* s) {
    if (auto* a = s->as<AllocBuffer>()) {
      type(a->buffer->dtype, a->span, "buffer '" + std::string(a->buffer->name) + "'");
      kiln::check::simt_allocation(report_, a, dynamic_);
    }
    if (auto* st = s->as<Store>()) type(st->buffer->dtype, s->span, "buffer '" + std::string(st->buffer->name) + "'");
    if (auto* t = s->as<ThreadExtent>()) kiln::check::simt_thread_index(report_, t->tag, s->span);
    auto* f = s->as<For>();
    if (f && f->for_kind == ForKind::kThreadBinding) kiln::check::simt_thread_index(report_, f->thread_tag, s->span);
    if (auto* a = s->as<Attr>(); a && a->key == "threadblock_swizzle_pattern") kiln::check::simt_swizzle(report_, a);
  }

  void expr(const Expr* e) {
    auto* c = e->as<Call>();
    type(e->dtype, e->span, c ? "operator '" + std::string(c->name) + "'" : "an expression");
    if (auto* l = e->as<Load>()) type(l->buffer->dtype, e->span, "buffer '" + std::string(l->buffer->name) + "'");
    if (c) call(c);
  }

  void external(const Call* c) {
    std::string text(text_arg(c, 0));
    if (text.empty()) return report_.fault(c->span, "'" + std::string(c->name) + "' has no function name");
    if (kiln::check::simt_function(report_, c, text)) return;
    if (!emit::is_identifier(text) || !has_source_)
      return report_.fault(c->span, "external function '" + text + "' is not known to the simulator");
  }

  // An update that the runtime has, of an element whose address is given.
  void atomic(const Call* c, const Atomic& a) {
    auto* place = atomic_place(c);
    bool fits = place && a.values <= 2 && c->args.size() > a.first + a.values && !runtime_type(place->buffer->dtype).empty() &&
                !runtime_update(a.op).empty();
    if (!fits) report_.unsupported(c);
  }

  // Operators that have a decoder of their own. Whether the instruction exists, its form says when the module is made.
  bool decoded(const Call* c) {
    if (is_tensor_call(c)) {
      std::string fault = !has_its_kinds(c) ? "its arguments are of other kinds" : tensor_call_fault(c);
      if (!fault.empty()) report_.unsupported(c, fault);
      return true;
    }
    switch (c->op) {
      case Op::tirx_ptx_mma:
      case Op::tl_ptx_mma_sm70:
      case Op::tirx_ptx_mma_sp:
      case Op::tl_ptx_mma_block_scale: {
        auto m = mma_call(c);
        if (!has_its_kinds(c) || !m || m->type_a.empty() || m->type_b.empty() || m->type_d.empty()) report_.unsupported(c);
        return true;
      }
      case Op::tl_ptx_ldmatrix:
      case Op::tirx_ptx_ldmatrix:
      case Op::tl_ptx_stmatrix:
        if (!has_its_kinds(c) || !matrix_move_call(c)) report_.unsupported(c);
        return true;
      case Op::tl_ptx_wgmma_ss:
      case Op::tl_ptx_wgmma_rs:
      case Op::tl_ptx_wgmma_sp_ss:
      case Op::tl_ptx_wgmma_sp_rs: {
        auto m = wgmma_call(c);
        if (!has_its_kinds(c) || !m || m->type_a.empty() || m->type_b.empty() || m->type_d.empty()) report_.unsupported(c);
        return true;
      }
      case Op::tl_tma_load:
      case Op::tl_tma_load_im2col:
      case Op::tl_tma_load_multicast:
      case Op::tl_tma_load_gather4:
      case Op::tl_tma_store:
      case Op::tl_tma_store_scatter4:
        if (!has_its_kinds(c) || (!tensor_copy_call(c) && !bulk_copy_call(c))) report_.unsupported(c);
        return true;
      case Op::tl_ptx_cp_async:
      case Op::tirx_ptx_cp_async:
      case Op::tirx_s_tir__cp_async_raw: {
        AsyncCopy copy = async_copy_of(c);
        if (!copy.to.pointer || (copy.bytes != 4 && copy.bytes != 8 && copy.bytes != 16))
          report_.unsupported(c, "a copy is of 4, 8 or 16 bytes");
        return true;
      }
      default: return false;
    }
  }

  void call(const Call* c) {
    if (auto* f = emit::math_function(c->op)) return kiln::check::math(report_, c, *f, 0);
    bool vector_add = c->op == Op::tl_atomic_addx2_elem_op || c->op == Op::tl_atomic_addx4_elem_op ||
                      c->op == Op::tl_atomic_addx2_ret_elem_op || c->op == Op::tl_atomic_addx4_ret_elem_op;
    if (vector_add) return void(kiln::check::simt_operator(report_, c));
    if (Atomic a = atomic_of(c)) return atomic(c, a);
    if (is_template_call(c)) {
      bool any = text_arg(c, 0) == "tl::Any" || text_arg(c, 0) == "tl::All";
      if (any || !reduction_of(c, false)) report_.fault(c->span, "codegen 'sim' has no '" + std::string(text_arg(c, 0)) + "'");
      return;
    }
    if (decoded(c)) return;
    if (c->op == Op::tirx_call_extern || c->op == Op::tirx_call_pure_extern) return external(c);
    if (kiln::check::common_operator(report_, c) || kiln::check::simt_operator(report_, c)) return;
    if (!is_plain(c->op)) return report_.unsupported(c);
    if (!kiln::check::enough_arguments(report_, c) || !has_its_kinds(c)) report_.unsupported(c);
  }

  kiln::check::Report report_;
  Arena arena_;
  const bool has_source_;
  int dynamic_ = 0;
};

}  // namespace

Status check(const Module& module) { return Checker(module).run(); }

Status check_architecture(const Module& module, const Target& target) {
  std::string sm = target.attr("arch");
  int number = 0;
  if (!sm.starts_with("sm_")) return Ok{};
  std::from_chars(sm.data() + 3, sm.data() + sm.size(), number);
  kiln::check::Report report(module, "sim", sm);
  for (const Function* f : module.functions) {
    report.walk(
        f, [](const Stmt*) {},
        [&](const Expr* e) {
          auto* c = e->as<Call>();
          int first = c ? first_architecture(c->op) : 0;
          if (first > number) report.unsupported(c, "it needs sm_" + std::to_string(first) + " or newer");
        });
  }
  return report.status();
}

}  // namespace kiln::sim
