// The operations of a checked launch: those of the runtime, which tell the group what they do first. What happens later (a phase ends,
// bytes arrive) is told by the runtime itself.
#include "backends/sim/checker/events.h"

#include <algorithm>
#include <cstring>

#include "backends/sim/checker/checker.h"
#include "backends/sim/matrix/ldmatrix.h"
#include "backends/sim/matrix/wgmma.h"
#include "backends/sim/matrix/wmma.h"
#include "backends/sim/runtime/bulk.h"
#include "backends/sim/runtime/matrix_operations.h"
#include "backends/sim/runtime/operations.h"
#include "backends/sim/runtime/state.h"
#include "backends/sim/runtime/tcgen05_operations.h"
#include "backends/sim/runtime/tensor_map.h"

namespace kiln::sim::checker {

namespace {

constexpr size_t kMostBytes = 64;  // of an access by one lane

Group& group_of(sim_warp* w) { return *cluster_of(w).group; }

int index_of(sim_warp* w) {
  Warp& warp = warp_of(w);
  int index = warp.block->rank * cluster_of(w).launch.warps + warp.warp;
  group_of(w).set_live(index, w->live);
  return index;
}

uint32_t number(int32_t site) { return static_cast<uint32_t>(site); }
uint32_t bit(int lane) { return 1u << lane; }
uint64_t barrier_key(sim_warp* w, int32_t id) { return Group::named_barrier(warp_of(w).block->rank, id); }

// --- accesses of generated code

// Where an access goes that was a fault: a read gets zero.
void* nowhere(int kind) {
  thread_local std::byte zeros[kMostBytes], sink[kMostBytes];
  return kind == SIM_READ ? zeros : sink;
}

bool is_within(sim_warp* w, int lane, int64_t index, int64_t extent, int32_t site) {
  if (extent == 0 || (index >= 0 && index < extent)) return true;
  group_of(w).out_of_bounds(index_of(w), lane, index, extent, number(site));
  return false;
}

void* access(sim_warp* w, int lane, const void* base, int64_t index, int64_t extent, int32_t bytes, int kind, int32_t site) {
  if (!is_within(w, lane, index, extent, site)) return nowhere(kind);
  void* at = static_cast<std::byte*>(const_cast<void*>(base)) + index * bytes;
  Access a = kind == SIM_READ ? Access::kRead : kind == SIM_ATOMIC ? Access::kAtomic : Access::kWrite;
  group_of(w).count(index_of(w), lane, at, static_cast<size_t>(bytes), a, number(site));
  return group_of(w).access(index_of(w), lane, at, static_cast<size_t>(bytes), a, number(site)) ? at : nowhere(kind);
}

// What arrays of a lane hold before anything is written: a NaN that no operation makes, and no likely integer. Elements of less than 32
// bits could hold half of it by right, so their reads are not looked at.
constexpr uint32_t kUndefined = 0x7FA5C3B1;

void undefine(void* array, int64_t bytes) {
  for (int64_t i = 0; i + 4 <= bytes; i += 4) std::memcpy(static_cast<std::byte*>(array) + i, &kUndefined, 4);
}

void* local(sim_warp* w, int lane, const void* base, int64_t index, int64_t extent, int32_t bytes, int kind, int32_t site) {
  if (!is_within(w, lane, index, extent, site)) return nowhere(kind);
  auto* at = static_cast<std::byte*>(const_cast<void*>(base)) + index * bytes;
  bool is_undefined = kind == SIM_READ && bytes >= 4;
  for (int32_t i = 0; is_undefined && i < bytes; i += 4) is_undefined = std::memcmp(at + i, &kUndefined, 4) == 0;
  if (is_undefined) group_of(w).uninitialised(index_of(w), lane, number(site), index);
  group_of(w).register_access(index_of(w), lane, at, static_cast<size_t>(bytes), kind == SIM_READ ? Access::kRead : Access::kWrite,
                              number(site));
  return at;
}

void atomic(sim_warp* w, int lane, int op, int dtype, void* target, const void* operand, const void* compare, void* old, int order,
            int scope, int32_t site) {
  Order o = order == SIM_RELAXED   ? Order::kRelaxed
            : order == SIM_ACQUIRE ? Order::kAcquire
            : order == SIM_RELEASE ? Order::kRelease
                                   : Order::kBoth;
  Access a = op == SIM_LOAD ? Access::kAtomicRead : Access::kAtomic;
  group_of(w).count(index_of(w), lane, target, bytes_of(dtype), a, number(site));
  if (group_of(w).atomic(index_of(w), lane, target, bytes_of(dtype), a, o, number(site)))
    return ops::atomic(w, lane, op, dtype, target, operand, compare, old, order, scope, site);
  if (old) std::memset(old, 0, bytes_of(dtype));
}

// --- threads

void sync_block(sim_warp* w, sim_mask mask, int32_t id, int32_t threads, int32_t site) {
  int index = index_of(w);
  group_of(w).barrier_arrive(index, mask, barrier_key(w, id));
  if (threads == 0) group_of(w).block_barrier(index, number(site));
}

void barrier_sync(sim_warp* w, sim_mask mask, int32_t id, int32_t threads, int32_t site) {
  sync_block(w, mask, id, threads, site);
  ops::barrier_sync(w, mask, id, threads, site);
  group_of(w).barrier_leave(index_of(w), mask, barrier_key(w, id));
}

int32_t barrier_reduce(sim_warp* w, sim_mask mask, int32_t id, int32_t threads, int mode, sim_mask predicates, int32_t site) {
  sync_block(w, mask, id, threads, site);
  int32_t result = ops::barrier_reduce(w, mask, id, threads, mode, predicates, site);
  group_of(w).barrier_leave(index_of(w), mask, barrier_key(w, id));
  return result;
}

void barrier_arrive(sim_warp* w, sim_mask mask, int32_t id, int32_t threads, int32_t site) {
  group_of(w).barrier_arrive(index_of(w), mask, barrier_key(w, id));
  ops::barrier_arrive(w, mask, id, threads, site);
}

void sync_warp(sim_warp* w, sim_mask mask, sim_mask members, int32_t site) {
  group_of(w).warp_sync(index_of(w), mask);
  ops::sync_warp(w, mask, members, site);
}

void cluster_arrive(sim_warp* w, sim_mask mask, int order, int32_t site) {
  if (order != SIM_RELAXED) group_of(w).barrier_arrive(index_of(w), mask, Group::kClusterBarrier);
  ops::cluster_arrive(w, mask, order, site);
}

void cluster_wait(sim_warp* w, sim_mask mask, int32_t site) {
  ops::cluster_wait(w, mask, site);
  group_of(w).barrier_leave(index_of(w), mask, Group::kClusterBarrier);
}

void grid_sync(sim_warp* w, sim_mask mask, int32_t site) {
  group_of(w).barrier_arrive(index_of(w), mask, Group::kGridBarrier);
  ops::grid_sync(w, mask, site);
  group_of(w).barrier_leave(index_of(w), mask, Group::kGridBarrier);
}

void fence(sim_warp* w, sim_mask mask, int kind, int scope, int32_t site) {
  if (kind == SIM_FENCE_THREAD) group_of(w).fence(index_of(w), mask);
  if (kind == SIM_FENCE_PROXY_ASYNC) group_of(w).fence_proxy(index_of(w), mask);
  ops::fence(w, mask, kind, scope, site);
}

// --- mbarriers

void mbarrier_init(sim_warp* w, int lane, void* barrier, int32_t count, int32_t site) {
  group_of(w).mbarrier_init(index_of(w), lane, barrier, number(site));
  ops::mbarrier_init(w, lane, barrier, count, site);
}

void mbarrier_inval(sim_warp* w, int lane, void* barrier, int32_t site) {
  await_mbarrier(w, bit(lane), barrier, site);
  group_of(w).mbarrier_inval(index_of(w), lane, barrier, number(site));
  ops::mbarrier_inval(w, lane, barrier, site);
}

uint64_t mbarrier_arrive(sim_warp* w, int lane, void* barrier, int32_t count, int32_t site) {
  await_mbarrier(w, bit(lane), barrier, site);
  group_of(w).mbarrier_arrive(index_of(w), bit(lane), barrier, number(site));
  return ops::mbarrier_arrive(w, lane, barrier, count, site);
}

uint64_t mbarrier_arrive_drop(sim_warp* w, int lane, void* barrier, int32_t count, int32_t site) {
  await_mbarrier(w, bit(lane), barrier, site);
  group_of(w).mbarrier_arrive(index_of(w), bit(lane), barrier, number(site));
  return ops::mbarrier_arrive_drop(w, lane, barrier, count, site);
}

uint64_t mbarrier_arrive_expect_tx(sim_warp* w, int lane, void* barrier, int32_t bytes, int32_t site) {
  await_mbarrier(w, bit(lane), barrier, site);
  group_of(w).mbarrier_expect(index_of(w), lane, barrier, bytes, number(site));
  group_of(w).mbarrier_arrive(index_of(w), bit(lane), barrier, number(site));
  return ops::mbarrier_arrive_expect_tx(w, lane, barrier, bytes, site);
}

void mbarrier_expect_tx(sim_warp* w, int lane, void* barrier, int32_t bytes, int32_t site) {
  await_mbarrier(w, bit(lane), barrier, site);
  group_of(w).mbarrier_expect(index_of(w), lane, barrier, bytes, number(site));
  ops::mbarrier_expect_tx(w, lane, barrier, bytes, site);
}

void mbarrier_complete_tx(sim_warp* w, int lane, void* barrier, int32_t bytes, int32_t site) {
  await_mbarrier(w, bit(lane), barrier, site);
  group_of(w).mbarrier_expect(index_of(w), lane, barrier, -int64_t{bytes}, number(site));
  ops::mbarrier_complete_tx(w, lane, barrier, bytes, site);
}

template <class F>
int32_t test(sim_warp* w, sim_mask mask, void* barrier, int32_t site, F f) {
  await_mbarrier(w, mask, barrier, site);
  group_of(w).mbarrier_test(index_of(w), mask, barrier, number(site));
  int32_t done = f();
  if (!done) return 0;
  group_of(w).mbarrier_wait(index_of(w), mask, barrier);
  cluster_of(w).pause(warp_of(w));
  return 1;
}

int32_t mbarrier_test(sim_warp* w, sim_mask mask, void* barrier, uint64_t state, int32_t site) {
  return test(w, mask, barrier, site, [&] { return ops::mbarrier_test(w, mask, barrier, state, site); });
}

int32_t mbarrier_test_parity(sim_warp* w, sim_mask mask, void* barrier, int32_t parity, int32_t site) {
  return test(w, mask, barrier, site, [&] { return ops::mbarrier_test_parity(w, mask, barrier, parity, site); });
}

void mbarrier_wait(sim_warp* w, sim_mask mask, void* barrier, uint64_t state, int32_t site) {
  test(w, mask, barrier, site, [&] { return ops::mbarrier_wait(w, mask, barrier, state, site), 1; });
}

void mbarrier_wait_parity(sim_warp* w, sim_mask mask, void* barrier, int32_t parity, int32_t site) {
  test(w, mask, barrier, site, [&] { return ops::mbarrier_wait_parity(w, mask, barrier, parity, site), 1; });
}

// --- asynchronous copies

void cp_async(sim_warp* w, int lane, void* to, const void* from, int32_t bytes, int32_t valid, int32_t site) {
  Operation op = group_of(w).issue(index_of(w), lane, Engine::kCpAsync);
  group_of(w).count(index_of(w), lane, from, static_cast<size_t>(std::max(valid, 0)), Access::kRead, number(site));
  group_of(w).count(index_of(w), lane, to, static_cast<size_t>(bytes), Access::kWrite, number(site));
  bool is_there = group_of(w).access(op, from, static_cast<size_t>(std::max(valid, 0)), Access::kRead, number(site));
  is_there &= group_of(w).access(op, to, static_cast<size_t>(bytes), Access::kWrite, number(site));
  if (is_there) ops::cp_async(w, lane, to, from, bytes, valid, site);
}

void cp_async_commit(sim_warp* w, sim_mask mask, int32_t site) {
  group_of(w).commit(index_of(w), mask, Engine::kCpAsync);
  ops::cp_async_commit(w, mask, site);
}

void cp_async_wait(sim_warp* w, sim_mask mask, int32_t pending, int32_t site) {
  int index = index_of(w);
  if (pending < 0) group_of(w).commit(index, mask, Engine::kCpAsync);
  group_of(w).wait(index, mask, Engine::kCpAsync, std::max(pending, 0));
  ops::cp_async_wait(w, mask, pending, site);
  cluster_of(w).pause(warp_of(w));
}

void cp_async_arrive(sim_warp* w, int lane, void* barrier, int32_t noinc, int32_t site) {
  group_of(w).arrive_after(index_of(w), lane, Engine::kCpAsync, barrier);
  ops::cp_async_arrive(w, lane, barrier, noinc, site);
}

// A copy to shared memory that completes its bytes on an mbarrier there; calls `read(operation)` for what it reads.
template <class F>
bool load(sim_warp* w, int lane, void* to, void* barrier, int64_t bytes, int32_t blocks, int32_t site, Access access, F read) {
  bool is_there = true;
  for (const Receiver& r : receivers(w, lane, to, barrier, bytes, blocks, site)) {
    Operation op = group_of(w).issue(index_of(w), lane, r.barrier, bytes);
    is_there &= read(op);
    is_there &= group_of(w).access(op, r.to, static_cast<size_t>(bytes), access, number(site));
  }
  return is_there;
}

// A copy to global memory in the lane's bulk group.
struct Store {
  Operation read, write;
  Store(sim_warp* w, int lane)
      : read(group_of(w).issue(index_of(w), lane, Engine::kBulkRead)), write(group_of(w).issue(index_of(w), lane, Engine::kBulkWrite)) {}
};

void bulk_load(sim_warp* w, int lane, void* to, const void* from, int32_t bytes, void* barrier, int32_t blocks, int32_t site) {
  auto read = [&](const Operation& op) { return group_of(w).access(op, from, static_cast<size_t>(bytes), Access::kRead, number(site)); };
  if (load(w, lane, to, barrier, bytes, blocks, site, Access::kWrite, read))
    ops::bulk_load(w, lane, to, from, bytes, barrier, blocks, site);
}

void bulk_store(sim_warp* w, int lane, void* to, const void* from, int32_t bytes, int32_t site) {
  Store s(w, lane);
  bool is_there = group_of(w).access(s.read, from, static_cast<size_t>(bytes), Access::kRead, number(site));
  is_there &= group_of(w).access(s.write, to, static_cast<size_t>(bytes), Access::kWrite, number(site));
  if (is_there) ops::bulk_store(w, lane, to, from, bytes, site);
}

void bulk_reduce(sim_warp* w, int lane, int op, int dtype, void* to, const void* from, int32_t bytes, void* barrier, int32_t site) {
  auto size = static_cast<size_t>(bytes);
  bool is_there;
  if (barrier) {
    auto read = [&](const Operation& o) { return group_of(w).access(o, from, size, Access::kRead, number(site)); };
    is_there = load(w, lane, to, barrier, bytes, 0, site, Access::kAtomic, read);
  } else {
    Store s(w, lane);
    is_there = group_of(w).access(s.read, from, size, Access::kRead, number(site));
    is_there &= group_of(w).access(s.write, to, size, Access::kAtomic, number(site));
  }
  if (is_there) ops::bulk_reduce(w, lane, op, dtype, to, from, bytes, barrier, site);
}

// The rows of a box; false: it is no box, which the operation itself says better.
struct Box {
  TensorMap map;
  Position position;
  int64_t bytes = 0;  // in shared memory, where it lies whole, however it is swizzled
  bool is_valid = false;
  explicit Box(const sim_tensor_copy& c) {
    std::memcpy(static_cast<void*>(&map), c.map, sizeof map);
    position.mode = c.mode;
    std::copy(std::begin(c.at), std::end(c.at), position.at);
    std::copy(std::begin(c.offsets), std::end(c.offsets), position.offsets);
    is_valid = map.magic == kTensorMapMagic && map.is_im2col == (c.mode == SIM_IM2COL);
    if (is_valid) bytes = row_bytes(map) * row_count(map, position);
  }
  bool access(Group& g, const Operation& op, Access a, int32_t site) const {
    bool is_there = true;
    for_each_row(map, position, [&](const Row& row) {
      if (row.bytes) is_there &= g.access(op, row.global, static_cast<size_t>(row.bytes), a, number(site));
    });
    return is_there;
  }
};

void tensor_load(sim_warp* w, int lane, const sim_tensor_copy* c, int32_t site) {
  Box box(*c);
  auto read = [&](const Operation& op) { return box.access(group_of(w), op, Access::kRead, site); };
  if (!box.is_valid || load(w, lane, c->shared, c->barrier, box.bytes, c->blocks, site, Access::kWrite, read))
    ops::tensor_load(w, lane, c, site);
}

void tensor_store(sim_warp* w, int lane, const sim_tensor_copy* c, int32_t site) {
  Box box(*c);
  bool is_there = true;
  if (box.is_valid) {
    Store s(w, lane);
    is_there = group_of(w).access(s.read, c->shared, static_cast<size_t>(box.bytes), Access::kRead, number(site));
    is_there &= box.access(group_of(w), s.write, c->reduce ? Access::kAtomic : Access::kWrite, site);
  }
  if (is_there) ops::tensor_store(w, lane, c, site);
}

void bulk_commit(sim_warp* w, sim_mask mask, int32_t site) {
  for (Engine e : {Engine::kBulkRead, Engine::kBulkWrite}) group_of(w).commit(index_of(w), mask, e);
  ops::bulk_commit(w, mask, site);
}

void bulk_wait(sim_warp* w, sim_mask mask, int32_t pending, int32_t read, int32_t site) {
  group_of(w).wait(index_of(w), mask, Engine::kBulkRead, std::max(pending, 0));
  if (!read) group_of(w).wait(index_of(w), mask, Engine::kBulkWrite, std::max(pending, 0));
  ops::bulk_wait(w, mask, pending, read, site);
  cluster_of(w).pause(warp_of(w));
}

void store_async(sim_warp* w, int lane, int op, int dtype, void* to, const void* value, void* barrier, int32_t site) {
  Access a = op == SIM_STORE ? Access::kWrite : Access::kAtomic;
  if (load(w, lane, to, barrier, static_cast<int64_t>(bytes_of(dtype)), 0, site, a, [](const Operation&) { return true; }))
    ops::store_async(w, lane, op, dtype, to, value, barrier, site);
}

void bulk_zero(sim_warp* w, int lane, void* to, int64_t bytes, int32_t site) {
  if (group_of(w).access(index_of(w), lane, to, static_cast<size_t>(bytes), Access::kWrite, number(site)))
    ops::bulk_zero(w, lane, to, bytes, site);
}

void try_cancel(sim_warp* w, int lane, void* response, void* barrier, int32_t blocks, int32_t site) {
  if (load(w, lane, response, barrier, 16, blocks, site, Access::kWrite, [](const Operation&) { return true; }))
    ops::try_cancel(w, lane, response, barrier, blocks, site);
}

// --- matrix instructions

// Lanes that bring the address of a row of 16 bytes.
bool access_rows(sim_warp* w, const void* form, const sim_lanes* rows, Access access, int32_t site) {
  bool is_there = true;
  Piece matrix[8];
  for (int l = 0; l < static_cast<const MatrixMove*>(form)->rows(); ++l) {
    is_there &= group_of(w).access(index_of(w), l, rows->at[l], 16, access, number(site));
    matrix[l % 8] = {l % 8, reinterpret_cast<uintptr_t>(rows->at[l]), 16};
    if (l % 8 == 7) group_of(w).count(matrix, access, number(site));
  }
  return is_there;
}

void ldmatrix(sim_warp* w, sim_mask mask, const void* form, const sim_lanes* d, const sim_lanes* from, int32_t site) {
  size_t bytes = static_cast<size_t>(static_cast<const MatrixMove*>(form)->rows()) / 8 * 4;
  for (int l = 0; l < kLanes; ++l) group_of(w).register_access(index_of(w), l, d->at[l], bytes, Access::kWrite, number(site));
  if (access_rows(w, form, from, Access::kRead, site)) ops::ldmatrix(w, mask, form, d, from, site);
}

void stmatrix(sim_warp* w, sim_mask mask, const void* form, const sim_lanes* to, const sim_lanes* s, int32_t site) {
  if (access_rows(w, form, to, Access::kWrite, site)) ops::stmatrix(w, mask, form, to, s, site);
}

// The lines of a fragment, which the warp moves as a whole.
bool access_lines(sim_warp* w, const void* form, const void* memory, int64_t stride, Access access, int32_t site) {
  const auto& wmma = *static_cast<const Wmma*>(form);
  WmmaLines lines = wmma_lines(wmma);
  bool is_there = true;
  for (int i = 0; i < lines.count; ++i)
    is_there &= group_of(w).access(index_of(w), -1, static_cast<const std::byte*>(memory) + i * stride * lines.bits / 8,
                                   static_cast<size_t>(lines.bytes), access, number(site));
  return is_there;
}

void wmma_load(sim_warp* w, sim_mask mask, const void* form, const sim_lanes* r, const void* from, int64_t stride, int32_t site) {
  if (access_lines(w, form, from, stride, Access::kRead, site)) ops::wmma_load(w, mask, form, r, from, stride, site);
}

void wmma_store(sim_warp* w, sim_mask mask, const void* form, void* to, const sim_lanes* r, int64_t stride, int32_t site) {
  if (access_lines(w, form, to, stride, Access::kWrite, site)) ops::wmma_store(w, mask, form, to, r, stride, site);
}

void wgmma(sim_warp* w, sim_mask mask, const void* form, const sim_lanes* d, const sim_lanes* registers, uint64_t a, uint64_t b,
           int32_t keep, const sim_lanes* metadata, int32_t site) {
  Operation op = group_of(w).issue(index_of(w), -1, Engine::kWgmma);
  auto read = [&](uint32_t offset, int bytes) {
    group_of(w).access(op, w->shared + offset, static_cast<size_t>(bytes), Access::kRead, number(site));
  };
  const auto& f = *static_cast<const Wgmma*>(form);
  group_of(w).use_registers(op, *d, 4 * static_cast<size_t>(f.registers_d()), number(site));
  if (registers) group_of(w).use_registers(op, *registers, 16, number(site));
  (void)wgmma_reads(f, w->warp % 4, registers ? nullptr : &a, b,
                    read);  // the operation tells of what is wrong
  ops::wgmma(w, mask, form, d, registers, a, b, keep, metadata, site);
}

void wgmma_fence(sim_warp* w, sim_mask mask, int32_t site) {
  group_of(w).wgmma_fence(index_of(w));
  ops::wgmma_fence(w, mask, site);
}

void wgmma_commit(sim_warp* w, sim_mask mask, int32_t site) {
  group_of(w).commit(index_of(w), mask, Engine::kWgmma);
  ops::wgmma_commit(w, mask, site);
}

void wgmma_wait(sim_warp* w, sim_mask mask, int32_t pending, int32_t site) {
  group_of(w).wait(index_of(w), mask, Engine::kWgmma, std::max(pending, 0));
  ops::wgmma_wait(w, mask, pending, site);
  cluster_of(w).pause(warp_of(w));
}

// `read(descriptor's offset, bytes)` in the memory of each block that takes part.
void tcgen05_reads_of(sim_warp* w, bool pair, const Operation& op, uint32_t offset, int bytes, int32_t site) {
  auto own = static_cast<uint32_t>(warp_of(w).block->rank), first = pair ? own & ~1u : own;
  for (uint32_t rank = first; rank <= first + (pair ? 1 : 0); ++rank)
    group_of(w).access(op, w->cluster_shared + (rank << SIM_RANK_SHIFT) + offset, static_cast<size_t>(bytes), Access::kRead, number(site));
}

void tcgen05_mma(sim_warp* w, int lane, const void* form, const sim_tcgen05_mma* operands, int32_t site) {
  auto& f = *static_cast<const Tcgen05Mma*>(form);
  Operation op = group_of(w).issue(index_of(w), lane, Engine::kTensor);
  (void)tcgen05_reads(f, tcgen05_operands(*operands),
                      [&](uint32_t offset, int bytes) { tcgen05_reads_of(w, f.pair, op, offset, bytes, site); });
  ops::tcgen05_mma(w, lane, form, operands, site);
}

void tcgen05_cp(sim_warp* w, int lane, const void* form, uint32_t address, uint64_t descriptor, int32_t site) {
  auto& f = *static_cast<const TensorCopy*>(form);
  Operation op = group_of(w).issue(index_of(w), lane, Engine::kTensor);
  (void)tensor_copy_reads(f, descriptor, [&](uint32_t offset, int bytes) { tcgen05_reads_of(w, f.pair, op, offset, bytes, site); });
  ops::tcgen05_cp(w, lane, form, address, descriptor, site);
}

void tcgen05_commit(sim_warp* w, int lane, void* barrier, int32_t blocks, int32_t site) {
  for (const Receiver& r : receivers(w, lane, barrier, barrier, 8, blocks, site))
    group_of(w).arrive_after(index_of(w), lane, Engine::kTensor, r.barrier);
  ops::tcgen05_commit(w, lane, barrier, blocks, site);
}

}  // namespace

const sim_api& checked_api() {
  static const sim_api table = [] {
    sim_api a = api();
    a.access = access;
    a.local = local;
    a.undefine = undefine;
    a.atomic = atomic;
    a.barrier_sync = barrier_sync;
    a.barrier_arrive = barrier_arrive;
    a.barrier_reduce = barrier_reduce;
    a.sync_warp = sync_warp;
    a.cluster_arrive = cluster_arrive;
    a.cluster_wait = cluster_wait;
    a.grid_sync = grid_sync;
    a.fence = fence;
    a.mbarrier_init = mbarrier_init;
    a.mbarrier_inval = mbarrier_inval;
    a.mbarrier_arrive = mbarrier_arrive;
    a.mbarrier_arrive_drop = mbarrier_arrive_drop;
    a.mbarrier_arrive_expect_tx = mbarrier_arrive_expect_tx;
    a.mbarrier_expect_tx = mbarrier_expect_tx;
    a.mbarrier_complete_tx = mbarrier_complete_tx;
    a.mbarrier_test = mbarrier_test;
    a.mbarrier_test_parity = mbarrier_test_parity;
    a.mbarrier_wait = mbarrier_wait;
    a.mbarrier_wait_parity = mbarrier_wait_parity;
    a.cp_async = cp_async;
    a.cp_async_commit = cp_async_commit;
    a.cp_async_wait = cp_async_wait;
    a.cp_async_arrive = cp_async_arrive;
    a.bulk_load = bulk_load;
    a.bulk_store = bulk_store;
    a.bulk_reduce = bulk_reduce;
    a.tensor_load = tensor_load;
    a.tensor_store = tensor_store;
    a.bulk_commit = bulk_commit;
    a.bulk_wait = bulk_wait;
    a.store_async = store_async;
    a.bulk_zero = bulk_zero;
    a.try_cancel = try_cancel;
    a.ldmatrix = ldmatrix;
    a.stmatrix = stmatrix;
    a.wmma_load = wmma_load;
    a.wmma_store = wmma_store;
    a.wgmma = wgmma;
    a.wgmma_fence = wgmma_fence;
    a.wgmma_commit = wgmma_commit;
    a.wgmma_wait = wgmma_wait;
    a.tcgen05_mma = tcgen05_mma;
    a.tcgen05_cp = tcgen05_cp;
    a.tcgen05_commit = tcgen05_commit;
    return a;
  }();
  return table;
}

}  // namespace kiln::sim::checker
