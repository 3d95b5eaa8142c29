// What a tcgen05.mma computes.
#include <algorithm>
#include <cstring>
#include <limits>

#include "backends/sim/matrix/dense.h"
#include "backends/sim/matrix/tcgen05.h"

namespace kiln::sim {
namespace {

constexpr int kRows = 16, kColumns = 32;  // done at a time
constexpr int kMostK = 64;

Error wrong(std::string what, std::string hint = "") { return {Code::kInvalidArgument, std::move(what), "", std::move(hint)}; }

bool is_f16(const Tcgen05Shape& s) { return s.d == Format::kF16; }

// How d is laid out in tensor memory: data paths A, B and D to G (PTX ISA 9.0, 9.7.16.10.5). Parts of consecutive rows and columns, and the
// lanes from a part to the next.
struct Layout {
  int blocks, row_parts, column_parts, lanes_by_rows, lanes_by_columns;
};
Layout layout_of(const Tcgen05Mma& f, const Tcgen05Shape& s) {
  if (f.pair) return s.m == 256 ? Layout{2, 1, 1, 0, 0} : Layout{2, 1, 2, 0, 64};
  if (f.weight_stationary && s.m != 128) return s.m == 64 ? Layout{1, 1, 2, 0, 64} : Layout{1, 1, 4, 0, 32};
  return s.m == 128 ? Layout{1, 1, 1, 0, 0} : Layout{1, 4, 1, 32, 0};
}

struct Call {
  const Tcgen05Mma& form;
  const Tcgen05Operands& in;
  std::span<const Tcgen05Block> blocks;
  Tcgen05Shape shape;
  Layout layout;
  SharedMatrix a, b;

