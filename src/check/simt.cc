#include "check/simt.h"

#include <algorithm>

#include "check/operators.h"
#include "intrinsics/arguments.h"
#include "intrinsics/copy_calls.h"
#include "intrinsics/functions.h"

namespace kiln::check {

using namespace ir;
using namespace intrinsics;

namespace {

bool known_scope(std::string_view scope) {
  for (std::string_view known : {"local", "local.var", "local.fragment", "local.descriptor.wgmma", "local.descriptor.tcgen05_smem",
                                 "local.descriptor.tcgen05_instr", "shared", "shared.dyn", "shared.barrier", "shared.cluster_barrier"}) {
    if (scope == known) return true;
  }
  return false;
}

// An access to the words at an address.
bool has_words(const Call* c, size_t args) {
  const Load* place = c->args.size() < args ? nullptr : addressed_element(c->args[0]);
  return place && place->buffer->dtype.bits >= 8 && place->buffer->dtype.lanes == 1;
}

// Updates of 2 or 4 elements: address, vector or its address, order.
bool adds_lanes(const Call* c, int lanes, bool returns) {
  bool value = c->args.size() > 1 && (c->args[1]->dtype.lanes == lanes || addressed_element(c->args[1]));
  const Load* place = value && c->args.size() <= 3 ? addressed_element(c->args[0]) : nullptr;
  if (!place) return false;
  DataType t = place->buffer->dtype;
  return t.bits >= 16 && (!returns || c->dtype == t.with_lanes(static_cast<uint16_t>(lanes)));
}

bool is_dot_of_bytes(const Call* c) {
  auto bytes = [](DataType t) { return t.is_integer() && t.bits == 8 && t.lanes == 4; };
  auto word = [](DataType t) { return t.is_integer() && t.bits == 32 && t.lanes == 1; };
  bool fits = c->args.size() == 3 && word(c->args[2]->dtype);
  for (size_t i = 0; fits && i < 2; ++i) fits = bytes(c->args[i]->dtype) || word(c->args[i]->dtype);
  return fits && c->args[0]->dtype.is_uint() == c->args[1]->dtype.is_uint();
}

bool packs_bytes(const Call* c) {
  bool fits = c->args.size() == 4 && c->dtype.bits == 32 && c->dtype.lanes == 1;
  for (const Expr* a : c->args) fits &= a->dtype.bits == 8 && a->dtype.lanes == 1;
  return fits;
}

void rounding(Report& report, const Call* c) {
  std::string_view mode = c->args.empty() ? std::string_view() : text_arg(c, c->args.size() - 1);
  bool known = mode == "rn" || mode == "rz" || mode == "ru" || mode == "rd";
  bool wide = c->dtype.is_floating() && c->dtype.bits >= 32;
  if (c->op == Op::tl_ieee_frsqrt || (known && (wide || mode == "rn"))) return;
  report.fault(c->span, report.codegen + " has no '" + std::string(c->name) + "' on " + to_string(c->dtype) + " rounding to '" +
                            std::string(mode) + "'");
}

// Whether the arguments fit the operator; nothing for one that is not looked at here.
std::optional<bool> fits(const Call* c) {
  switch (c->op) {
    case Op::tl_atomic_addx2_elem_op: return adds_lanes(c, 2, false);
    case Op::tl_atomic_addx4_elem_op: return adds_lanes(c, 4, false);
    case Op::tl_atomic_addx2_ret_elem_op: return adds_lanes(c, 2, true);
    case Op::tl_atomic_addx4_ret_elem_op: return adds_lanes(c, 4, true);
    case Op::tl_ldg32:
    case Op::tl_ldg64:
    case Op::tl_ldg128:
    case Op::tl_ldg256:
    case Op::tl_lds32:
    case Op::tl_lds64:
    case Op::tl_lds128: return has_words(c, 1);
    case Op::tl_stg32:
    case Op::tl_stg64:
    case Op::tl_stg128:
    case Op::tl_stg256:
    case Op::tl_sts32:
    case Op::tl_sts64:
    case Op::tl_sts128: return has_words(c, 2);
    case Op::tl_pack_b16: return c->args.size() == 2 && c->args[0]->dtype.bits == 16 && c->args[1]->dtype.bits == 16;
    case Op::tl_pack_b8x4: return packs_bytes(c);
    case Op::tl_set_max_nreg: return int_arg(c, 0) >= 24 && int_arg(c, 0) <= 256 && int_arg(c, 0) % 8 == 0 && int_arg(c, 1) >= 0;
    case Op::tl_initialize_wgmma_descriptor: return c->args.size() == 5 && c->args[0]->as<Load>();
    case Op::tl_warpgroup_fence_operand: return c->args.size() == 4 && c->args[1]->as<Var>();
    case Op::tirx_cuda__printf: return !c->args.empty() && c->args[0]->as<StringImm>();
    case Op::tirx_dp4a: return is_dot_of_bytes(c);
    case Op::tl_ballot:
    case Op::tirx_cuda__half2float:
    case Op::tirx_cuda__bfloat162float:
    case Op::tirx_cuda__trap_when_assert_failed: return c->args.size() == 1 && !c->args[0]->dtype.is_handle();
    case Op::tl___ffs: return !c->args.empty() && c->args[0]->dtype.is_integer();
    case Op::tirx_tvm_tuple:  // of a threadblock swizzle, which is looked at there
    case Op::tl_no_set_max_nreg:
    case Op::tl_annotate_producer_reg_dealloc:
    case Op::tl_annotate_consumer_reg_alloc:
    case Op::tirx_buffer_data: return true;
    default: return std::nullopt;
  }
}

}  // namespace

void simt_allocation(Report& report, const AllocBuffer* a, int& dynamic) {
  const Buffer* b = a->buffer;
  std::string name = "buffer '" + std::string(b->name) + "'";
  std::string_view scope = b->scope();
  if (!known_scope(scope)) {
    return report.fault(a->span, report.codegen + " has no storage scope '" + std::string(scope) + "' for " + name + report.on_arch());
  }
  if (scope == "shared.dyn") {
    if (++dynamic > 1) report.fault(a->span, "a kernel has one allocation in scope shared.dyn, and " + name + " is another");
    return;
  }
  int64_t n = std::max<int>(b->dtype.lanes, 1);
  for (const Expr* d : b->shape) {
    auto* i = d->as<IntImm>();
    if (i && i->value >= 0 && !__builtin_mul_overflow(n, i->value, &n) && n <= (int64_t{1} << 31)) continue;
    return report.fault(a->span, name + " in scope '" + std::string(scope) + "' has no constant size");
  }
}

void simt_thread_index(Report& report, std::string_view tag, SpanId span) {
  for (std::string_view known : {"threadIdx.x", "threadIdx.y", "threadIdx.z", "blockIdx.x", "blockIdx.y", "blockIdx.z"}) {
    if (tag == known) return;
  }
  report.fault(span, report.codegen + " has no thread index '" + std::string(tag) + "'");
}

void simt_swizzle(Report& report, const Attr* a) {
  auto* c = a->value->as<Call>();
  std::string_view kind = c ? text_arg(c, 0) : std::string_view();
  bool known = kind == "rasterization2DRow" || kind == "rasterization2DColumn";
  if (known && c->args.size() == 2 && int_arg(c, 1) >= 1) return;
  report.fault(a->span, report.codegen + " has no threadblock swizzle '" + std::string(kind) + "'");
}

bool simt_operator(Report& report, const Call* c) {
  switch (c->op) {
    case Op::tl_ieee_add:
    case Op::tl_ieee_sub:
    case Op::tl_ieee_mul:
    case Op::tl_ieee_fdiv:
    case Op::tl_ieee_fmaf:
    case Op::tl_ieee_frcp:
    case Op::tl_ieee_fsqrt:
    case Op::tl_ieee_frsqrt:
      if (enough_arguments(report, c)) rounding(report, c);
      return true;
    case Op::tl_ptx_cp_async:
    case Op::tirx_ptx_cp_async:
    case Op::tirx_s_tir__cp_async_raw: {
      if (!enough_arguments(report, c)) return true;
      AsyncCopy copy = async_copy_of(c);
      bool whole = copy.to.pointer && (copy.bytes == 4 || copy.bytes == 8 || copy.bytes == 16);
      if (!whole) report.unsupported(c, "a copy is of 4, 8 or 16 bytes");
      return true;
    }
    case Op::tirx_tvm_storage_sync: {
      std::string_view scope = text_arg(c, 0);
      bool known = scope == "shared" || scope == "shared.dyn" || scope == "warp";
      if (enough_arguments(report, c) && !known) report.unsupported(c, "it has no scope '" + std::string(scope) + "'");
      return true;
    }
    default: break;
  }
  std::optional<bool> good = fits(c);
  if (good && enough_arguments(report, c) && !*good) report.unsupported(c);
  return good.has_value();
}

namespace {

// Elements of small formats are bits in memory: __ldg and its kin take and give those of one format.
void memory_access(Report& report, const Call* c, const std::string& name) {
  if (!c->args[1]->dtype.is_handle()) {
    return report.fault(c->span, "'" + name + "' takes an address, got dtype " + to_string(c->args[1]->dtype), "use T.address_of");
  }
  const Load* place = addressed_element(c->args[1]);
  auto* pointer = c->args[1]->as<Var>();
  DataType t = place ? place->buffer->dtype.element() : pointer && pointer->pointer ? pointer->pointer->element.element() : kVoid;
  DataType value = c->args.size() > 2 ? c->args[2]->dtype : c->dtype;
  auto small = [](DataType x) { return x.is_floating() && x.bits <= 16; };
  if (t == value || (!small(t) && !small(value))) return;
  report.fault(c->span, "'" + name + "' accesses elements of dtype '" + to_string(t) + "' as '" + to_string(value) + "'",
               "cast the value, not the element");
}

}  // namespace

bool simt_function(Report& report, const Call* c, const std::string& name) {
  size_t given = c->args.size();
  if (auto* f = named_math_function(name)) return math(report, c, *f, 1), true;
  if (int n = builtin_function(name); n >= 0) {
    if (given != static_cast<size_t>(n) + 1) {
      report.fault(c->span, "'" + name + "' takes " + std::to_string(n) + " arguments, got " + std::to_string(given - 1));
    }
    for (size_t i = 1; i < given; ++i) {
      if (!name.ends_with("f") || c->args[i]->dtype.is_floating()) continue;
      report.fault(c->span, report.codegen + " has no '" + name + "' on dtype " + to_string(c->args[i]->dtype));
    }
    bool memory = name.starts_with("__ld") || name.starts_with("__st");
    if (memory && !report.failed()) memory_access(report, c, name);
    return true;
  }
  bool message = given >= 2 && c->args[1]->as<StringImm>(), value = !c->args.back()->dtype.is_handle();
  return (name == "abs" && given == 2 && c->args[1]->dtype.is_integer()) || (name == "printf" && message) ||
         (name == "debug_print_var" && given == 3 && message && value) ||
         (name == "debug_print_buffer_value" && given == 5 && message && value) || (name == "DP4A" && given == 4);
}

}  // namespace kiln::check
