// cp.async.bulk.tensor: copies of boxes between tensors and shared memory (PTX ISA 9.0, 9.7.9.27).
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backends/sim/runtime/bulk.h"
#include "backends/sim/runtime/operations.h"
#include "backends/sim/runtime/tensor_map.h"

namespace kiln::sim {

namespace {

using Bytes = std::vector<std::byte>;

struct Copy {
  TensorMap map;
  Position position;
  int64_t bytes;  // in shared memory
};

constexpr uint32_t kOffset = (1u << SIM_RANK_SHIFT) - 1;

// The map as it is now, and where the box lies; the warp fails where the instruction would.
Copy decode(sim_warp* w, int lane, const sim_tensor_copy& c, int32_t site) {
  Cluster& cluster = cluster_of(w);
  Copy copy;
  std::memcpy(static_cast<void*>(&copy.map), c.map, sizeof(TensorMap));
  const TensorMap& m = copy.map;
  if (m.magic != kTensorMapMagic)
    cluster.fail("out_of_bounds", warp_of(w), lane, site, [] { return "the operand of a tensor copy is no tensor map"; });
  bool rows_apart = c.mode == SIM_GATHER4 || c.mode == SIM_SCATTER4;
  if (m.is_im2col != (c.mode == SIM_IM2COL) || (rows_apart && m.rank != 2))
    cluster.fail("out_of_bounds", warp_of(w), lane, site, [&] {
      return fmt::format("a tensor copy of another mode than its map is made for ({} dimensions{})", m.rank, m.is_im2col ? ", im2col" : "");
    });
  copy.position.mode = c.mode;
  std::copy(std::begin(c.at), std::end(c.at), copy.position.at);
  std::copy(std::begin(c.offsets), std::end(c.offsets), copy.position.offsets);
  copy.bytes = row_bytes(m) * row_count(m, copy.position);
  if ((sim_shared_address(w, c.shared) & 127) != 0)
    cluster.fail("misaligned", warp_of(w), lane, site,
                 [&] { return fmt::format("a tensor copy at {}, which is not a multiple of 128", cluster.address_text(c.shared)); });
  check_shared(w, lane, c.shared, copy.bytes, "a tensor copy", site);
  return copy;
}

// Calls `visit(piece, shared, bytes)` for the pieces of a row that stay together: their place in the box as it is read or written in order,
// and their address in shared memory.
template <class F>
void for_each_piece(const TensorMap& m, std::byte* base, uint32_t box, const Row& row, int64_t first, int64_t bytes, F visit) {
  int64_t together = m.swizzle == 0 ? bytes : m.swizzle == 5 ? 8 : 16;
  for (int64_t at = first; at < first + bytes;) {
    int64_t size = m.swizzle == 0 ? bytes : std::min(together - at % together, first + bytes - at);
    auto address = box + static_cast<uint32_t>(row.shared + at);
    visit(row.shared + at, base + swizzled(m.swizzle, address), size);
    at += size;
  }
}

// The box as it lies in the tensor, row after row, with fill.
void read_box(const Copy& c, Bytes& data) {
  data.assign(static_cast<size_t>(c.bytes), c.map.fills_nan ? std::byte{0xFF} : std::byte{0});
  for_each_row(c.map, c.position, [&](const Row& row) {
    if (row.bytes) std::memcpy(&data[static_cast<size_t>(row.shared + row.first)], row.global, static_cast<size_t>(row.bytes));
  });
}

void write_shared(const Copy& c, std::byte* shared, std::byte* block, const Bytes& data) {
  auto box = static_cast<uint32_t>(shared - block);
  int64_t bytes = row_bytes(c.map);
  Row row;
  for (row.shared = 0; row.shared < c.bytes; row.shared += bytes) {
    for_each_piece(c.map, block, box, row, 0, bytes, [&](int64_t from, std::byte* to, int64_t size) {
      std::memcpy(to, &data[static_cast<size_t>(from)], static_cast<size_t>(size));
    });
  }
}

void read_shared(const Copy& c, const std::byte* shared, std::byte* block, Bytes& data) {
  data.resize(static_cast<size_t>(c.bytes));
  auto box = static_cast<uint32_t>(shared - block);
  int64_t bytes = row_bytes(c.map);
  Row row;
  for (row.shared = 0; row.shared < c.bytes; row.shared += bytes) {
    for_each_piece(c.map, block, box, row, 0, bytes, [&](int64_t to, const std::byte* from, int64_t size) {
      std::memcpy(&data[static_cast<size_t>(to)], from, static_cast<size_t>(size));
    });
  }
}

void write_tensor(const Copy& c, int32_t reduce, const Bytes& data) {
  for_each_row(c.map, c.position, [&](const Row& row) {
    if (!row.bytes) return;
    const std::byte* from = &data[static_cast<size_t>(row.shared + row.first)];
    if (!reduce) {
      std::memcpy(row.global, from, static_cast<size_t>(row.bytes));
      return;
    }
    int dtype = reduction_dtype(c.map);
    auto step = static_cast<int64_t>(bytes_of(dtype));
    for (int64_t i = 0; i < row.bytes; i += step) update_memory(reduce - 1, dtype, row.global + i, from + i, nullptr, nullptr);
  });
}

}  // namespace

namespace ops {

void tensor_load(sim_warp* w, int lane, const sim_tensor_copy* t, int32_t site) {
  Copy copy = decode(w, lane, *t, site);
  Cluster& c = cluster_of(w);
  Agent a;
  a.run = [&c, copy, site, to_all = receivers(w, lane, t->shared, t->barrier, copy.bytes, t->blocks, site)](Bytes& data) {
    read_box(copy, data);
    for (const Receiver& r : to_all) {
      write_shared(copy, r.to, c.owner_of(r.to)->shared, data);
      complete_transaction(c, r.barrier, copy.bytes, site);
    }
  };
  if (!t->blocks) std::memset(t->shared, 0xFF, static_cast<size_t>(copy.bytes));
  c.issue(std::move(a));
}

void tensor_store(sim_warp* w, int lane, const sim_tensor_copy* t, int32_t site) {
  Copy copy = decode(w, lane, *t, site);
  Cluster& c = cluster_of(w);
  if (t->reduce && reduction_dtype(copy.map) < 0)
    c.fail("out_of_bounds", warp_of(w), lane, site, [] { return "a reduction by a tensor copy of elements that it cannot combine"; });
  const auto* shared = static_cast<const std::byte*>(t->shared);
  issue_bulk(
      w, lane, [&c, copy, shared](Bytes& data) { read_shared(copy, shared, c.owner_of(shared)->shared, data); },
      [copy, reduce = t->reduce](Bytes& data) { write_tensor(copy, reduce, data); });
}

}  // namespace ops
}  // namespace kiln::sim