  // Kinds whose formats have 8 bits or fewer keep each element in 8, but for those of 4 bits alone.
  int container(Format f) const { return bits_of(f) < 8 && shape.k == 32 ? 8 : bits_of(f); }
  int rows() const { return shape.m / layout.blocks; }  // of a block
  int row_lane(int row) const { return layout.row_parts == 4 ? row / 16 * 32 + row % 16 : row; }
  const Tcgen05Block& block(int i) const { return blocks[static_cast<size_t>(i)]; }
  SharedTile tile_a(int row, int count) const { return {a, shape.a, container(shape.a), row, count, shape.k}; }
  SharedTile tile_b(int column, int count) const { return {b, shape.b, container(shape.b), column, count, shape.k}; }
};

Result<Call> prepare(const Tcgen05Mma& form, const Tcgen05Operands& in, std::span<const Tcgen05Block> blocks) {
  auto shape = tcgen05_shape(form, in.instruction);
  if (!shape) return shape.error();
  Call c{form, in, blocks, *shape, layout_of(form, *shape), {}, {}};
  if (!in.a_in_tensor_memory) {
    auto a = tcgen05_matrix(in.a, !shape->transpose_a);
    if (!a) return a.error();
    c.a = *a;
  } else if (shape->transpose_a) {
    return wrong("tcgen05.mma with a in tensor memory takes no transposed a");
  }
  auto b = tcgen05_matrix(in.b, !shape->transpose_b);
  if (!b) return b.error();
  c.b = *b;
  return c;
}

Status check_columns(const Call& c, const char* what, uint32_t address, int columns, int lanes) {
  auto first = static_cast<int>(address & 0xFFFF), lane = static_cast<int>(address >> 16);
  if (first + columns > kTensorColumns || lane + lanes > kTensorLanes)
    return wrong(std::string(what) + " of a tcgen05.mma leaves tensor memory: column " + std::to_string(first) + ", lane " +
                 std::to_string(lane) + ", and " + std::to_string(columns) + " columns");
  for (int b = 0; b < c.layout.blocks; ++b) {
    for (int i = first; i < first + columns; ++i) {
      if (!c.block(b).memory->was_taken(static_cast<uint32_t>(i)))
        return wrong(
            std::string(what) + " of a tcgen05.mma is in column " + std::to_string(i) + " of tensor memory, which was not allocated",
            "tcgen05.alloc comes first");
    }
  }
  return Ok{};
}

Status check(const Call& c) {
  if (static_cast<int>(c.blocks.size()) < c.layout.blocks) return wrong("a tcgen05.mma of a pair of blocks has one block only");
  int lanes = c.layout.row_parts == 4 ? 112 : kTensorLanes;
  if (Status s = check_columns(c, "d", c.in.d, c.shape.n / c.layout.column_parts, lanes); !s) return s;
  if (c.in.scale_d < 0 || c.in.scale_d > 15) return wrong("scale-input-d is to be 0 to 15, and is " + std::to_string(c.in.scale_d));
  if (c.in.a_in_tensor_memory) {
    int columns = c.shape.k * c.container(c.shape.a) / 32;
    if (Status s = check_columns(c, "a", static_cast<uint32_t>(c.in.a), columns, c.row_lane(c.rows() - 1) + 1); !s) return s;
  }
  if (!c.form.scale_block) return Ok{};
  if (Status s = check_columns(c, "the scales of a", c.in.scale_a, c.rows() / 32, 0); !s) return s;
  return check_columns(c, "the scales of b", c.in.scale_b, (c.shape.n + 31) / 32, 0);
}

// Rows `row` to row + 16 of a block's share of a.
template <class T>
Status load_a(const Call& c, int block, int row, T* to) {
  if (!c.in.a_in_tensor_memory) return load_tile(c.tile_a(row, kRows), c.block(block).shared, false, to);
  int lane = static_cast<int>(c.in.a >> 16 & 0xFFFF) + c.row_lane(row);
  for (int i = 0; i < kRows; ++i) {
    const auto* from = reinterpret_cast<const std::byte*>(&c.block(block).memory->word[lane + i][c.in.a & 0xFFFF]);
    T* out = to + i * c.shape.k;
    if constexpr (std::is_same_v<T, float>) {
      if (c.container(c.shape.a) != bits_of(c.shape.a)) {
        decode_bytes(c.shape.a, 0, from, c.shape.k, out);
        continue;
      }
    }
    decode(c.shape.a, from, c.shape.k, out);
  }
  return Ok{};
}

// Columns of b, by K; each block of a pair has half of them.
template <class T>
Status load_b(const Call& c, int column, int columns, T* to) {
  int each = c.shape.n / c.layout.blocks;
  for (int done = 0; done < columns;) {
    int block = (column + done) / each, count = std::min(columns - done, each * (block + 1) - column - done);
    T part[kMostK * kColumns];
    if (Status s = load_tile(c.tile_b((column + done) % each, count), c.block(block).shared, true, part); !s) return s;
    for (int k = 0; k < c.shape.k; ++k) std::copy_n(part + k * count, count, to + k * columns + done);
    done += count;
  }
  return Ok{};
}

// Scales lie in lane line % 32 (and 32, 64, 96 further) and the column line / 32, a byte each (9.7.16.10.7).
float scale_of(const Call& c, int block, uint32_t address, int line, int byte) {
  uint32_t word = c.block(block).memory->word[line % 32][(address & 0xFFFF) + static_cast<uint32_t>(line / 32)];
  std::byte bits{static_cast<uint8_t>(word >> 8 * byte)};
  float scale;
  decode_bytes(c.shape.scale, 0, &bits, 1, &scale);
  return scale;
}

void scale_rows(const Call& c, int block, int row, float* a) {
  for (int i = 0; i < kRows; ++i) {
    for (int k = 0; k < c.shape.k; ++k)
      a[i * c.shape.k + k] *= scale_of(c, block, c.in.scale_a, row + i, c.shape.scale_id_a + k / c.form.scale_block);
  }
}
void scale_columns(const Call& c, int block, int column, int columns, float* b) {
  for (int k = 0; k < c.shape.k; ++k) {
    for (int j = 0; j < columns; ++j)
      b[k * columns + j] *= scale_of(c, block, c.in.scale_b, column + j, c.shape.scale_id_b + k / c.form.scale_block);
  }
}

// One lane's columns of d before the products are added. An f16 takes the low half of a column.
void begin(const Call& c, const uint32_t* d, int columns, float* sums) {
  for (int j = 0; j < columns; j += 8) {
    uint16_t halves[8];
    for (int i = 0; i < 8; ++i) halves[i] = static_cast<uint16_t>(d[j + i]);
    if (is_f16(c.shape))
      dense().decode_f16(halves, sums + j, 8);
    else
      std::memcpy(sums + j, d + j, 32);
  }
  if (!c.in.scale_d) return;
  float factor = 1.0F / static_cast<float>(1 << c.in.scale_d);
  for (int j = 0; j < columns; ++j) sums[j] *= factor;
}
void finish(const Call& c, const float* sums, int columns, uint32_t* d) {
  for (int j = 0; j < columns; j += 8) {
    uint16_t halves[8];
    if (!is_f16(c.shape)) {
      std::memcpy(d + j, sums + j, 32);
      continue;
    }
    dense().encode_f16(sums + j, halves, 8);
    std::copy_n(halves, 8, d + j);
  }
}
void finish(const Call& c, const uint32_t* sums, int columns, uint32_t* d) {
  for (int j = 0; j < columns; ++j) {
    int64_t sum = int64_t{static_cast<int32_t>(sums[j])} + (c.in.keep ? static_cast<int32_t>(d[j]) : 0);
    if (c.shape.saturate) sum = std::clamp<int64_t>(sum, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
    d[j] = static_cast<uint32_t>(sum);
  }
}

// 16 rows of a block by `columns` columns, with b loaded.
template <class T>
Status rows(const Call& c, int block, int row, int column, int columns, const T* b) {
  T a[kRows * kMostK], sums[kRows * kColumns] = {};
  if (Status s = load_a(c, block, row, a); !s) return s;
  if constexpr (std::is_same_v<T, float>) {
    if (c.form.scale_block) scale_rows(c, block, row, a);
    if (c.shape.negate_a != c.shape.negate_b) {
      for (int i = 0; i < kRows * c.shape.k; ++i) a[i] = -a[i];
    }
  }
  int each = c.shape.n / c.layout.column_parts;
  int lane = static_cast<int>(c.in.d >> 16) + c.row_lane(row) + column / each * c.layout.lanes_by_columns;
  auto d = [&](int i) { return &c.block(block).memory->word[lane + i][(c.in.d & 0xFFFF) + static_cast<uint32_t>(column % each)]; };
  if constexpr (std::is_same_v<T, float>) {
    for (int i = 0; i < kRows && c.in.keep; ++i) begin(c, d(i), columns, sums + i * columns);
    dense().multiply(sums, columns, a, c.shape.k, b, columns, kRows, columns, c.shape.k);
  } else {
    dense().multiply_int(sums, columns, a, c.shape.k, b, columns, kRows, columns, c.shape.k);
  }
  for (int i = 0; i < kRows; ++i) {
    int bit = block * kTensorLanes + lane + i;
    if (!(c.in.disabled[bit / 32] >> (bit % 32) & 1)) finish(c, sums + i * columns, columns, d(i));
  }
  return Ok{};
}

template <class T>
Status product(const Call& c) {
  int each = c.shape.n / c.layout.column_parts;
  for (int column = 0, columns; column < c.shape.n; column += columns) {
    columns = std::min(kColumns, each - column % each);
    T b[kMostK * kColumns];
    if (Status s = load_b(c, column, columns, b); !s) return s;
    for (int block = 0; block < c.layout.blocks; ++block) {
      T scaled[kMostK * kColumns];
      const T* used = b;
      if constexpr (std::is_same_v<T, float>) {
        if (c.form.scale_block) {  // each block has the scales of all columns
          std::copy_n(b, c.shape.k * columns, scaled);
          scale_columns(c, block, column, columns, scaled);
          used = scaled;
        }
      }
      for (int row = 0; row < c.rows(); row += kRows) {
        if (Status s = rows(c, block, row, column, columns, used); !s) return s;
      }
    }
  }
  return Ok{};
}

}  // namespace

Status tcgen05_mma(const Tcgen05Mma& form, const Tcgen05Operands& operands, std::span<const Tcgen05Block> blocks) {
  auto c = prepare(form, operands, blocks);
  if (!c) return c.error();
  if (Status s = check(*c); !s) return s;
  return is_integer(c->shape.a) ? product<uint32_t>(*c) : product<float>(*c);
}

Status tcgen05_reads(const Tcgen05Mma& form, const Tcgen05Operands& operands,
                     const std::function<void(uint32_t offset, int bytes)>& visit) {
  auto c = prepare(form, operands, {});
  if (!c) return c.error();
  if (!operands.a_in_tensor_memory) visit_pieces(c->tile_a(0, c->rows()), visit);
  visit_pieces(c->tile_b(0, c->shape.n / c->layout.blocks), visit);
  return Ok{};
}

}  // namespace kiln::sim
