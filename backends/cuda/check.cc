#include "backends/cuda/check.h"

#include <optional>

#include "backends/cuda/generated.h"
#include "backends/cuda/intrinsics.h"
#include "emit/functions.h"
#include "emit/names.h"
#include "intrinsics/copy_calls.h"
#include "intrinsics/fragments.h"
#include "ir/rewriter.h"

namespace kiln::cuda {
namespace {

using namespace ir;
using namespace intrinsics;

class Checker {
 public:
  Checker(const Module& module, const Arch& arch) : module_(module), arch_(arch), has_source_(!emit::imported_source(module).empty()) {}

  std::optional<Error> run() {
    for (const Function* f : module_.functions) {
      function_ = f;
      if (emit::has_imported_body(f)) continue;  // its body stands for the text
      dynamic_ = 0;
      f = lower_fragments(arena_, f);
      for (const Var* p : f->params) type(p->dtype, p->span, "parameter '" + std::string(p->name) + "'");
      visit(
          f->body, [&](const Stmt* s) { stmt(s); }, [&](const Expr* e) { visit(e, [&](const Expr* x) { expr(x); }); });
      if (error_) return error_;
    }
    return error_;
  }

 private:
  void fault(SpanId span, std::string message, std::string hint = "") {
    if (error_) return;
    std::string place = module_.place(span ? span : stmt_span_);
    if (place.empty()) place = std::string(function_->name);
    error_ = Error{Code::kUnsupported, std::move(message), std::move(place), std::move(hint)};
  }

  void type(DataType t, SpanId span, const std::string& where) {
    bool wide = t.is_floating() && t.bits == 6 && t.lanes > 4;  // CUDA has vectors of 2 and 4
    if (has_type(t.element()) && !wide) return;
    fault(span, "codegen 'cuda' has no type for dtype '" + to_string(t) + "' of " + where + " on " + arch_.sm());
  }

  // A dtype that an element in memory, or in registers, can have. How bytes hold several elements is for a module to say, with bytes.
  void storage(const Buffer* b, SpanId span) {
    std::string name = "buffer '" + std::string(b->name) + "'";
    type(b->dtype, span, name);
    if (b->dtype.bits >= 8 || b->dtype.is_void() || b->scope().starts_with("local")) return;
    fault(span, "codegen 'cuda' has no " + name + " of packed '" + to_string(b->dtype) + "' on " + arch_.sm(),
          "load bytes and reinterpret them");
  }

  void stmt(const Stmt* s) {
    if (s->span) stmt_span_ = s->span;
    if (auto* a = s->as<AllocBuffer>()) return alloc(a);
    if (auto* st = s->as<Store>()) return storage(st->buffer, s->span);
    if (auto* t = s->as<ThreadExtent>()) return thread(t->tag, s->span);
    if (auto* f = s->as<For>(); f && f->for_kind == ForKind::kThreadBinding) return thread(f->thread_tag, s->span);
    if (auto* a = s->as<Attr>(); a && a->key == "threadblock_swizzle_pattern") return swizzle(a);
  }

  void alloc(const AllocBuffer* a) {
    const Buffer* b = a->buffer;
    std::string name = "buffer '" + std::string(b->name) + "'";
    storage(b, a->span);
    std::string_view scope = b->scope();
    bool known = scope == "local" || scope == "local.var" || scope == "local.fragment" || scope == "local.descriptor.wgmma" ||
                 scope == "local.descriptor.tcgen05_smem" || scope == "local.descriptor.tcgen05_instr" || scope == "shared" ||
                 scope == "shared.dyn" || scope == "shared.barrier" || scope == "shared.cluster_barrier";
    if (!known) return fault(a->span, "codegen 'cuda' has no storage scope '" + std::string(scope) + "' for " + name + " on " + arch_.sm());
    if (scope == "shared.dyn") {
      if (++dynamic_ > 1) fault(a->span, "a kernel has one allocation in scope shared.dyn, and " + name + " is another");
      return;
    }
    int64_t n = std::max<int>(b->dtype.lanes, 1);
    for (const Expr* d : b->shape) {
      auto* i = d->as<IntImm>();
      if (!i || i->value < 0 || __builtin_mul_overflow(n, i->value, &n) || n > (int64_t{1} << 31)) {
        return fault(a->span, name + " in scope '" + std::string(scope) + "' has no constant size");
      }
    }
  }

