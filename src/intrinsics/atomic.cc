#include "intrinsics/atomic.h"

#include "intrinsics/arguments.h"

namespace kiln::intrinsics {

using namespace ir;

namespace {

// External functions; with "_block" or "_system" behind the name for threads of one block, or of the host and other devices too.
struct Extern {
  std::string_view name, op;
};
constexpr Extern kExterns[] = {{"atomicAdd", "sum"}, {"atomicSub", "sub"}, {"atomicExch", "exch"}, {"atomicMin", "min"},
                               {"atomicMax", "max"}, {"atomicInc", "inc"}, {"atomicDec", "dec"},   {"atomicCAS", "cas"},
                               {"atomicAnd", "and"}, {"atomicOr", "or"},   {"atomicXor", "xor"}};

Atomic external(std::string_view name) {
  std::string_view scope = "gpu";
  if (name.ends_with("_block")) scope = "cta", name.remove_suffix(6);
  if (name.ends_with("_system")) scope = "sys", name.remove_suffix(7);
  for (const Extern& e : kExterns) {
    if (e.name == name) return {e.op, scope, 1, e.op == "cas" ? 2u : 1u};
  }
  return {};
}

}  // namespace

Atomic atomic_of(const Call* c) {
  switch (c->op) {
    case Op::tl_atomic_add_elem_op:
    case Op::tl_atomic_add_ret_elem_op:
    case Op::tirx_atomic_add:
    case Op::tirx_cuda__atomic_add: return {"sum"};
    case Op::tl_atomic_addx2_elem_op: return {"sum", "gpu", 0, 2};
    case Op::tl_atomic_addx4_elem_op: return {"sum", "gpu", 0, 4};
    case Op::tl_atomic_max_elem_op:
    case Op::tl_atomic_max_ret_elem_op: return {"max"};
    case Op::tl_atomic_min_elem_op:
    case Op::tl_atomic_min_ret_elem_op: return {"min"};
    case Op::tl_atomic_or_elem_op: return {"or"};
    case Op::tl_atomic_load_elem_op: return {"load", "gpu", 0, 0};
    case Op::tl_atomic_store_elem_op: return {"store"};
    case Op::tirx_cuda__atomic_cas: return {"cas", "gpu", 0, 2};
    case Op::tirx_call_extern:
    case Op::tirx_call_pure_extern: return external(text_arg(c, 0));
    default: return {};
  }
}

const Load* atomic_place(const Call* c) {
  Atomic a = atomic_of(c);
  return a && c->args.size() > a.first ? addressed_element(c->args[a.first]) : nullptr;
}

}  // namespace kiln::intrinsics
