// Copies between tensors and shared memory through tensor maps.
#include <gmock/gmock.h>

#include <cstring>
#include <functional>
#include <numeric>

#include "backends/sim/runtime/tensor_map.h"
#include "backends/sim/tests/runtime.h"

namespace kiln::sim::test {
namespace {

using testing::HasSubstr;

constexpr int64_t kUint8 = 0, kUint16 = 1, kInt32 = 3, kFloat32 = 7, kFourBits = 13;

struct alignas(64) Map {
  std::byte bytes[128] = {};
};

runtime::TensorMap tiled(int64_t dtype, void* base, std::vector<int64_t> dims, std::vector<int64_t> strides, std::vector<int64_t> box) {
  runtime::TensorMap m;
  m.dtype = dtype;
  m.base = base;
  m.element_strides.assign(dims.size(), 1);
  m.dims = std::move(dims), m.strides = std::move(strides), m.box = std::move(box);
  return m;
}

Map encode(const runtime::TensorMap& m) {
  Map out;
  auto encoded = encode_tensor_map(m);
  EXPECT_TRUE(encoded.ok()) << encoded.error().to_string();
  if (encoded) std::memcpy(out.bytes, &*encoded, sizeof *encoded);
  return out;
}

// What a load brings to shared memory, at byte 1024 of it.
struct Load {
  Map map;
  sim_tensor_copy copy{};
  int32_t bytes = 0;
  std::vector<std::byte> got;
};

std::string run_load(Load& load) {
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    auto& d = *static_cast<Load*>(args[0]);
    const sim_api* s = w->sim;
    s->mbarrier_init(w, 0, w->shared, 1, 1);
    s->mbarrier_arrive_expect_tx(w, 0, w->shared, d.bytes, 1);
    sim_tensor_copy copy = d.copy;
    copy.map = &d.map, copy.shared = w->shared + 1024, copy.barrier = w->shared;
    s->tensor_load(w, 0, &copy, 2);
    s->mbarrier_wait_parity(w, kAll, w->shared, 0, 3);
    std::memcpy(d.got.data(), w->shared + 1024, d.got.size());
  };
  load.got.resize(static_cast<size_t>(load.bytes));
  return error_of(run(kernel, {.shared_bytes = 64 << 10}, {&load}));
}

template <class T>
std::vector<T> loaded(const runtime::TensorMap& map, std::vector<int32_t> at, int64_t elements, int mode = SIM_TILE,
                      std::vector<int32_t> offsets = {}) {
  Load load;
  load.map = encode(map);
  load.copy.mode = mode;
  std::copy(at.begin(), at.end(), load.copy.at);
  std::copy(offsets.begin(), offsets.end(), load.copy.offsets);
  load.bytes = static_cast<int32_t>(elements * static_cast<int64_t>(sizeof(T)));
  EXPECT_EQ(run_load(load), "");
  std::vector<T> out(static_cast<size_t>(elements));
  std::memcpy(out.data(), load.got.data(), load.got.size());
  return out;
}

// A tensor of int32 whose element at (i, j) is 100 i + j, j innermost.
struct Matrix {
  alignas(16) int32_t data[10][12];
  Matrix() {
    for (int i = 0; i < 10; ++i) {
      for (int j = 0; j < 12; ++j) data[i][j] = 100 * i + j;
    }
  }
  int at(int i, int j) const { return i < 0 || i >= 10 || j < 0 || j >= 12 ? 0 : 100 * i + j; }
  runtime::TensorMap map(std::vector<int64_t> box) { return tiled(kInt32, data, {12, 10}, {48}, std::move(box)); }
};

std::vector<int32_t> table(int rows, int columns, const std::function<int(int, int)>& value) {
  std::vector<int32_t> out;
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) out.push_back(value(i, j));
  }
  return out;
}

TEST(SimTensorCopy, ABoxWithinTheTensor) {
  Matrix m;
  EXPECT_EQ(loaded<int32_t>(m.map({8, 3}), {4, 5}, 24), table(3, 8, [&](int i, int j) { return m.at(5 + i, 4 + j); }));
}

TEST(SimTensorCopy, WhatIsOutsideIsZero) {
  Matrix m;
  for (auto [x, y] : std::vector<std::pair<int, int>>{{-3, -2}, {9, 8}, {-20, 0}, {0, 30}, {4, -4}}) {
    EXPECT_EQ(loaded<int32_t>(m.map({8, 4}), {x, y}, 32), table(4, 8, [&](int i, int j) { return m.at(y + i, x + j); })) << x << " " << y;
  }
}

