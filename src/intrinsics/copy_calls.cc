#include "intrinsics/copy_calls.h"

#include <algorithm>

#include "intrinsics/arguments.h"

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
  return count * place->buffer->dtype.element_bytes() * std::max<int>(place->buffer->dtype.lanes, 1);
}

}  // namespace

AsyncCopy async_copy_of(const Call* c) {
  AsyncCopy copy;
  copy.bytes = copied_bytes(c);
  // (to, offset), (from, offset), bytes; otherwise two addresses and a size; then a condition
  bool offsets = c->args.size() > 4 && c->op != Op::tl_ptx_cp_async;
  size_t n = offsets ? 5 : 3;
  if (c->args.size() < n || c->args.size() > n + 1 || !has_kinds(c, offsets ? "pvpvvv" : "ppvv")) return copy;
  copy.to = c->args[0], copy.from = c->args[offsets ? 2 : 1];
  if (offsets) copy.to_offset = c->args[1], copy.from_offset = c->args[3];
  if (c->args.size() > n) copy.condition = c->args[n];
  return copy;
}

}  // namespace kiln::intrinsics
