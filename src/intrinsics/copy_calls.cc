#include "intrinsics/copy_calls.h"

#include <algorithm>

namespace kiln::intrinsics {

using namespace ir;

namespace {

// tl.ptx_cp_async counts elements of the destination.
int64_t copied_bytes(const Call* c) {
  if (c->op != Op::tl_ptx_cp_async) return int_arg(c, c->args.size() < 5 ? 2 : 4);
  auto* address = c->args.size() > 2 ? c->args[0]->as<Call>() : nullptr;
  auto* place = address && !address->args.empty() ? address->args[0]->as<Load>() : nullptr;
  int64_t count = int_arg(c, 2);
  if (!place || count < 1 || count > 128) return -1;
  int64_t bits = count * place->buffer->dtype.bits * std::max<int>(place->buffer->dtype.lanes, 1);
  return bits % 8 ? -1 : bits / 8;
}

}  // namespace

AsyncCopy async_copy_of(const Call* c) {
  AsyncCopy copy;
  copy.bytes = copied_bytes(c);
  // (to, offset), (from, offset), bytes; otherwise two addresses and a size; then a condition
  bool offsets = c->args.size() > 4 && c->op != Op::tl_ptx_cp_async;
  size_t n = offsets ? 5 : 3;
  if (c->args.size() < n || c->args.size() > n + 1 || !has_kinds(c, offsets ? "pvpvvv" : "ppvv")) return copy;
  copy.to.pointer = c->args[0], copy.from.pointer = c->args[offsets ? 2 : 1];
  if (offsets) copy.to.offset = c->args[1], copy.from.offset = c->args[3];
  if (c->args.size() > n) copy.condition = c->args[n];
  return copy;
}

std::optional<TensorCopy> tensor_copy_call(const Call* c) {
  TensorCopy t;
  t.is_store = c->op == Op::tl_tma_store || c->op == Op::tl_tma_store_scatter4;
  t.im2col = c->op == Op::tl_tma_load_im2col;
  t.rows = c->op == Op::tl_tma_load_gather4 || c->op == Op::tl_tma_store_scatter4;
  bool multicast = c->op == Op::tl_tma_load_multicast;
  bool is_copy = t.is_store || t.im2col || t.rows || multicast || c->op == Op::tl_tma_load;
  if (!is_copy || c->args.empty() || !c->args[0]->as<Var>()) return std::nullopt;
  // Load: map, barrier, to, multicast: mask of blocks; coordinates, im2col: offsets; hint.
  // Store: map, from, coordinates, whether it adds (but scatter4), hint.
  size_t first = t.is_store ? 2 : multicast ? 4 : 3, last = t.is_store && !t.rows ? 2 : 1, given = c->args.size();
  if (given < first + last + 1) return std::nullopt;
  size_t n = given - first - last, coordinates = t.im2col ? (n + 2) / 2 : n;
  t.map = c->args[0], t.shared = c->args[t.is_store ? 1 : 2];
  if (!t.is_store) t.barrier = c->args[1];
  if (multicast) t.blocks = c->args[3];
  t.coordinates = c->args.subspan(first, coordinates), t.offsets = c->args.subspan(first + coordinates, n - coordinates);
  t.rank = t.rows ? 2 : static_cast<int>(coordinates);
  t.hint = int_arg(c, given - 1);
  int64_t adds = t.is_store && !t.rows ? int_arg(c, given - 2) : 0;
  t.adds = adds > 0;
  t.pair = !t.is_store && is_pair(c);
  bool whole = t.im2col ? n % 2 == 0 && t.rank >= 3 : t.rows ? n == 5 : true;
  if (!whole || t.rank > 5 || t.hint < 0 || t.hint > 2 || adds < 0) return std::nullopt;
  return t;
}

std::optional<BulkCopy> bulk_copy_call(const Call* c) {
  bool is_store = c->op == Op::tl_tma_store;
  if ((!is_store && c->op != Op::tl_tma_load) || c->args.size() != 5 || c->args[0]->as<Var>()) return std::nullopt;
  // Load: shared address, global address, barrier, bytes, hint. Store: global address, shared address, bytes, whether it adds, hint.
  BulkCopy b;
  b.is_store = is_store, b.hint = int_arg(c, 4);
  b.shared = c->args[is_store ? 1 : 0], b.global = c->args[is_store ? 0 : 1], b.bytes = c->args[is_store ? 2 : 3];
  if (!is_store) b.barrier = c->args[2];
  if (b.hint < 0 || b.hint > 2 || (is_store && int_arg(c, 3) != 0)) return std::nullopt;
  return b;
}

}  // namespace kiln::intrinsics
