// Tensor memory: its allocation waits, loads and stores are done at once, the rest in the order of its issue, later.
#include "backends/sim/matrix/tcgen05.h"

#include <charconv>
#include <cstring>
#include <optional>

#include "backends/sim/matrix/tensor_memory.h"
#include "backends/sim/runtime/require.h"
#include "backends/sim/runtime/tcgen05_operations.h"

namespace kiln::sim {

namespace {

constexpr int kPoison = 0xFF;  // of words that no one has written: a NaN

TensorMemory& memory_of(Block& b) {
  if (!b.tensor_memory) {
    b.tensor_memory = std::make_unique<TensorMemory>();
    std::memset(b.tensor_memory->word, kPoison, sizeof b.tensor_memory->word);
  }
  return *b.tensor_memory;
}
std::span<const std::byte> shared_of(const Block& b) { return {b.shared, b.warps.front()->shared_bytes}; }

// The block alone, or those of its pair, the even one first. Empty when there is no pair.
std::vector<Block*> blocks_of(sim_warp* w, bool pair) {
  Block* own = warp_of(w).block;
  if (!pair) return {own};
  std::vector<Block>& all = own->cluster->blocks;
  auto even = static_cast<size_t>(own->rank & ~1);
  if (even + 1 >= all.size()) return {};
  return {&all[even], &all[even + 1]};
}
std::vector<Block*> require_blocks(sim_warp* w, int lane, bool pair, int32_t site) {
  std::vector<Block*> blocks = blocks_of(w, pair);
  if (blocks.empty())
    require(w, lane, site, [] { return Error{Code::kInvalidArgument, "cta_group::2 in a cluster of one block", "", ""}; });
  return blocks;
}

void issue(sim_warp* w, int32_t site, std::function<Status()> work) {
  Cluster& c = cluster_of(w);
  Agent agent;
  agent.queue = Agent::Queue::kTensor;
  agent.owner = &c;
  agent.run = [&c, warp = &warp_of(w), site, work = std::move(work)](std::vector<std::byte>&) {
    if (Status s = work(); !s) c.report("bad_matrix", warp, -1, site, s.error().message);
  };
  c.issue(std::move(agent));
}

}  // namespace

namespace ops {

void tcgen05_alloc(sim_warp* w, sim_mask mask, uint32_t* address, int32_t columns, int32_t site) {
  require_all(w, mask, site, "tcgen05.alloc");
  TensorMemory& memory = memory_of(*warp_of(w).block);
  for (;;) {
    std::optional<uint32_t> taken;
    require(w, -1, site, [&]() -> Status {
      auto found = memory.allocate(columns);
      if (!found) return found.error();
      taken = *found;
      return Ok{};
    });
    if (taken) {
      *address = *taken;
      return;
    }
    cluster_of(w).block(warp_of(w), mask, Wait::kTensorMemory, &memory, 0, site);
  }
}

void tcgen05_dealloc(sim_warp* w, sim_mask mask, uint32_t address, int32_t columns, int32_t site) {
  require_all(w, mask, site, "tcgen05.dealloc");
  TensorMemory& memory = memory_of(*warp_of(w).block);
  require(w, -1, site, [&] { return memory.free(address, columns); });
  cluster_of(w).wake(&memory);
}

void tcgen05_relinquish(sim_warp* w, sim_mask mask, int32_t site) {
  require_all(w, mask, site, "tcgen05.relinquish_alloc_permit");
  memory_of(*warp_of(w).block).relinquished = true;
}

void tcgen05_move(sim_warp* w, sim_mask mask, const void* form, uint32_t address, const sim_lanes* r, int32_t site) {
  auto& f = *static_cast<const TensorMove*>(form);
  require_all(w, mask, site, f.store ? "tcgen05.st" : "tcgen05.ld");
  TensorMemory& memory = memory_of(*warp_of(w).block);
  Lanes lanes;
  std::memcpy(&lanes, r, sizeof lanes);
  require(w, -1, site, [&] {
    return f.store ? tensor_store(f, memory, w->warp % 4, address, lanes) : tensor_load(f, memory, w->warp % 4, address, lanes);
  });
}

void tcgen05_cp(sim_warp* w, int lane, const void* form, uint32_t address, uint64_t descriptor, int32_t site) {
  auto* f = static_cast<const TensorCopy*>(form);
  issue(w, site, [f, address, descriptor, blocks = require_blocks(w, lane, f->pair, site)]() -> Status {
    for (Block* b : blocks) {
      if (Status s = tensor_copy(*f, memory_of(*b), address, descriptor, shared_of(*b)); !s) return s;
    }
    return Ok{};
  });
}

void tcgen05_shift(sim_warp* w, int lane, uint32_t address, int32_t pair, int32_t site) {
  issue(w, site, [address, blocks = require_blocks(w, lane, pair != 0, site)]() -> Status {
    for (Block* b : blocks) {
      if (Status s = tensor_shift(memory_of(*b), address); !s) return s;
    }
    return Ok{};
  });
}

void tcgen05_mma(sim_warp* w, int lane, const void* form, const sim_tcgen05_mma* operands, int32_t site) {
  auto* f = static_cast<const Tcgen05Mma*>(form);
  issue(w, site, [f, in = tcgen05_operands(*operands), blocks = require_blocks(w, lane, f->pair, site)] {
    std::vector<Tcgen05Block> parts;
    for (Block* b : blocks) parts.push_back({&memory_of(*b), shared_of(*b)});
    return sim::tcgen05_mma(*f, in, parts);
  });
}

}  // namespace ops

Tcgen05Operands tcgen05_operands(const sim_tcgen05_mma& o) {
  Tcgen05Operands in;
  in.d = o.d, in.a = o.a, in.b = o.b, in.instruction = o.instruction;
  in.a_in_tensor_memory = o.a_in_tensor_memory != 0, in.keep = o.keep != 0;
  in.scale_a = o.scale_a, in.scale_b = o.scale_b, in.scale_d = o.scale_d;
  std::memcpy(in.disabled, o.disabled, sizeof in.disabled);
  return in;
}

Result<std::shared_ptr<const void>> make_tcgen05_form(std::string_view text) {
  std::string_view mnemonic = text.substr(0, text.find(' '));
  if (mnemonic.starts_with("tcgen05.mma")) return shared_form(parse_tcgen05_mma(mnemonic));
  if (mnemonic.starts_with("tcgen05.cp.")) return shared_form(parse_tensor_copy(mnemonic));
  Result<TensorMove> move = parse_tensor_move(mnemonic);
  if (move && mnemonic.size() < text.size())
    std::from_chars(text.data() + mnemonic.size() + 1, text.data() + text.size(), move->half_offset);
  return shared_form(std::move(move));
}

}  // namespace kiln::sim
