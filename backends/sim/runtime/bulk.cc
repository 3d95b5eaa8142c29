// Bulk asynchronous copies (PTX ISA 9.0, 9.7.9.25.4: cp.async.bulk and its like; 9.7.9.14 st.async; 9.7.9.16 st.bulk).
#include "backends/sim/runtime/bulk.h"

#include <fmt/format.h>

#include <cstring>

#include "backends/sim/runtime/operations.h"

namespace kiln::sim {

namespace {

using Bytes = std::vector<std::byte>;

void check_bulk(sim_warp* w, int lane, const void* to, const void* from, int32_t bytes, int32_t site) {
  if (bytes >= 0 && bytes % 16 == 0 && ((reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) & 15) == 0) return;
  cluster_of(w).fail("misaligned", warp_of(w), lane, site, [&] {
    return fmt::format("a bulk copy of {} bytes: their number and both addresses must be multiples of 16", bytes);
  });
}

void fetch(Bytes& data, const void* from, int32_t bytes) {
  const auto* p = static_cast<const std::byte*>(from);
  data.assign(p, p + bytes);
}

}  // namespace

std::byte* check_shared(sim_warp* w, int lane, const void* at, int64_t bytes, const char* what, int32_t site) {
  Cluster& c = cluster_of(w);
  Block* owner = c.owner_of(at);
  const auto* first = static_cast<const std::byte*>(at);
  if (!owner || bytes < 0 || first + bytes > owner->shared + c.launch.params.shared_bytes) {
    c.fail("out_of_bounds", warp_of(w), lane, site, [&] {
      return fmt::format("{} of {} bytes at {}, of which the block has {}", what, bytes, c.address_text(at), c.launch.params.shared_bytes);
    });
  }
  return const_cast<std::byte*>(first);
}

std::vector<Receiver> receivers(sim_warp* w, int lane, void* to, void* barrier, int64_t bytes, int32_t blocks, int32_t site) {
  Cluster& c = cluster_of(w);
  std::vector<Receiver> found;
  if (blocks == 0) {
    found.push_back({check_shared(w, lane, to, bytes, "an asynchronous copy", site), barrier});
    return found;
  }
  constexpr uint32_t kOffset = (1u << SIM_RANK_SHIFT) - 1;
  uint32_t offset = sim_shared_address(w, to) & kOffset, barrier_offset = sim_shared_address(w, barrier) & kOffset;
  for (size_t rank = 0; rank < 16; ++rank) {
    if (!(static_cast<uint32_t>(blocks) >> rank & 1)) continue;
    if (rank >= c.blocks.size()) {
      std::vector<Receiver>().swap(found);
      c.fail("out_of_bounds", warp_of(w), lane, site,
             [&] { return fmt::format("a copy to block {} of a cluster of {} blocks", rank, c.blocks.size()); });
    }
    std::byte* base = c.blocks[rank].shared;
    found.push_back({base + offset, base + barrier_offset});
  }
  return found;
}

namespace ops {

void bulk_load(sim_warp* w, int lane, void* to, const void* from, int32_t bytes, void* barrier, int32_t blocks, int32_t site) {
  check_bulk(w, lane, to, from, bytes, site);
  check_shared(w, lane, to, bytes, "a bulk copy", site);
  Cluster& c = cluster_of(w);
  Agent a;
  a.read = [from, bytes](Bytes& data) { fetch(data, from, bytes); };
  a.run = [&c, site, to_all = receivers(w, lane, to, barrier, bytes, blocks, site)](Bytes& data) {
    for (const Receiver& r : to_all) {
      std::memcpy(r.to, data.data(), data.size());
      complete_transaction(c, r.barrier, static_cast<int64_t>(data.size()), site);
    }
  };
  std::memset(to, 0xFF, static_cast<size_t>(bytes));
  c.issue(std::move(a));
}

void bulk_store(sim_warp* w, int lane, void* to, const void* from, int32_t bytes, int32_t site) {
  check_bulk(w, lane, to, from, bytes, site);
  check_shared(w, lane, from, bytes, "a bulk copy", site);
  issue_bulk(
      w, lane, [from, bytes](Bytes& data) { fetch(data, from, bytes); }, [to](Bytes& data) { std::memcpy(to, data.data(), data.size()); });
}

void bulk_reduce(sim_warp* w, int lane, int op, int dtype, void* to, const void* from, int32_t bytes, void* barrier, int32_t site) {
  check_bulk(w, lane, to, from, bytes, site);
  check_shared(w, lane, from, bytes, "a bulk reduction", site);
  if (barrier) check_shared(w, lane, to, bytes, "a bulk reduction", site);
  auto read = [from, bytes](Bytes& data) { fetch(data, from, bytes); };
  auto combine = [op, dtype, to](Bytes& data) {
    size_t step = bytes_of(dtype);
    for (size_t i = 0; i + step <= data.size(); i += step)
      update_memory(op, dtype, static_cast<std::byte*>(to) + i, &data[i], nullptr, nullptr);
  };
  if (!barrier) {
    issue_bulk(w, lane, read, combine);
    return;
  }
  Cluster& c = cluster_of(w);
  Agent a;
  a.read = read;
  a.run = [&c, barrier, site, combine](Bytes& data) {
    combine(data);
    complete_transaction(c, barrier, static_cast<int64_t>(data.size()), site);
  };
  c.issue(std::move(a));
}

void bulk_commit(sim_warp* w, sim_mask mask, int32_t) {
  for (size_t l = 0; l < 32; ++l) warp_of(w).bulk_groups[l] += mask >> l & 1;
}

void bulk_wait(sim_warp* w, sim_mask mask, int32_t pending, int32_t read, int32_t) {
  Warp& warp = warp_of(w);
  auto kept = static_cast<uint32_t>(pending < 0 ? 0 : pending);
  cluster_of(w).complete(
      [&](const Agent& a) {
        return a.queue == Agent::Queue::kBulk && a.owner == &warp && (mask >> a.lane & 1) &&
               a.group + kept < warp.bulk_groups[static_cast<size_t>(a.lane)];
      },
      read != 0);
}

void store_async(sim_warp* w, int lane, int op, int dtype, void* to, const void* value, void* barrier, int32_t site) {
  Cluster& c = cluster_of(w);
  size_t bytes = bytes_of(dtype);
  check_shared(w, lane, to, static_cast<int64_t>(bytes), "an asynchronous store", site);
  Agent a;
  a.data.resize(bytes);
  std::memcpy(a.data.data(), value, bytes);
  a.run = [&c, op, dtype, to, barrier, site](Bytes& data) {
    update_memory(op, dtype, to, data.data(), nullptr, nullptr);
    complete_transaction(c, barrier, static_cast<int64_t>(data.size()), site);
  };
  c.issue(std::move(a));
}

void bulk_zero(sim_warp* w, int lane, void* to, int64_t bytes, int32_t site) {
  std::memset(check_shared(w, lane, to, bytes, "a bulk store", site), 0, static_cast<size_t>(bytes));
}

// clusterlaunchcontrol.try_cancel: no block is ever left to be taken over, so the response says "not cancelled": 16 bytes of zero.
void try_cancel(sim_warp* w, int lane, void* response, void* barrier, int32_t blocks, int32_t site) {
  Cluster& c = cluster_of(w);
  Agent a;
  a.run = [&c, site, to_all = receivers(w, lane, response, barrier, 16, blocks, site)](Bytes&) {
    for (const Receiver& r : to_all) {
      std::memset(r.to, 0, 16);
      complete_transaction(c, r.barrier, 16, site);
    }
  };
  c.issue(std::move(a));
}

}  // namespace ops
}  // namespace kiln::sim
