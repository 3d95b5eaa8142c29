// What happens where the lanes of a warp meet.
#include <bit>
#include <cstring>
#include <span>

#include "backends/sim/shim/lanes.h"

namespace kiln::sim {

namespace {

void give_all(Threads& threads, sim_mask mask, uint64_t result) {
  for_each_lane(mask, [&](int l) { threads[l].request.result = result; });
}

sim_mask predicates_of(const Threads& threads, sim_mask mask) {
  sim_mask out = 0;
  for_each_lane(mask, [&](int l) { out |= threads[l].request.predicate ? 1u << l : 0; });
  return out;
}

void shuffle(sim_warp* w, Threads& threads, sim_mask mask, const Request& r) {
  // The runtime takes an array of elements of r.bytes; lanes outside of the mask are not looked at.
  uint64_t wide[32] = {};
  uint32_t words[32] = {};
  int32_t index[32] = {};
  for_each_lane(mask, [&](int l) {
    wide[l] = threads[l].request.value, words[l] = static_cast<uint32_t>(wide[l]);
    index[l] = threads[l].request.index;
  });
  void* values = r.bytes == 8 ? static_cast<void*>(wide) : words;
  w->sim->shuffle(w, mask, r.mode, r.members, values, values, r.bytes == 8 ? 8 : 4, index, r.count, 0);
  for_each_lane(mask, [&](int l) { threads[l].request.result = r.bytes == 8 ? wide[l] : words[l]; });
}

void match(sim_warp* w, Threads& threads, sim_mask mask, const Request& r) {
  uint64_t wide[32] = {};
  uint32_t words[32] = {};
  for_each_lane(mask, [&](int l) { wide[l] = threads[l].request.value, words[l] = static_cast<uint32_t>(wide[l]); });
  const void* values = r.bytes == 8 ? static_cast<const void*>(wide) : words;
  int bytes = r.bytes == 8 ? 8 : 4;
  if (r.kind == Meet::kMatchAll) return give_all(threads, mask, w->sim->match_all(w, mask, r.members, values, bytes, 0));
  sim_mask out[32] = {};
  w->sim->match_any(w, mask, r.members, out, values, bytes, 0);
  for_each_lane(mask, [&](int l) { threads[l].request.result = out[l]; });
}

void reduce(sim_warp* w, Threads& threads, sim_mask mask, const Request& r) {
  uint32_t in[32] = {}, out[32] = {};
  for_each_lane(mask, [&](int l) { in[l] = static_cast<uint32_t>(threads[l].request.value); });
  w->sim->reduce(w, mask, r.mode, r.predicate ? SIM_S32 : SIM_U32, r.members, out, in, 0);
  for_each_lane(mask, [&](int l) { threads[l].request.result = out[l]; });
}

// The registers of the lanes; those of lanes that have exited are some memory that nobody reads.
Lanes registers(Threads& threads, sim_mask mask, void* Request::*member) {
  alignas(16) static thread_local std::byte nobody[1024];
  Lanes lanes;
  for (int l = 0; l < kLanes; ++l) lanes.at[l] = mask >> l & 1 ? static_cast<std::byte*>(threads[l].request.*member) : nobody;
  return lanes;
}
Lanes registers(Threads& threads, sim_mask mask, const void* Request::*member) {
  alignas(16) static thread_local std::byte nobody[1024];
  Lanes lanes;
  for (int l = 0; l < kLanes; ++l) {
    lanes.at[l] = mask >> l & 1 ? const_cast<std::byte*>(static_cast<const std::byte*>(threads[l].request.*member)) : nobody;
  }
  return lanes;
}

// A product's operands.
struct Operands {
  Lanes d, a, b, c;
  Operands(Threads& t, sim_mask mask)
      : d(registers(t, mask, &Request::d)),
        a(registers(t, mask, &Request::a)),
        b(registers(t, mask, &Request::b)),
        c(registers(t, mask, &Request::c)) {}
};

void ended(sim_warp* w, Status s) {
  if (s) return;
  std::string message = s.error().to_string();
  s = Ok{};
  fail(w, 0, std::move(message));
}

void move_matrix(sim_warp* w, Threads& threads, sim_mask mask, const MatrixMove& form) {
  constexpr uint32_t kRow = 16, kRank = (1u << SIM_RANK_SHIFT) - 1;
  alignas(16) std::byte nobody[kRow] = {};
  Lanes rows;
  for (int l = 0; l < kLanes; ++l) {
    rows.at[l] = nobody;
    if (!(mask >> l & 1) || l >= form.rows()) continue;
    uint32_t address = threads[l].request.address;
    if (address % kRow || (address & kRank) + kRow > w->shared_bytes) {
      fail(w, l,
           "a row of a matrix at shared address " + std::to_string(address) + " is not aligned to 16 bytes or lies outside of the " +
               std::to_string(w->shared_bytes) + " bytes of shared memory");
    }
    rows.at[l] = static_cast<std::byte*>(sim_shared_pointer(w, address));
  }
  if (form.store) {
    stmatrix(form, rows, registers(threads, mask, &Request::a));
  } else {
    ldmatrix(form, registers(threads, mask, &Request::d), rows);
  }
}

void wmma(Threads& threads, sim_mask mask, const Request& r, const Wmma& form) {
  Operands o(threads, mask);
  switch (form.op) {
    case Wmma::Op::kLoad: return wmma_load(form, o.d, static_cast<const std::byte*>(r.a), static_cast<int64_t>(r.value));
    case Wmma::Op::kStore: return wmma_store(form, static_cast<std::byte*>(r.d), o.a, static_cast<int64_t>(r.value));
    case Wmma::Op::kMma: return wmma_mma(form, o.d, o.a, o.b, o.c);
  }
}

void product_of_group(sim_warp* w, Threads& threads, sim_mask mask, const Request& r, const Wgmma& form) {
  Operands o(threads, mask);
  std::span shared(reinterpret_cast<const std::byte*>(w->shared), w->shared_bytes);
  uint32_t metadata[32] = {};
  for_each_lane(mask, [&](int l) { metadata[l] = threads[l].request.metadata; });
  Lanes words = Lanes::of(metadata, sizeof(uint32_t));
  const Lanes* sparse = form.sparse ? &words : nullptr;
  int quarter = w->warp % 4;
  ended(w, r.a ? wgmma(form, quarter, o.d, o.a, r.other, shared, r.predicate, sparse)
               : wgmma(form, quarter, o.d, r.value, r.other, shared, r.predicate, sparse));
}

void product(sim_warp* w, Threads& threads, sim_mask mask, const Request& r) {
  const MatrixForm& form = launch_of(w).forms[static_cast<size_t>(r.form)];
  switch (r.kind) {
    case Meet::kMma: {
      Operands o(threads, mask);
      return mma(std::get<Mma>(form), o.d, o.a, o.b, o.c);
    }
    case Meet::kMmaSparse: {
      Operands o(threads, mask);
      uint32_t metadata[32] = {};
      for_each_lane(mask, [&](int l) { metadata[l] = threads[l].request.metadata; });
      return ended(w, mma_sparse(std::get<Mma>(form), o.d, o.a, o.b, o.c, Lanes::of(metadata, sizeof(uint32_t)), r.mode));
    }
    case Meet::kWmma: return wmma(threads, mask, r, std::get<Wmma>(form));
    case Meet::kWgmma: return product_of_group(w, threads, mask, r, std::get<Wgmma>(form));
    default: return move_matrix(w, threads, mask, std::get<MatrixMove>(form));
  }
}

}  // namespace

void perform(sim_warp* w, Threads& threads, sim_mask mask, const Request& r) {
  const sim_api& sim = *w->sim;
  switch (r.kind) {
    case Meet::kSyncWarp: return sim.sync_warp(w, mask, r.members, 0);
    case Meet::kShuffle: return shuffle(w, threads, mask, r);
    case Meet::kVote: return give_all(threads, mask, sim.vote(w, mask, r.mode, r.members, predicates_of(threads, mask), 0));
    case Meet::kMatchAny:
    case Meet::kMatchAll: return match(w, threads, mask, r);
    case Meet::kElect: return give_all(threads, mask, static_cast<uint64_t>(std::countr_zero(sim.elect(w, mask, r.members, 0))));
    case Meet::kReduce: return reduce(w, threads, mask, r);
    case Meet::kBarrier: return sim.barrier_sync(w, mask, r.mode, r.count, 0);
    case Meet::kBarrierArrive: return sim.barrier_arrive(w, mask, r.mode, r.count, 0);
    case Meet::kBarrierReduce:
      return give_all(threads, mask,
                      static_cast<uint64_t>(sim.barrier_reduce(w, mask, r.count, 0, r.mode, predicates_of(threads, mask), 0)));
    case Meet::kClusterArrive: return sim.cluster_arrive(w, mask, r.mode ? SIM_RELAXED : SIM_RELEASE, 0);
    case Meet::kClusterWait: return sim.cluster_wait(w, mask, 0);
    case Meet::kMma:
    case Meet::kMmaSparse:
    case Meet::kLoadMatrix:
    case Meet::kStoreMatrix:
    case Meet::kWmma:
    case Meet::kWgmma: return product(w, threads, mask, r);
    case Meet::kSetMaxRegisters: return sim.set_max_registers(w, mask, r.count, r.mode, 0);
    case Meet::kCopyWait: return sim.cp_async_wait(w, mask, r.count, 0);
    case Meet::kBulkWait: return sim.bulk_wait(w, mask, r.count, r.mode, 0);
    case Meet::kActiveMask: return give_all(threads, mask, mask);
    case Meet::kNone:
    case Meet::kTryWait:
    case Meet::kSpin: return;
  }
}

}  // namespace kiln::sim
