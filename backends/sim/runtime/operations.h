// The operations of sim_api, by the file that has them; each is described in sim.h.
#pragma once

#include "backends/sim/runtime/sim.h"

namespace kiln::sim::ops {

// barrier.cc
void barrier_sync(sim_warp* w, sim_mask mask, int32_t id, int32_t threads, int32_t site);
void barrier_arrive(sim_warp* w, sim_mask mask, int32_t id, int32_t threads, int32_t site);
int32_t barrier_reduce(sim_warp* w, sim_mask mask, int32_t id, int32_t threads, int mode, sim_mask predicates, int32_t site);
void sync_warp(sim_warp* w, sim_mask mask, sim_mask members, int32_t site);
void cluster_arrive(sim_warp* w, sim_mask mask, int order, int32_t site);
void cluster_wait(sim_warp* w, sim_mask mask, int32_t site);
void grid_sync(sim_warp* w, sim_mask mask, int32_t site);
void fence(sim_warp* w, sim_mask mask, int kind, int scope, int32_t site);

// warp.cc
void shuffle(sim_warp* w, sim_mask mask, int mode, sim_mask members, void* out, const void* in, int bytes, const int32_t* lane,
             int32_t width, int32_t site);
sim_mask vote(sim_warp* w, sim_mask mask, int mode, sim_mask members, sim_mask predicates, int32_t site);
void match_any(sim_warp* w, sim_mask mask, sim_mask members, sim_mask* out, const void* in, int bytes, int32_t site);
sim_mask match_all(sim_warp* w, sim_mask mask, sim_mask members, const void* in, int bytes, int32_t site);
sim_mask elect(sim_warp* w, sim_mask mask, sim_mask members, int32_t site);
void reduce(sim_warp* w, sim_mask mask, int op, int dtype, sim_mask members, void* out, const void* in, int32_t site);

// mbarrier.cc
void mbarrier_init(sim_warp* w, int lane, void* barrier, int32_t count, int32_t site);
void mbarrier_inval(sim_warp* w, int lane, void* barrier, int32_t site);
uint64_t mbarrier_arrive(sim_warp* w, int lane, void* barrier, int32_t count, int32_t site);
uint64_t mbarrier_arrive_drop(sim_warp* w, int lane, void* barrier, int32_t count, int32_t site);
uint64_t mbarrier_arrive_expect_tx(sim_warp* w, int lane, void* barrier, int32_t bytes, int32_t site);
void mbarrier_expect_tx(sim_warp* w, int lane, void* barrier, int32_t bytes, int32_t site);
void mbarrier_complete_tx(sim_warp* w, int lane, void* barrier, int32_t bytes, int32_t site);
int32_t mbarrier_test(sim_warp* w, sim_mask mask, void* barrier, uint64_t state, int32_t site);
int32_t mbarrier_test_parity(sim_warp* w, sim_mask mask, void* barrier, int32_t parity, int32_t site);
void mbarrier_wait(sim_warp* w, sim_mask mask, void* barrier, uint64_t state, int32_t site);
void mbarrier_wait_parity(sim_warp* w, sim_mask mask, void* barrier, int32_t parity, int32_t site);

// copy.cc
void cp_async(sim_warp* w, int lane, void* to, const void* from, int32_t bytes, int32_t valid, int32_t site);
void cp_async_commit(sim_warp* w, sim_mask mask, int32_t site);
void cp_async_wait(sim_warp* w, sim_mask mask, int32_t pending, int32_t site);
void cp_async_arrive(sim_warp* w, int lane, void* barrier, int32_t noinc, int32_t site);

// bulk.cc
void bulk_load(sim_warp* w, int lane, void* to, const void* from, int32_t bytes, void* barrier, int32_t blocks, int32_t site);
void bulk_store(sim_warp* w, int lane, void* to, const void* from, int32_t bytes, int32_t site);
void bulk_reduce(sim_warp* w, int lane, int op, int dtype, void* to, const void* from, int32_t bytes, void* barrier, int32_t site);
void bulk_commit(sim_warp* w, sim_mask mask, int32_t site);
void bulk_wait(sim_warp* w, sim_mask mask, int32_t pending, int32_t read, int32_t site);
void store_async(sim_warp* w, int lane, int op, int dtype, void* to, const void* value, void* barrier, int32_t site);
void bulk_zero(sim_warp* w, int lane, void* to, int64_t bytes, int32_t site);
void try_cancel(sim_warp* w, int lane, void* response, void* barrier, int32_t blocks, int32_t site);

// tensor_copy.cc
void tensor_load(sim_warp* w, int lane, const sim_tensor_copy* copy, int32_t site);
void tensor_store(sim_warp* w, int lane, const sim_tensor_copy* copy, int32_t site);

// atomic.cc
void atomic(sim_warp* w, int lane, int op, int dtype, void* target, const void* operand, const void* compare, void* old, int order,
            int scope, int32_t site);

// other.cc
void trap(sim_warp* w, int lane, int32_t site);
void fail(sim_warp* w, int lane, const char* message, int32_t site);
void print(sim_warp* w, int lane, const char* format, const sim_value* values, int32_t count);
void sleep(sim_warp* w, sim_mask mask, uint32_t nanoseconds, int32_t site);
uint64_t clock(sim_warp* w);
void set_max_registers(sim_warp* w, sim_mask mask, int32_t count, int32_t increase, int32_t site);
void wgmma_fence(sim_warp* w, sim_mask mask, int32_t site);
void wgmma_commit(sim_warp* w, sim_mask mask, int32_t site);
void wgmma_wait(sim_warp* w, sim_mask mask, int32_t pending, int32_t site);
void tcgen05_commit(sim_warp* w, int lane, void* barrier, int32_t blocks, int32_t site);
void tcgen05_wait(sim_warp* w, sim_mask mask, int32_t site);

}  // namespace kiln::sim::ops
