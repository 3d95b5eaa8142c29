#include "backends/sim/uniform.h"

#include <algorithm>

#include "backends/sim/operations.h"
#include "ir/rewriter.h"

namespace kiln::sim {

using namespace ir;

bool is_local(const Buffer* b) { return b->scope().starts_with("local") || b->scope().starts_with("wmma"); }

// Whether thread-index `kind` constant is the same for 32 neighbouring threads that begin at a multiple of 32.
static bool same_in_warp(ExprKind kind, const Expr* right) {
  auto* c = right->as<IntImm>();
  if (!c) return false;
  switch (kind) {
    case ExprKind::kShiftRight: return c->value >= 5;
    case ExprKind::kDiv:
    case ExprKind::kFloorDiv:
    case ExprKind::kLT:
    case ExprKind::kGE: return c->value % 32 == 0;
    case ExprKind::kLE:
    case ExprKind::kGT: return c->value % 32 == 31;
    case ExprKind::kBitAnd: return c->value >= 0 && c->value % 32 == 0;
    default: return false;
  }
}

Uniformity::Kind Uniformity::kind(const Expr* e) const {
  if (auto* v = e->as<Var>()) return same_.contains(v) ? Kind::kSame : Kind::kVarying;
  auto* b = e->as<Binary>();
  if (b && b->a == thread_ && thread_ && same_in_warp(b->kind, b->b)) return Kind::kSame;
  Kind all = Kind::kSame;
  if (auto* l = e->as<Load>()) {
    if (is_local(l->buffer) || !same_.contains(l->buffer->data)) return Kind::kVarying;
    all = Kind::kFromMemory;
  }
  if (auto* c = e->as<Call>()) {
    if (is_collective(c)) return Kind::kVarying;
    switch (c->op) {
      case Op::tl_get_warp_idx:
      case Op::tl_get_warp_idx_sync:
      case Op::tl_get_warp_group_idx:
      case Op::tl_block_rank_in_cluster: return Kind::kSame;
      case Op::tl_get_lane_idx:
      case Op::tirx_cuda__thread_rank:
      case Op::kFunction:
      case Op::tirx_call_extern: return Kind::kVarying;
      case Op::tirx_address_of: {
        auto* l = c->args[0]->as<Load>();
        bool place = !is_local(l->buffer) && same_.contains(l->buffer->data);
        return place ? kind(l->indices[0]) : Kind::kVarying;
      }
      case Op::tirx_handle_add_byte_offset:
      case Op::tirx_if_then_else:
      case Op::tirx_reinterpret:
      case Op::tirx_call_pure_extern: break;
      default:
        if (op_info(c->op).effect != Effect::kPure) return Kind::kVarying;
    }
  }
  for_each_operand(e, [&](const Expr* x) { all = std::min(all, kind(x)); });
  return all;
}

}  // namespace kiln::sim
