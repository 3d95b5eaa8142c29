// The operations of sim_api on matrices, in matrix.cc; each is described in sim.h.
#pragma once

#include "backends/sim/runtime/sim.h"

namespace kiln::sim::ops {

void mma(sim_warp* w, sim_mask mask, const void* form, const sim_lanes* d, const sim_lanes* a, const sim_lanes* b, const sim_lanes* c,
         int32_t site);
void mma_sparse(sim_warp* w, sim_mask mask, const void* form, const sim_lanes* d, const sim_lanes* a, const sim_lanes* b,
                const sim_lanes* c, const sim_lanes* metadata, int32_t selector, int32_t site);
void ldmatrix(sim_warp* w, sim_mask mask, const void* form, const sim_lanes* d, const sim_lanes* from, int32_t site);
void stmatrix(sim_warp* w, sim_mask mask, const void* form, const sim_lanes* to, const sim_lanes* s, int32_t site);
void wgmma(sim_warp* w, sim_mask mask, const void* form, const sim_lanes* d, const sim_lanes* registers, uint64_t a, uint64_t b,
           int32_t keep, const sim_lanes* metadata, int32_t site);
void mma_scaled(sim_warp* w, sim_mask mask, const void* form, const sim_lanes* d, const sim_lanes* a, const sim_lanes* b,
                const sim_lanes* c, const sim_lanes* scale_a, int32_t byte_a, int32_t thread_a, const sim_lanes* scale_b, int32_t byte_b,
                int32_t thread_b, int32_t site);
void wmma_load(sim_warp* w, sim_mask mask, const void* form, const sim_lanes* r, const void* from, int64_t stride, int32_t site);
void wmma_store(sim_warp* w, sim_mask mask, const void* form, void* to, const sim_lanes* r, int64_t stride, int32_t site);
void wmma_mma(sim_warp* w, sim_mask mask, const void* form, const sim_lanes* d, const sim_lanes* a, const sim_lanes* b, const sim_lanes* c,
              int32_t site);

}  // namespace kiln::sim::ops