  void thread(std::string_view tag, SpanId span) {
    for (std::string_view known : {"threadIdx.x", "threadIdx.y", "threadIdx.z", "blockIdx.x", "blockIdx.y", "blockIdx.z"}) {
      if (tag == known) return;
    }
    fault(span, "codegen 'cuda' has no thread index '" + std::string(tag) + "'");
  }

  void swizzle(const Attr* a) {
    auto* c = a->value->as<Call>();
    std::string_view kind = c ? text_arg(c, 0) : std::string_view();
    if ((kind != "rasterization2DRow" && kind != "rasterization2DColumn") || c->args.size() != 2 || int_arg(c, 1) < 1) {
      fault(a->span, "codegen 'cuda' has no threadblock swizzle '" + std::string(kind) + "'");
    }
  }

  void expr(const Expr* e) {
    if (error_) return;
    auto* c = e->as<Call>();
    type(e->dtype, e->span, c ? "operator '" + std::string(c->name) + "'" : "an expression");
    if (auto* l = e->as<Load>()) storage(l->buffer, e->span);
    if (c) call(c);
  }

  void unsupported_call(const Call* c, const std::string& hint = "") {
    std::string on;
    for (const Expr* a : c->args) {
      if (a->kind == ExprKind::kStringImm) continue;
      on = " on " + to_string(a->dtype);
      break;
    }
    fault(c->span, "codegen 'cuda' has no operator '" + std::string(c->name) + "'" + on + " for " + arch_.sm(), hint);
  }

  static bool is_address(const Expr* e) { return addressed_element(e); }

  void math(const Call* c, const MathFunction& f, size_t first) {
    if (c->args.size() != first + static_cast<size_t>(f.args)) {
      return fault(c->span, "'" + std::string(c->name) + "' takes " + std::to_string(f.args) + " arguments, got " +
                                std::to_string(c->args.size() - std::min(first, c->args.size())));
    }
    DataType t = c->args[first]->dtype;
    bool integer = false;
    for (std::string_view name : {"fabs", "floor", "ceil", "trunc", "round", "nearbyint"}) integer |= name == f.name;
    if (!t.is_floating() && !(integer && t.is_integer())) unsupported_call(c);
    if (f.name == "nextafter" && t.bits < 32) unsupported_call(c);  // the next float32 is not the next float16
  }

  void external(const Call* c) {
    std::string text(text_arg(c, 0));
    if (text.empty()) return fault(c->span, "'" + std::string(c->name) + "' has no function name");
    if (auto* f = named_math_function(text)) return math(c, *f, 1);
    if (int n = builtin_function(text); n >= 0) {
      if (c->args.size() != static_cast<size_t>(n) + 1) return fault(c->span, "'" + text + "' takes " + std::to_string(n) + " arguments");
      for (size_t i = 1; i < c->args.size(); ++i) {
        if (text.ends_with("f") && !c->args[i]->dtype.is_floating()) {
          return fault(c->span, "codegen 'cuda' has no '" + text + "' on dtype " + to_string(c->args[i]->dtype));
        }
      }
      return;
    }
    if (text == "abs" && c->args.size() == 2 && c->args[1]->dtype.is_integer()) return;
    if (text == "printf" && c->args.size() >= 2 && c->args[1]->as<StringImm>()) return;
    if (text == "debug_print_var" && c->args.size() == 3 && c->args[1]->as<StringImm>() && !c->args[2]->dtype.is_handle()) return;
    if (text == "debug_print_buffer_value" && c->args.size() == 5 && c->args[1]->as<StringImm>() && !c->args[4]->dtype.is_handle()) return;
    if (text == "DP4A" && c->args.size() == 4) return;
    if (!emit::is_identifier(text)) return fault(c->span, "external function '" + text + "' is not known on " + arch_.sm());
    if (!has_source_) {
      return fault(c->span, "external function '" + text + "' is not one of CUDA's and the module brings no source",
                   "bring its definition with T.import_source");
    }
    bool vector = c->dtype.is_vector(), small = c->dtype.is_floating() && c->dtype.bits <= 16;
    for (size_t i = 1; i < c->args.size(); ++i) small |= c->args[i]->dtype.is_floating() && c->args[i]->dtype.bits <= 16;
    if (vector || small)
      fault(c->span, "external function '" + text + "' takes or returns a vector or a small float, which codegen 'cuda' does not pass");
  }

