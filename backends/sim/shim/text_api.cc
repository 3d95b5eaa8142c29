// What a CUDA text calls: a lane either does its operation itself, or asks for it and waits for the lanes that it meets.
#include <cstring>
#include <string_view>

#include "backends/sim/shim/lanes.h"
#include "base/small_float.h"

namespace kiln::sim {

namespace {

using kiln_text::Lane;

uint64_t ask(Lane* lane, const Request& request) {
  auto& t = *static_cast<Thread*>(lane);
  t.request = request;
  t.fiber->suspend();
  return t.request.result;
}
Request request_of(Meet kind, unsigned members = 0) {
  Request r;
  r.kind = kind, r.members = members;
  return r;
}
sim_warp* warp_of(Lane* lane) { return static_cast<Thread*>(lane)->sim; }
const sim_api& sim_of(Lane* lane) { return *warp_of(lane)->sim; }
void* shared(Lane* lane, unsigned address) { return lane->cluster_shared + address; }

void sync_warp(Lane* l, unsigned members) { ask(l, request_of(Meet::kSyncWarp, members)); }
bool shuffle(Lane* l, kiln_text::Shuffle mode, unsigned members, void* value, int bytes, int index, int width) {
  Request r = request_of(Meet::kShuffle, members);
  r.mode = static_cast<int>(mode), r.bytes = bytes, r.count = width, r.index = index;
  std::memcpy(&r.value, value, static_cast<size_t>(bytes));
  uint64_t result = ask(l, r);
  std::memcpy(value, &result, static_cast<size_t>(bytes));
  return true;
}
unsigned vote(Lane* l, kiln_text::Vote mode, unsigned members, bool predicate) {
  Request r = request_of(Meet::kVote, members);
  r.mode = static_cast<int>(mode), r.predicate = predicate;
  return static_cast<unsigned>(ask(l, r));
}
unsigned match(Lane* l, Meet kind, unsigned members, unsigned long long value, int bytes) {
  Request r = request_of(kind, members);
  r.bytes = bytes, r.value = value;
  return static_cast<unsigned>(ask(l, r));
}
unsigned match_any(Lane* l, unsigned m, unsigned long long v, int bytes) { return match(l, Meet::kMatchAny, m, v, bytes); }
unsigned match_all(Lane* l, unsigned m, unsigned long long v, int bytes) { return match(l, Meet::kMatchAll, m, v, bytes); }
unsigned elect(Lane* l, unsigned members) { return static_cast<unsigned>(ask(l, request_of(Meet::kElect, members))); }
unsigned reduce(Lane* l, kiln_text::Update op, bool is_signed, unsigned members, unsigned value) {
  Request r = request_of(Meet::kReduce, members);
  r.mode = static_cast<int>(op), r.predicate = is_signed, r.value = value;
  return static_cast<unsigned>(ask(l, r));
}
unsigned active_mask(Lane* l) { return static_cast<unsigned>(ask(l, request_of(Meet::kActiveMask))); }

void barrier(Lane* l, Meet kind, int id, int threads) {
  Request r = request_of(kind);
  r.mode = id, r.count = threads;
  ask(l, r);
}
void barrier_sync(Lane* l, int id, int threads) { barrier(l, Meet::kBarrier, id, threads); }
void barrier_arrive(Lane* l, int id, int threads) { barrier(l, Meet::kBarrierArrive, id, threads); }
int barrier_reduce(Lane* l, int id, kiln_text::Count mode, bool predicate) {
  Request r = request_of(Meet::kBarrierReduce);
  r.mode = static_cast<int>(mode), r.count = id, r.predicate = predicate;
  return static_cast<int>(ask(l, r));
}
void cluster_arrive(Lane* l, bool relaxed) {
  Request r = request_of(Meet::kClusterArrive);
  r.mode = relaxed;
  ask(l, r);
}
void cluster_wait(Lane* l) { ask(l, request_of(Meet::kClusterWait)); }

void product(Lane* l, Meet kind, int form, void* d, const void* a, const void* b, const void* c, unsigned metadata = 0, int selector = 0) {
  Request r = request_of(kind);
  r.form = form, r.mode = selector, r.metadata = metadata;
  r.d = d, r.a = a, r.b = b, r.c = c;
  ask(l, r);
}
void mma(Lane* l, int form, void* d, const void* a, const void* b, const void* c) { product(l, Meet::kMma, form, d, a, b, c); }
void mma_sparse(Lane* l, int form, void* d, const void* a, const void* b, const void* c, unsigned metadata, int selector) {
  product(l, Meet::kMmaSparse, form, d, a, b, c, metadata, selector);
}
void move_matrix(Lane* l, Meet kind, int form, unsigned row, void* d, const void* a) {
  Request r = request_of(kind);
  r.form = form, r.address = row, r.d = d, r.a = a;
  ask(l, r);
}
void ldmatrix(Lane* l, int form, unsigned* d, unsigned row) { move_matrix(l, Meet::kLoadMatrix, form, row, d, nullptr); }
void stmatrix(Lane* l, int form, unsigned row, const unsigned* s) { move_matrix(l, Meet::kStoreMatrix, form, row, nullptr, s); }
void wmma(Lane* l, int form, void* d, const void* a, const void* b, const void* c, long long stride) {
  Request r = request_of(Meet::kWmma);
  r.form = form, r.d = d, r.a = a, r.b = b, r.c = c, r.value = static_cast<uint64_t>(stride);
  ask(l, r);
}
void wmma_load(Lane* l, int form, void* d, const void* from, long long stride) { wmma(l, form, d, from, nullptr, nullptr, stride); }
void wmma_store(Lane* l, int form, void* to, const void* d, long long stride) { wmma(l, form, to, d, nullptr, nullptr, stride); }
void wmma_mma(Lane* l, int form, void* d, const void* a, const void* b, const void* c) { wmma(l, form, d, a, b, c, 0); }
void wgmma(Lane* l, int form, void* d, const unsigned* a_registers, unsigned long long a, unsigned long long b, bool keep,
           unsigned metadata) {
  Request r = request_of(Meet::kWgmma);
  r.form = form, r.d = d, r.a = a_registers, r.value = a, r.other = b, r.predicate = keep, r.metadata = metadata;
  ask(l, r);
}

void mbarrier_init(Lane* l, unsigned b, int count) { sim_of(l).mbarrier_init(warp_of(l), l->lane, shared(l, b), count, 0); }
void mbarrier_inval(Lane* l, unsigned b) { sim_of(l).mbarrier_inval(warp_of(l), l->lane, shared(l, b), 0); }
unsigned long long mbarrier_arrive(Lane* l, unsigned b, int count, bool drop) {
  auto* arrive = drop ? sim_of(l).mbarrier_arrive_drop : sim_of(l).mbarrier_arrive;
  return arrive(warp_of(l), l->lane, shared(l, b), count, 0);
}
unsigned long long mbarrier_arrive_expect_tx(Lane* l, unsigned b, int bytes) {
  return sim_of(l).mbarrier_arrive_expect_tx(warp_of(l), l->lane, shared(l, b), bytes, 0);
}
void mbarrier_expect_tx(Lane* l, unsigned b, int bytes) { sim_of(l).mbarrier_expect_tx(warp_of(l), l->lane, shared(l, b), bytes, 0); }
void mbarrier_complete_tx(Lane* l, unsigned b, int bytes) { sim_of(l).mbarrier_complete_tx(warp_of(l), l->lane, shared(l, b), bytes, 0); }
bool mbarrier_try_wait(Lane* l, unsigned b, unsigned long long phase, bool parity) {
  Request r = request_of(Meet::kTryWait);
  r.address = b, r.value = phase, r.mode = parity;
  return ask(l, r) != 0;
}

void cp_async(Lane* l, unsigned to, const void* from, int bytes, int valid) {
  sim_of(l).cp_async(warp_of(l), l->lane, shared(l, to), from, bytes, valid, 0);
}
void cp_async_commit(Lane* l) { sim_of(l).cp_async_commit(warp_of(l), 1u << l->lane, 0); }
void cp_async_wait(Lane* l, int pending) {
  Request r = request_of(Meet::kCopyWait);
  r.count = pending;
  ask(l, r);
}
void cp_async_arrive(Lane* l, unsigned b, bool noinc) { sim_of(l).cp_async_arrive(warp_of(l), l->lane, shared(l, b), noinc, 0); }
void bulk_load(Lane* l, unsigned to, const void* from, int bytes, unsigned b, unsigned blocks) {
  sim_of(l).bulk_load(warp_of(l), l->lane, shared(l, to), from, bytes, shared(l, b), static_cast<int32_t>(blocks), 0);
}
void bulk_store(Lane* l, void* to, unsigned from, int bytes) { sim_of(l).bulk_store(warp_of(l), l->lane, to, shared(l, from), bytes, 0); }
void bulk_clear(Lane* l, unsigned to, long long bytes) { sim_of(l).bulk_zero(warp_of(l), l->lane, shared(l, to), bytes, 0); }
sim_tensor_copy copy_of(Lane* l, const kiln_text::TensorCopy& c) {
  sim_tensor_copy out = {};
  out.map = c.map, out.shared = shared(l, c.shared), out.barrier = shared(l, c.barrier);
  out.mode = c.mode, out.blocks = static_cast<int32_t>(c.blocks), out.reduce = c.reduce;
  std::memcpy(out.at, c.at, sizeof(out.at));
  std::memcpy(out.offsets, c.offsets, sizeof(out.offsets));
  return out;
}
void tensor_load(Lane* l, const kiln_text::TensorCopy* c) {
  sim_tensor_copy copy = copy_of(l, *c);
  sim_of(l).tensor_load(warp_of(l), l->lane, &copy, 0);
}
void tensor_store(Lane* l, const kiln_text::TensorCopy* c) {
  sim_tensor_copy copy = copy_of(l, *c);
  copy.barrier = nullptr;
  sim_of(l).tensor_store(warp_of(l), l->lane, &copy, 0);
}
void bulk_commit(Lane* l) { sim_of(l).bulk_commit(warp_of(l), 1u << l->lane, 0); }
void bulk_wait(Lane* l, int pending, bool read) {
  Request r = request_of(Meet::kBulkWait);
  r.count = pending, r.mode = read;
  ask(l, r);
}

void set_max_registers(Lane* l, int count, bool increase) {
  Request r = request_of(Meet::kSetMaxRegisters);
  r.count = count, r.mode = increase;
  ask(l, r);
}
void spin(Lane* l) { ask(l, request_of(Meet::kSpin)); }
void trap(Lane* l) { sim_of(l).trap(warp_of(l), l->lane, 0); }
unsigned long long clock(Lane* l) { return sim_of(l).clock(warp_of(l)); }

ir::DataType format(std::string_view name) {
  ir::DataType t;
  t.code = name == "e4m3" ? ir::TypeCode::kFloat8E4M3FN : ir::TypeCode::kFloat8E5M2;
  t.bits = 8, t.lanes = 1;
  return t;
}
unsigned encode(const char* name, float v) { return static_cast<unsigned>(encode_float(format(name), v)); }
float decode(const char* name, unsigned bits) { return static_cast<float>(decode_float(format(name), bits)); }

}  // namespace

const kiln_text::Api& text_api() {
  static const kiln_text::Api all = {
      sync_warp,
      shuffle,
      vote,
      match_any,
      match_all,
      elect,
      reduce,
      active_mask,
      barrier_sync,
      barrier_arrive,
      barrier_reduce,
      cluster_arrive,
      cluster_wait,
      mma,
      mma_sparse,
      ldmatrix,
      stmatrix,
      wmma_load,
      wmma_store,
      wmma_mma,
      wgmma,
      mbarrier_init,
      mbarrier_inval,
      mbarrier_arrive,
      mbarrier_arrive_expect_tx,
      mbarrier_expect_tx,
      mbarrier_complete_tx,
      mbarrier_try_wait,
      cp_async,
      cp_async_commit,
      cp_async_wait,
      cp_async_arrive,
      bulk_load,
      bulk_store,
      bulk_clear,
      tensor_load,
      tensor_store,
      bulk_commit,
      bulk_wait,
      set_max_registers,
      spin,
      trap,
      clock,
      encode,
      decode,
  };
  return all;
}

}  // namespace kiln::sim
