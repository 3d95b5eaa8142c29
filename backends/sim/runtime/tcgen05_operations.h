// The operations of sim_api on tensor memory, in tcgen05.cc; each is described in sim.h.
#pragma once

#include <memory>
#include <string_view>

#include "backends/sim/matrix/tcgen05.h"
#include "backends/sim/runtime/sim.h"
#include "kiln/error.h"

namespace kiln::sim::ops {

void tcgen05_alloc(sim_warp* w, sim_mask mask, uint32_t* address, int32_t columns, int32_t site);
void tcgen05_dealloc(sim_warp* w, sim_mask mask, uint32_t address, int32_t columns, int32_t site);
void tcgen05_relinquish(sim_warp* w, sim_mask mask, int32_t site);
void tcgen05_move(sim_warp* w, sim_mask mask, const void* form, uint32_t address, const sim_lanes* r, int32_t site);
void tcgen05_cp(sim_warp* w, int lane, const void* form, uint32_t address, uint64_t descriptor, int32_t site);
void tcgen05_shift(sim_warp* w, int lane, uint32_t address, int32_t pair, int32_t site);
void tcgen05_mma(sim_warp* w, int lane, const void* form, const sim_tcgen05_mma* operands, int32_t site);

}  // namespace kiln::sim::ops

namespace kiln::sim {

Tcgen05Operands tcgen05_operands(const sim_tcgen05_mma& o);

// The form of a mnemonic that begins with "tcgen05.": of ld and st (of shape 16x32bx2 followed by " " and the offset of the upper half), cp
// and mma.
Result<std::shared_ptr<const void>> make_tcgen05_form(std::string_view text);

}  // namespace kiln::sim