  void helper(const Call* c, const HelperCall& h) {
    if (c->args.size() > h.args.size() || h.args.find_first_not_of("o-", c->args.size()) != h.args.npos) {
      return fault(c->span, "'" + std::string(c->name) + "' takes " + std::to_string(h.args.size()) + " arguments, got " +
                                std::to_string(c->args.size()));
    }
    if (arch_.number < h.first_sm) return unsupported_call(c, "it needs sm_" + std::to_string(h.first_sm) + " or newer");
    if (c->op == Op::tl_clc_try_cancel_multicast && !arch_.suffix) return unsupported_call(c, "it needs sm_100a or one of its likes");
    if (h.function.starts_with("wgmma") && !arch_.has_wgmma()) return unsupported_call(c, "it needs sm_90a");
    for (size_t i = 0; i < c->args.size(); ++i) {
      if (c->args[i]->kind == ExprKind::kStringImm && h.args[i] != '-') return unsupported_call(c);
      if (h.args[i] == 't' && !c->args[i]->as<IntImm>())
        fault(c->span, "argument " + std::to_string(i) + " of '" + std::string(c->name) + "' is not constant");
      if (h.args[i] == 'p' && (!c->args[i]->dtype.is_handle() || c->args[i]->as<StringImm>())) unsupported_call(c);
      if (h.args[i] == '&' && !c->args[i]->as<Load>() && !c->args[i]->dtype.is_handle()) unsupported_call(c);
    }
    bool elect = c->op == Op::tl_tl_shuffle_elect && (c->args.size() != 1 || int_arg(c, 0) < 0 || int_arg(c, 0) % 32);
    if (elect) unsupported_call(c);
  }

  // So many arguments, all of them values.
  void values(const Call* c, size_t count) {
    bool fits = c->args.size() == count;
    for (const Expr* a : c->args) fits &= !a->dtype.is_handle() && !a->dtype.is_void();
    if (!fits) unsupported_call(c);
  }

  void memory_words(const Call* c, size_t args) {
    if (c->args.size() < args || !is_address(c->args[0])) return unsupported_call(c);
    DataType t = c->args[0]->as<Call>()->args[0]->as<Load>()->buffer->dtype;
    if (t.bits < 8 || t.lanes != 1) unsupported_call(c);
  }

  void rounding(const Call* c) {
    std::string_view mode = c->args.empty() ? std::string_view() : text_arg(c, c->args.size() - 1);
    bool known = mode == "rn" || mode == "rz" || mode == "ru" || mode == "rd";
    bool wide = c->dtype.is_floating() && c->dtype.bits >= 32;
    if (c->op != Op::tl_ieee_frsqrt && (!known || (!wide && mode != "rn"))) {
      fault(c->span,
            "codegen 'cuda' has no '" + std::string(c->name) + "' on " + to_string(c->dtype) + " rounding to '" + std::string(mode) + "'");
    }
  }

  void not_generated(const Call* c, const Error& e) {
    std::string called = is_template_call(c) || e.message.find(c->name) != std::string::npos ? "" : " in '" + std::string(c->name) + "'";
    fault(c->span, "codegen 'cuda'" + called + ": " + e.message, e.hint);
  }

  // Updates of 2 or 4 elements: address, vector or its address, order. Each is checked as the update of one.
  void vector_add(const Call* c, int lanes, bool returns) {
    bool value = c->args.size() > 1 && (c->args[1]->dtype.lanes == lanes || is_address(c->args[1]));
    if (!value || c->args.size() > 3 || !is_address(c->args[0])) return unsupported_call(c);
    DataType t = c->args[0]->as<Call>()->args[0]->as<Load>()->buffer->dtype;
    if (t.bits < 16 || (returns && c->dtype != t.with_lanes(static_cast<uint16_t>(lanes)))) return unsupported_call(c);
    Call one = *c;
    one.op = Op::tl_atomic_add_elem_op;
    Result<Generated> g = generate(arch_, &one);
    if (!g) not_generated(c, g.error());
  }

