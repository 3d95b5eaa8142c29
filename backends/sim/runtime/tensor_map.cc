#include "backends/sim/runtime/tensor_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "backends/sim/runtime/sim.h"

namespace kiln::sim {

namespace {

struct Element {
  int bits;
  int reduction;
  bool is_float;
};
// By the number that the driver gives a type: uint8, uint16, uint32, int32, uint64, int64, float16, float32, float64, bfloat16, float32
// with denormals flushed, tfloat32, the same flushed, and packs of 16 values of 4 bits.
constexpr std::array<Element, 14> kElements = {{{8, -1, false},
                                                {16, -1, false},
                                                {32, SIM_U32, false},
                                                {32, SIM_S32, false},
                                                {64, SIM_U64, false},
                                                {64, SIM_S64, false},
                                                {16, SIM_F16, true},
                                                {32, SIM_F32, true},
                                                {64, SIM_F64, true},
                                                {16, SIM_BF16, true},
                                                {32, SIM_F32, true},
                                                {32, -1, true},
                                                {32, -1, true},
                                                {4, -1, false}}};

Error bad(std::string message, std::string hint = "") {
  return {Code::kInvalidArgument, "no tensor map can be made: " + std::move(message), "", std::move(hint)};
}

bool within(const std::vector<int64_t>& list, int64_t least, int64_t most) {
  return std::all_of(list.begin(), list.end(), [&](int64_t v) { return v >= least && v <= most; });
}

int span_of(int swizzle) {  // bytes; 0: no swizzle
  constexpr std::array<int, 7> kSpans = {0, 32, 64, 128, 128, 128, 128};
  return kSpans[static_cast<size_t>(swizzle)];
}

// Everything but what depends on the mode.
Status check(const runtime::TensorMap& m) {
  size_t rank = m.dims.size();
  if (rank < 1 || rank > 5 || m.strides.size() != rank - 1 || m.element_strides.size() != rank)
    return bad(fmt::format("{} dimensions with {} strides and {} element strides", rank, m.strides.size(), m.element_strides.size()),
               "1 to 5 dimensions, a stride for each but the innermost");
  if (m.dtype < 0 || m.dtype > 15) return bad(fmt::format("there is no element type {}", m.dtype));
  if (m.dtype >= static_cast<int64_t>(kElements.size()))
    return Error{Code::kUnsupported, fmt::format("tensor maps of padded elements (type {}) are not simulated", m.dtype), "", ""};
  if (m.interleave) return Error{Code::kUnsupported, "tensor maps of interleaved layouts are not simulated", "", ""};
  if (m.swizzle < 0 || m.swizzle > 6) return bad(fmt::format("there is no swizzle mode {}", m.swizzle));
  if (reinterpret_cast<uintptr_t>(m.base) % 16) return bad("the tensor does not begin at a multiple of 16 bytes");
  if (!within(m.dims, 1, int64_t{1} << 32)) return bad(fmt::format("dimensions [{}]", fmt::join(m.dims, ", ")), "from 1 to 2^32");
  if (!within(m.strides, 0, (int64_t{1} << 40) - 1) ||
      std::any_of(m.strides.begin(), m.strides.end(), [](int64_t s) { return s % 16 != 0; }))
    return bad(fmt::format("strides of [{}] bytes", fmt::join(m.strides, ", ")), "multiples of 16 below 2^40");
  if (!within(m.element_strides, 1, 8)) return bad(fmt::format("element strides [{}]", fmt::join(m.element_strides, ", ")), "from 1 to 8");
  return Ok{};
}

Status check_box(const runtime::TensorMap& m) {
  size_t rank = m.dims.size();
  int64_t inner = m.im2col ? m.channels : m.box.empty() ? 0 : m.box[0];
  if (m.im2col) {
    if (rank < 3 || m.lower.size() != rank - 2 || m.upper.size() != rank - 2)
      return bad("im2col needs 3 dimensions or more, and a corner for each but two");
    if (m.channels < 1 || m.channels > 256 || m.pixels < 1 || m.pixels > 1024)
      return bad(fmt::format("columns of {} pixels of {} channels", m.pixels, m.channels), "at most 1024 and 256");
    int64_t most = rank == 3 ? 32767 : rank == 4 ? 127 : 15;
    if (!within(m.lower, -most - 1, most) || !within(m.upper, -most - 1, most))
      return bad(fmt::format("corners [{}] and [{}]", fmt::join(m.lower, ", "), fmt::join(m.upper, ", ")), fmt::format("within {}", most));
  } else if (m.box.size() != rank || !within(m.box, 1, 256)) {
    return bad(fmt::format("a box of [{}] for {} dimensions", fmt::join(m.box, ", "), rank), "as many as there are, from 1 to 256");
  }
  int64_t bytes = inner * kElements[static_cast<size_t>(m.dtype)].bits / 8;
  if (bytes % 16) return bad(fmt::format("a box whose rows have {} bytes", bytes), "a multiple of 16");
  int span = span_of(static_cast<int>(m.swizzle));
  if (span && bytes > span) return bad(fmt::format("a box whose rows have {} bytes, swizzled in spans of {}", bytes, span));
  return Ok{};
}

// Along a dimension, from `from` in steps to `last`, then again and again from `first`: the place after `steps`, and how often it began
// anew.
struct Walk {
  int64_t at, turns;
};
Walk walk(int64_t from, int64_t first, int64_t last, int64_t step, int64_t steps) {
  int64_t in_first = from > last ? 0 : (last - from) / step + 1;
  if (steps < in_first) return {from + steps * step, 0};
  int64_t each = std::max<int64_t>(1, last < first ? 1 : (last - first) / step + 1), rest = steps - in_first;
  return {first + rest % each * step, 1 + rest / each};
}

// Fills in the address of a row whose innermost coordinate begins at `column`; `at` has the others.
void locate(const TensorMap& m, int64_t column, const int64_t* at, Row& row) {
  int64_t offset = 0;
  for (int i = 1; i < m.rank; ++i) {
    if (at[i] < 0 || at[i] > static_cast<int64_t>(m.dims[i])) return;
    offset += at[i] * static_cast<int64_t>(m.strides[i]);
  }
  int64_t size = static_cast<int64_t>(m.dims[0]) + 1;
  int64_t first = std::max<int64_t>(0, -column), last = std::min<int64_t>(m.box[0], size - column);
  if (first >= last) return;
  int bits = element_bits(m);
  row.first = first * bits / 8;
  row.bytes = (last - first) * bits / 8;
  row.global = m.base + offset + (column + first) * bits / 8;
}

}  // namespace

Result<TensorMap> encode_tensor_map(const runtime::TensorMap& from) {
  if (Status s = check(from); !s) return s.error();
  if (Status s = check_box(from); !s) return s.error();
  TensorMap m{};
  m.magic = kTensorMapMagic;
  m.base = static_cast<std::byte*>(from.base);
  m.rank = static_cast<uint8_t>(from.dims.size());
  m.dtype = static_cast<uint8_t>(from.dtype);
  m.swizzle = static_cast<uint8_t>(from.swizzle);
  m.is_im2col = from.im2col;
  m.fills_nan = from.oob_fill != 0 && kElements[m.dtype].is_float;
  for (size_t i = 0; i < m.rank; ++i) {
    m.dims[i] = static_cast<uint32_t>(from.dims[i] - 1);
    m.element_strides[i] = static_cast<uint8_t>(from.element_strides[i]);
    m.strides[i] = i == 0 ? static_cast<uint64_t>(kElements[m.dtype].bits / 8) : static_cast<uint64_t>(from.strides[i - 1]);
    if (!from.im2col) m.box[i] = static_cast<uint16_t>(from.box[i]);
  }
  if (from.im2col) {
    m.box[0] = static_cast<uint16_t>(from.channels);
    m.box[1] = static_cast<uint16_t>(from.pixels);
    for (size_t i = 0; i < from.lower.size(); ++i) {
      m.lower[i] = static_cast<int16_t>(from.lower[i]);
      m.upper[i] = static_cast<int16_t>(from.upper[i]);
    }
  }
  return m;
}

int element_bits(const TensorMap& m) { return kElements[m.dtype].bits; }
int reduction_dtype(const TensorMap& m) { return kElements[m.dtype].reduction; }
int64_t row_bytes(const TensorMap& m) { return int64_t{m.box[0]} * element_bits(m) / 8; }

int64_t box_bytes(const TensorMap& m) {
  Position p;
  p.mode = m.is_im2col ? SIM_IM2COL : SIM_TILE;
  return row_bytes(m) * row_count(m, p);
}

uint32_t swizzled(int mode, uint32_t a) {
  switch (mode) {
    case 1: return a ^ (a >> 3 & 0x10);  // one of 2 pieces of 16 bytes, by bit 7
    case 2: return a ^ (a >> 3 & 0x30);
    case 3: return a ^ (a >> 3 & 0x70);
    case 4: return a ^ (a >> 2 & 0x60);                   // pieces of 32 bytes, by bits 7 and 8
    case 5: return a ^ (a >> 2 & 0x60) ^ (a >> 4 & 0x8);  // and halves of 16 bytes change places in every other row
    case 6: return a ^ (a >> 1 & 0x40);                   // pieces of 64 bytes
    default: return a;
  }
}

int64_t row_count(const TensorMap& m, const Position& p) {
  if (p.mode == SIM_GATHER4 || p.mode == SIM_SCATTER4) return 4;
  if (m.is_im2col) return m.box[1];
  int64_t rows = 1;
  for (int i = 1; i < m.rank; ++i) rows *= (m.box[i] + m.element_strides[i] - 1) / m.element_strides[i];
  return rows;
}

Row row_of(const TensorMap& m, const Position& p, int64_t number) {
  Row row;
  row.shared = number * row_bytes(m);
  int64_t at[5] = {};
  if (p.mode == SIM_GATHER4 || p.mode == SIM_SCATTER4) {
    at[1] = p.at[1 + number];
  } else if (m.is_im2col) {
    // Pixels follow each other through the bounding box, which the corners cut out of the tensor; offsets shift all of them.
    int64_t steps = number;
    for (int i = 1; i < m.rank - 1; ++i) {
      Walk w = walk(p.at[i], m.lower[i - 1], static_cast<int64_t>(m.dims[i]) + m.upper[i - 1], m.element_strides[i], steps);
      at[i] = w.at + p.offsets[i - 1];
      steps = w.turns;
    }
    at[m.rank - 1] = p.at[m.rank - 1] + steps;
  } else {
    int64_t rest = number;
    for (int i = 1; i < m.rank; ++i) {
      int64_t count = (m.box[i] + m.element_strides[i] - 1) / m.element_strides[i];
      at[i] = p.at[i] + rest % count * m.element_strides[i];
      rest /= count;
    }
  }
  locate(m, p.at[0], at, row);
  return row;
}

}  // namespace kiln::sim