TEST(SimTensorCopy, OrNanWhereTheMapSaysSo) {
  alignas(16) float data[4] = {1, 2, 3, 4};
  runtime::TensorMap map = tiled(kFloat32, data, {4}, {}, {8});
  map.oob_fill = 1;
  std::vector<float> got = loaded<float>(map, {-2}, 8);
  EXPECT_THAT((std::vector<float>(got.begin() + 2, got.begin() + 6)), testing::ElementsAre(1, 2, 3, 4));
  for (int i : {0, 1, 6, 7}) EXPECT_TRUE(got[static_cast<size_t>(i)] != got[static_cast<size_t>(i)]) << i;
}

TEST(SimTensorCopy, FiveDimensions) {
  // Dimensions 4, 3, 2, 3, 2, innermost first; element value is its index. A box of 4, 2, 1, 2, 2 at (0, 1, 1, 1, 0).
  alignas(16) int32_t data[144];
  std::iota(data, data + 144, 0);
  runtime::TensorMap map = tiled(kInt32, data, {4, 3, 2, 3, 2}, {16, 48, 96, 288}, {4, 2, 1, 2, 2});
  std::vector<int32_t> expected;
  for (int e = 0; e < 2; ++e) {
    for (int d = 1; d < 3; ++d) {
      for (int b = 1; b < 3; ++b) {
        for (int a = 0; a < 4; ++a) expected.push_back(a + 4 * b + 12 * 1 + 24 * d + 72 * e);
      }
    }
  }
  EXPECT_EQ(loaded<int32_t>(map, {0, 1, 1, 1, 0}, 32), expected);
}

TEST(SimTensorCopy, ElementStridesSkipRows) {
  Matrix m;
  runtime::TensorMap map = m.map({4, 6});
  map.element_strides = {1, 2};
  EXPECT_EQ(loaded<int32_t>(map, {4, 1}, 12), table(3, 4, [&](int i, int j) { return m.at(1 + 2 * i, 4 + j); }));
}

// A tensor of 128-byte rows; the byte in shared memory at which byte `b` of row `r` of a box at 1024 lies, per mode.
int swizzled_by_hand(int mode, int r, int b) {
  int piece = b / 16, rest = b % 16;
  switch (mode) {
    case 3: return r * 128 + (piece ^ r % 8) * 16 + rest;
    case 4: return r * 128 + ((b / 32) ^ r % 4) * 32 + b % 32;
    case 5: return r * 128 + ((b / 32) ^ r % 4) * 32 + (b % 32 ^ (r % 2 ? 8 : 0));
    case 6: return r * 128 + ((b / 64) ^ r % 2) * 64 + b % 64;
    default: return r * 128 + b;
  }
}

TEST(SimTensorCopy, SwizzlesOf128Bytes) {
  alignas(16) static uint16_t data[16][64];
  for (int i = 0; i < 16 * 64; ++i) data[i / 64][i % 64] = static_cast<uint16_t>(i);
  for (int mode : {0, 3, 4, 5, 6}) {
    runtime::TensorMap map = tiled(kUint16, data, {64, 16}, {128}, {64, 16});
    map.swizzle = mode;
    std::vector<uint16_t> got = loaded<uint16_t>(map, {0, 0}, 1024), expected(1024);
    for (int r = 0; r < 16; ++r) {
      for (int j = 0; j < 64; ++j) expected[static_cast<size_t>(swizzled_by_hand(mode, r, 2 * j) / 2)] = data[r][j];
    }
    EXPECT_EQ(got, expected) << "mode " << mode;
  }
}

TEST(SimTensorCopy, SwizzlesOf32And64Bytes) {
  // Rows of 32 bytes: 4 rows make 128 bytes, so that halves change places in rows 4 to 7. Rows of 64 bytes: 2 rows make 128.
  alignas(16) static uint8_t data[32][64];
  for (int i = 0; i < 32 * 64; ++i) data[i / 64][i % 64] = static_cast<uint8_t>(i / 16);  // the number of the piece
  runtime::TensorMap narrow = tiled(kUint8, data, {32, 32}, {64}, {32, 8});
  narrow.swizzle = 1;
  std::vector<uint8_t> got = loaded<uint8_t>(narrow, {0, 0}, 256);
  for (int r = 0; r < 8; ++r) {
    for (int piece = 0; piece < 2; ++piece) EXPECT_EQ(got[static_cast<size_t>(r * 32 + (piece ^ (r / 4)) * 16)], data[r][piece * 16]) << r;
  }
  runtime::TensorMap middle = tiled(kUint8, data, {64, 32}, {64}, {64, 8});
  middle.swizzle = 2;
  got = loaded<uint8_t>(middle, {0, 0}, 512);
  for (int r = 0; r < 8; ++r) {
    for (int piece = 0; piece < 4; ++piece) EXPECT_EQ(got[static_cast<size_t>(r * 64 + (piece ^ (r / 2)) * 16)], data[r][piece * 16]) << r;
  }
}