  void call(const Call* c) {
    switch (c->op) {
      case Op::tl_atomic_addx2_elem_op: return vector_add(c, 2, false);
      case Op::tl_atomic_addx4_elem_op: return vector_add(c, 4, false);
      case Op::tl_atomic_addx2_ret_elem_op: return vector_add(c, 2, true);
      case Op::tl_atomic_addx4_ret_elem_op: return vector_add(c, 4, true);
      default: break;
    }
    if (auto* f = math_function(c->op)) return math(c, *f, 0);
    if (generator_of(c)) {
      Result<Generated> g = generate(arch_, c);
      if (!g) not_generated(c, g.error());
      return;
    }
    if (const HelperCall* h = helper_call(c->op)) return helper(c, *h);
    int known = op_info(c->op).args;
    if (c->op != Op::kFunction && c->op != Op::kUnknown && known >= 0 && c->args.size() < static_cast<size_t>(known)) {
      return fault(c->span,
                   "'" + std::string(c->name) + "' takes " + std::to_string(known) + " arguments, got " + std::to_string(c->args.size()));
    }
    switch (c->op) {
      case Op::kFunction: return callee(c);
      case Op::tirx_call_extern:
      case Op::tirx_call_pure_extern: return external(c);
      case Op::tl_ieee_add:
      case Op::tl_ieee_sub:
      case Op::tl_ieee_mul:
      case Op::tl_ieee_fdiv:
      case Op::tl_ieee_fmaf:
      case Op::tl_ieee_frcp:
      case Op::tl_ieee_fsqrt:
      case Op::tl_ieee_frsqrt: return rounding(c);
      case Op::tl_ldg32:
      case Op::tl_ldg64:
      case Op::tl_ldg128:
      case Op::tl_ldg256:
      case Op::tl_lds32:
      case Op::tl_lds64:
      case Op::tl_lds128: return memory_words(c, 1);
      case Op::tl_stg32:
      case Op::tl_stg64:
      case Op::tl_stg128:
      case Op::tl_stg256:
      case Op::tl_sts32:
      case Op::tl_sts64:
      case Op::tl_sts128: return memory_words(c, 2);
      case Op::tl_pack_b16:
        if (c->args.size() != 2 || c->args[0]->dtype.bits != 16 || c->args[1]->dtype.bits != 16) unsupported_call(c);
        return;
      case Op::tl_ptx_cp_async:
      case Op::tirx_ptx_cp_async:
      case Op::tirx_s_tir__cp_async_raw: {
        AsyncCopy copy = async_copy_of(c);
        if (arch_.number < 80) return unsupported_call(c, "it needs sm_80 or newer");
        if (!copy.to || (copy.bytes != 4 && copy.bytes != 8 && copy.bytes != 16)) unsupported_call(c, "a copy is of 4, 8 or 16 bytes");
        return;
      }
      case Op::tl_set_max_nreg:
        if (!arch_.has_setmaxnreg()) return unsupported_call(c, "it needs sm_90a or newer");
        if (int_arg(c, 0) < 24 || int_arg(c, 0) > 256 || int_arg(c, 0) % 8 || int_arg(c, 1) < 0) unsupported_call(c);
        return;
      case Op::tl_initialize_wgmma_descriptor:
        if (!arch_.has_wgmma()) return unsupported_call(c, "it needs sm_90a");
        if (c->args.size() != 5 || !c->args[0]->as<Load>()) unsupported_call(c);
        return;
      case Op::tl_warpgroup_fence_operand:
        if (c->args.size() != 4 || !c->args[1]->as<Var>()) unsupported_call(c);
        return;
      case Op::tirx_tvm_storage_sync: {
        std::string_view scope = text_arg(c, 0);
        if (scope != "shared" && scope != "shared.dyn" && scope != "warp")
          unsupported_call(c, "it has no scope '" + std::string(scope) + "'");
        return;
      }
      case Op::tirx_reinterpret: {
        bool same = c->dtype.is_handle() || c->args[0]->dtype.is_handle() ||
                    c->dtype.bits * c->dtype.lanes == c->args[0]->dtype.bits * c->args[0]->dtype.lanes;
        if (!same)
          fault(c->span, "reinterpret from " + to_string(c->args[0]->dtype) + " to " + to_string(c->dtype) + " changes the number of bits");
        return;
      }
      case Op::tirx_address_of:
      case Op::tl_access_ptr:
        if (!is_address(c)) unsupported_call(c);
        return;
      case Op::tl___ldg:
        if (c->args.empty() || (!is_address(c->args[0]) && !c->args[0]->as<Load>())) unsupported_call(c);
        return;
      case Op::tl_pack_b8x4:
        if (c->args.size() != 4 || c->dtype.bits != 32 || c->dtype.lanes != 1) return unsupported_call(c);
        for (const Expr* a : c->args) {
          if (a->dtype.bits != 8 || a->dtype.lanes != 1) return unsupported_call(c);
        }
        return;
      case Op::tirx_cuda__printf:
        if (c->args.empty() || !c->args[0]->as<StringImm>()) unsupported_call(c);
        return;
      case Op::tirx_dp4a: {
        auto bytes = [](DataType t) { return t.is_integer() && t.bits == 8 && t.lanes == 4; };
        auto word = [](DataType t) { return t.is_integer() && t.bits == 32 && t.lanes == 1; };
        bool fits = c->args.size() == 3 && word(c->args[2]->dtype);
        for (size_t i = 0; fits && i < 2; ++i) fits = bytes(c->args[i]->dtype) || word(c->args[i]->dtype);
        if (!fits || c->args[0]->dtype.is_uint() != c->args[1]->dtype.is_uint()) unsupported_call(c);
        return;
      }
      case Op::tl_ballot:
      case Op::tirx_cuda__half2float:
      case Op::tirx_cuda__bfloat162float:
      case Op::tirx_cuda__trap_when_assert_failed:
        if (c->args.size() != 1 || c->args[0]->dtype.is_handle()) unsupported_call(c);
        return;
      case Op::tl___ffs:
      case Op::tirx_popcount:
      case Op::tirx_clz:
      case Op::tirx_ctpop:
        if (c->args.empty() || !c->args[0]->dtype.is_integer()) unsupported_call(c);
        return;
      case Op::tirx_isnan:
      case Op::tirx_isinf:
      case Op::tirx_isfinite:
        if (c->args.size() != 1) unsupported_call(c);
        return;
      case Op::tl_abs2: return values(c, 1);
      case Op::tl_add2:
      case Op::tl_sub2:
      case Op::tl_mul2:
      case Op::tl_max2:
      case Op::tl_min2: return values(c, 2);
      case Op::tl_fma2:
      case Op::tl_clamp: return values(c, 3);
      case Op::tl_device_assert:
      case Op::tl_device_assert_with_msg:
        if (c->args.empty() || c->args[0]->dtype.is_handle()) unsupported_call(c);
        return;
      case Op::tirx_vectorlow:
      case Op::tirx_vectorhigh:
        if (c->args.size() != 1 || c->args[0]->dtype.lanes != 2 * c->dtype.lanes) unsupported_call(c);
        return;
      case Op::tirx_vectorcombine:
        if (c->args.size() != 2 || c->args[0]->dtype.lanes + c->args[1]->dtype.lanes != c->dtype.lanes) unsupported_call(c);
        return;
      case Op::tirx_tvm_tuple:  // of a threadblock swizzle, which is looked at there
      case Op::tl_no_set_max_nreg:
      case Op::tl_annotate_producer_reg_dealloc:
      case Op::tl_annotate_consumer_reg_alloc:
      case Op::tl_loop_break:
      case Op::tirx_break_loop:
      case Op::tirx_continue_loop:
      case Op::tirx_thread_return:
      case Op::tirx_ret:
      case Op::tirx_if_then_else:
      case Op::tirx_likely:
      case Op::tirx_isnullptr:
      case Op::tirx_handle_add_byte_offset:
      case Op::tirx_buffer_data:
      case Op::tirx_assume:
      case Op::tl_infinity:
      case Op::tl_sync_warp: return;
      default: return unsupported_call(c);
    }
  }

  void callee(const Call* c) {
    for (const Function* f : module_.functions) {
      if (f->name != c->name) continue;
      bool fits = f->params.size() == c->args.size();
      for (size_t i = 0; fits && i < c->args.size(); ++i) fits = f->params[i]->dtype == c->args[i]->dtype;
      if (!fits) fault(c->span, "function '" + std::string(c->name) + "' takes other arguments");
      return;
    }
    fault(c->span, "the module has no function '" + std::string(c->name) + "'");
  }

  const Module& module_;
  const Arch& arch_;
  Arena arena_;
  bool has_source_;
  int dynamic_ = 0;
  const Function* function_ = nullptr;
  SpanId stmt_span_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Status check(const Module& module, const Arch& arch) {
  Checker checker(module, arch);
  if (std::optional<Error> e = checker.run()) return *e;
  return Ok{};
}

}  // namespace kiln::cuda
