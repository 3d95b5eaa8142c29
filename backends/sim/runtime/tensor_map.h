// Tensor maps of the simulator and the geometry of copies through them (PTX ISA 9.0, 5.5 "Tensors").
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kiln/error.h"
#include "runtime/device.h"

namespace kiln::sim {

// The 128 bytes that stand for a tensor map. Lists are innermost dimension first.
struct TensorMap {
  uint64_t magic;       // kTensorMapMagic
  std::byte* base;      // global memory
  uint64_t strides[5];  // bytes; that of the innermost is the element's size
  uint32_t dims[5];     // elements less 1
  uint16_t box[5];      // elements; im2col: channels, then pixels
  int16_t lower[3], upper[3];
  uint8_t element_strides[5];
  uint8_t rank;
  uint8_t dtype;  // as the driver counts them
  uint8_t swizzle;
  bool is_im2col;
  bool fills_nan;
};
constexpr uint64_t kTensorMapMagic = 0x70616D726F736E74;
static_assert(sizeof(TensorMap) <= runtime::kTensorMapBytes);

// Errors: invalid_argument for a map that the driver would refuse (ranks, sizes, alignment), unsupported for interleaved layouts.
Result<TensorMap> encode_tensor_map(const runtime::TensorMap& map);

// Bits of an element in global memory: 4 to 64.
int element_bits(const TensorMap& map);
// The type of sim.h that elements have in reductions, or -1.
int reduction_dtype(const TensorMap& map);
// Bytes of a box in shared memory, and of one of its rows: a row is the innermost dimension, of one pixel for im2col.
int64_t box_bytes(const TensorMap& map);
int64_t row_bytes(const TensorMap& map);

// Where a byte of a box lies: `address` is its shared address without swizzle. Pieces of 16 bytes stay together (8 for one mode).
uint32_t swizzled(int mode, uint32_t address);

// One row of a box: bytes `first` to `first + bytes` of the row come from, or go to, `global`; the rest of the row is outside of the
// tensor.
struct Row {
  int64_t shared = 0;  // of the row's first byte, from the start of the box, not swizzled
  std::byte* global = nullptr;
  int64_t first = 0, bytes = 0;  // 0 bytes: the whole row is outside
};

// A place in a tensor, as sim_tensor_copy gives it.
struct Position {
  int mode = 0;  // SIM_TILE, ...
  int32_t at[5] = {};
  int32_t offsets[3] = {};
};

// Calls `visit` with each row of the box at `position`, in the order of shared memory.
template <class F>
void for_each_row(const TensorMap& map, const Position& position, F visit);

// The pieces of for_each_row: how many rows there are, and the one of a number.
int64_t row_count(const TensorMap& map, const Position& position);
Row row_of(const TensorMap& map, const Position& position, int64_t number);

template <class F>
void for_each_row(const TensorMap& map, const Position& position, F visit) {
  for (int64_t i = 0, n = row_count(map, position); i < n; ++i) visit(row_of(map, position, i));
}

}  // namespace kiln::sim