TEST(SimTensorCopy, GatherTakesFourRows) {
  Matrix m;
  const int rows[4] = {7, 2, 2, 11};
  EXPECT_EQ(loaded<int32_t>(m.map({8, 1}), {2, 7, 2, 2, 11}, 32, SIM_GATHER4),
            table(4, 8, [&](int i, int j) { return m.at(rows[i], 2 + j); }));
}

TEST(SimTensorCopy, PacksOfFourBits) {
  alignas(16) uint8_t data[2][64];
  for (int i = 0; i < 128; ++i) data[i / 64][i % 64] = static_cast<uint8_t>(i);
  std::vector<uint8_t> got = loaded<uint8_t>(tiled(kFourBits, data, {128, 2}, {64}, {64, 2}), {32, 0}, 64);
  for (int r = 0; r < 2; ++r) {
    for (int b = 0; b < 32; ++b) EXPECT_EQ(got[static_cast<size_t>(r * 32 + b)], data[r][16 + b]);
  }
}

// A convolution's input of n x h x w x c = 2 x 5 x 6 x 4, read as columns of pixels for a 3 x 3 filter with a padding of 1.
TEST(SimTensorCopy, Im2colWalksThroughTheBoundingBox) {
  alignas(16) static int32_t data[2][5][6][4];
  for (int i = 0; i < 2 * 5 * 6 * 4; ++i) (&data[0][0][0][0])[i] = i + 1;
  for (int stride : {1, 2}) {
    runtime::TensorMap map = tiled(kInt32, data, {4, 6, 5, 2}, {16, 96, 480}, {});
    map.im2col = true;
    map.lower = {-1, -1};
    map.upper = {-1, -1};  // padding of 1 less the filter's 2
    map.channels = 4;
    map.pixels = 16;
    map.element_strides = {1, stride, stride, 1};
    int out_w = (6 + 2 - 3) / stride + 1, out_h = (5 + 2 - 3) / stride + 1;
    for (int first : {0, 3, out_w * out_h - 2}) {
      for (int dy = 0; dy < 3; ++dy) {
        for (int dx = 0; dx < 3; ++dx) {
          std::vector<int32_t> expected;
          for (int p = first; p < first + 16; ++p) {
            int n = p / (out_w * out_h), y = p / out_w % out_h * stride - 1 + dy, x = p % out_w * stride - 1 + dx;
            bool inside = n < 2 && y >= 0 && y < 5 && x >= 0 && x < 6;
            for (int c = 0; c < 4; ++c) expected.push_back(inside ? data[n][y][x][c] : 0);
          }
          int n = first / (out_w * out_h), y = first / out_w % out_h * stride - 1, x = first % out_w * stride - 1;
          EXPECT_EQ(loaded<int32_t>(map, {0, x, y, n}, 64, SIM_IM2COL, {dx, dy}), expected)
              << stride << " " << first << " " << dy << " " << dx;
        }
      }
    }
  }
}

struct Store {
  Map map;
  sim_tensor_copy copy{};
  std::vector<int32_t> from;
};

std::string run_store(Store& store, int64_t blocks = 1) {
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    auto& d = *static_cast<Store*>(args[0]);
    const sim_api* s = w->sim;
    std::memcpy(w->shared + 1024, d.from.data(), 4 * d.from.size());
    sim_tensor_copy copy = d.copy;
    copy.map = &d.map, copy.shared = w->shared + 1024;
    s->tensor_store(w, 0, &copy, 2);
    s->bulk_commit(w, 1, 2);
    s->bulk_wait(w, 1, 0, 0, 3);
  };
  return error_of(run(kernel, {.grid = {blocks, 1, 1}, .shared_bytes = 8 << 10, .threads = 2}, {&store}));
}

TEST(SimTensorCopy, AStoreLeavesWhatIsOutsideOfTheBoxAndTheTensor) {
  Matrix m;
  Store store;
  store.map = encode(m.map({8, 3}));
  store.copy.at[0] = 8, store.copy.at[1] = 8;  // 4 columns and 2 rows of it are inside
  for (int i = 0; i < 24; ++i) store.from.push_back(-1 - i);
  EXPECT_EQ(run_store(store), "");
  for (int i = 0; i < 10; ++i) {
    for (int j = 0; j < 12; ++j) EXPECT_EQ(m.data[i][j], i >= 8 && j >= 8 ? -1 - (8 * (i - 8) + j - 8) : 100 * i + j) << i << " " << j;
  }
}

TEST(SimTensorCopy, AScatterWritesFourRows) {
  Matrix m;
  Store store;
  store.map = encode(m.map({4, 1}));
  store.copy.mode = SIM_SCATTER4;
  int32_t at[5] = {8, 9, 1, 40, 3};
  std::copy(at, at + 5, store.copy.at);
  for (int i = 0; i < 16; ++i) store.from.push_back(5000 + i);
  EXPECT_EQ(run_store(store), "");
  EXPECT_EQ(m.data[9][8], 5000);
  EXPECT_EQ(m.data[1][9], 5005);
  EXPECT_EQ(m.data[3][11], 5015);
  EXPECT_EQ(m.data[2][8], 208);
}

TEST(SimTensorCopy, AReductionAddsUpOverBlocks) {
  Matrix m;
  Store store;
  store.map = encode(m.map({4, 2}));
  store.copy.reduce = 1 + SIM_ADD;
  for (int i = 0; i < 8; ++i) store.from.push_back(i);
  EXPECT_EQ(run_store(store, 50), "");
  EXPECT_EQ(m.data[0][3], 3 + 50 * 3);
  EXPECT_EQ(m.data[1][2], 102 + 50 * 6);
  EXPECT_EQ(m.data[1][4], 104);
}

TEST(SimTensorCopy, WhatTheInstructionForbidsIsAnError) {
  Matrix m;
  Load load;
  load.map = encode(m.map({8, 4}));
  load.bytes = 128;
  load.copy.mode = SIM_IM2COL;
  EXPECT_THAT(run_load(load), HasSubstr("a tensor copy of another mode than its map is made for (2 dimensions)"));
  load.copy.mode = SIM_TILE;
  load.map = Map{};
  EXPECT_THAT(run_load(load), HasSubstr("the operand of a tensor copy is no tensor map"));
  sim_kernel shifted = [](sim_warp* w, void* const* args) {
    sim_tensor_copy copy{};
    copy.map = args[0], copy.shared = w->shared + 64, copy.barrier = w->shared;
    w->sim->tensor_load(w, 0, &copy, 2);
  };
  Map map = encode(m.map({8, 4}));
  EXPECT_THAT(error_of(run(shifted, {.shared_bytes = 4096}, {&map})),
              HasSubstr("a tensor copy at byte 64 of shared memory, which is not a multiple of 128"));
}

std::string refusal(const std::function<void(runtime::TensorMap&)>& change) {
  static Matrix m;
  runtime::TensorMap map = m.map({8, 4});
  change(map);
  auto encoded = encode_tensor_map(map);
  return encoded ? "" : encoded.error().to_string();
}

TEST(SimTensorCopy, MapsThatTheDriverRefuses) {
  EXPECT_EQ(refusal([](auto&) {}), "");
  EXPECT_THAT(refusal([](auto& m) { m.box = {8, 300}; }), HasSubstr("a box of [8, 300] for 2 dimensions"));
  EXPECT_THAT(refusal([](auto& m) { m.box = {3, 4}; }), HasSubstr("a box whose rows have 12 bytes"));
  EXPECT_THAT(refusal([](auto& m) { m.strides = {40}; }), HasSubstr("strides of [40] bytes"));
  EXPECT_THAT(refusal([](auto& m) { m.strides = {}; }), HasSubstr("2 dimensions with 0 strides"));
  EXPECT_THAT(refusal([](auto& m) { m.base = static_cast<std::byte*>(m.base) + 4; }),
              HasSubstr("does not begin at a multiple of 16 bytes"));
  EXPECT_THAT(refusal([](auto& m) { m.dims = {12, 0}; }), HasSubstr("dimensions [12, 0]"));
  EXPECT_THAT(refusal([](auto& m) { m.dtype = 99; }), HasSubstr("there is no element type 99"));
  EXPECT_THAT(refusal([](auto& m) { m.swizzle = 1, m.box = {12, 4}; }), HasSubstr("rows have 48 bytes, swizzled in spans of 32"));
  EXPECT_THAT(refusal([](auto& m) { m.interleave = 1; }), HasSubstr("interleaved"));
  EXPECT_THAT(refusal([](auto& m) { m.im2col = true; }), HasSubstr("im2col needs 3 dimensions"));
}

}  // namespace
}  // namespace kiln::sim::test
