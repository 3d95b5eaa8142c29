// Matrix instructions of which no device was at hand, against plain loops over matrices with the fragments of PTX ISA 9.0, 9.7.14; and what
// bad mnemonics, selectors and descriptors say.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "backends/sim/matrix/dense.h"
#include "backends/sim/matrix/ldmatrix.h"
#include "backends/sim/matrix/mma.h"
#include "backends/sim/matrix/wgmma.h"
#include "backends/sim/matrix/wmma.h"
#include "backends/sim/tests/fill.h"

namespace kiln::sim {
namespace {

int value_a(int i, int k) { return small_value(7, i * 1000 + k); }
int value_b(int k, int j) { return small_value(8, j * 1000 + k); }
int value_c(int i, int j) { return small_value(9, i * 1000 + j); }
int scale_a(int i, int s) { return static_cast<int>(mix(10, i * 10 + s) % 3); }
int scale_b(int j, int s) { return static_cast<int>(mix(11, j * 10 + s) % 3); }

// An mma of kind f8f6f4, mxf8f6f4 or mxf4nvf4 and its like.
struct NarrowCase {
  std::string mnemonic, a, b;
  int k, scales = 0;
  bool ue4m3 = false;
  int byte_a = 0, thread_a = 0, byte_b = 0, thread_b = 0;
};
void PrintTo(const NarrowCase& c, std::ostream* out) { *out << c.mnemonic; }
class NarrowMma : public testing::TestWithParam<NarrowCase> {};

TEST_P(NarrowMma, IsTheProduct) {
  const NarrowCase& c = GetParam();
  auto form = parse_mma(c.mnemonic);
  ASSERT_TRUE(form.ok()) << form.error().to_string();
  bool bytes = c.k == 32;
  auto element = [&](const std::string& format, int value) {  // e2m1 is in the middle of its byte
    uint32_t bits = bits_of_small(format, value);
    return bytes && format == "e2m1" ? bits << 2 : bits;
  };
  uint8_t a[32][16] = {}, b[32][8] = {};
  float d[32][4];
  for (int l = 0; l < 32; ++l) {
    int g = l / 4, t = l % 4;
    for (int i = 0; i < c.k / 2; ++i) {  // the elements of a: m16n8k32 of 8 bits, m16n8k64 of 4 bits
      int run = bytes ? 4 : 8;
      int row = i / run % 2 == 0 ? g : g + 8, column = t * run + i % run + (i < c.k / 4 ? 0 : c.k / 2);
      uint32_t bits = element(c.a, value_a(row, column));
      a[l][bytes ? i : i / 2] |= static_cast<uint8_t>(bits << (bytes ? 0 : i % 2 * 4));
    }
    for (int i = 0; i < c.k / 4; ++i) {
      int run = bytes ? 4 : 8;
      uint32_t bits = element(c.b, value_b(t * run + i % run + (i < run ? 0 : c.k / 2), g));
      b[l][bytes ? i : i / 2] |= static_cast<uint8_t>(bits << (bytes ? 0 : i % 2 * 4));
    }
    for (int i = 0; i < 4; ++i) d[l][i] = static_cast<float>(value_c(g + i / 2 * 8, t * 2 + i % 2));
  }
  Lanes sums = Lanes::of(d, 16), left = Lanes::of(a, 16), right = Lanes::of(b, 8);
  if (c.scales) {
    auto bits = [&](int exponent) { return static_cast<uint8_t>(c.ue4m3 ? (exponent + 7) << 3 : exponent + 127); };
    uint8_t sa[32][4], sb[32][4];
    std::memset(sa, 0xFE, sizeof sa);
    std::memset(sb, 0xFE, sizeof sb);
    for (int s = 0; s < c.scales; ++s) {
      for (int i = 0; i < 16; ++i) sa[i % 8 * 4 + c.thread_a * 2 + i / 8][c.byte_a + s] = bits(scale_a(i, s));
      for (int j = 0; j < 8; ++j) sb[j * 4 + c.thread_b][c.byte_b + s] = bits(scale_b(j, s));
    }
    Status s =
        mma_scaled(*form, sums, left, right, sums, Lanes::of(sa, 4), {c.byte_a, c.thread_a}, Lanes::of(sb, 4), {c.byte_b, c.thread_b});
    ASSERT_TRUE(s.ok()) << s.error().to_string();
  } else {
    mma(*form, sums, left, right, sums);
  }
  for (int l = 0; l < 32; ++l) {
    for (int e = 0; e < 4; ++e) {
      int i = l / 4 + e / 2 * 8, j = l % 4 * 2 + e % 2;
      double sum = value_c(i, j);
      for (int k = 0; k < c.k; ++k) {
        int exponent = c.scales ? scale_a(i, k * c.scales / c.k) + scale_b(j, k * c.scales / c.k) : 0;
        sum += std::ldexp(value_a(i, k) * value_b(k, j), exponent);
      }
      EXPECT_EQ(static_cast<double>(d[l][e]), sum) << i << " " << j;
    }
  }
}

std::vector<NarrowCase> narrow_cases() {
  std::vector<NarrowCase> all;
  const std::string start = "mma.sync.aligned.m16n8k32.row.col.kind::";
  for (const char* a : {"e4m3", "e5m2", "e3m2", "e2m3", "e2m1"}) {
    for (const char* b : {"e4m3", "e5m2", "e3m2", "e2m3", "e2m1"}) {
      std::string formats = std::string(".f32.") + a + "." + b + ".f32";
      all.push_back({start + "f8f6f4" + formats, a, b, 32});
      all.push_back({start + "mxf8f6f4.block_scale.scale_vec::1X" + formats + ".ue8m0", a, b, 32, 1, false, 3, 1, 2, 3});
    }
  }
  const std::string four = "mma.sync.aligned.m16n8k64.row.col.kind::", end = ".f32.e2m1.e2m1.f32";
  all.push_back({four + "mxf4.block_scale.scale_vec::2X" + end + ".ue8m0", "e2m1", "e2m1", 64, 2, false, 2, 0, 0, 2});
  all.push_back({four + "mxf4nvf4.block_scale.scale_vec::2X" + end + ".ue8m0", "e2m1", "e2m1", 64, 2, false, 0, 1, 2, 1});
  all.push_back({four + "mxf4nvf4.block_scale.scale_vec::4X" + end + ".ue4m3", "e2m1", "e2m1", 64, 4, true, 0, 1, 0, 3});
  all.push_back({four + "mxf4nvf4.block_scale.scale_vec::4X" + end + ".ue8m0", "e2m1", "e2m1", 64, 4, false, 0, 0, 0, 0});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Forms, NarrowMma, testing::ValuesIn(narrow_cases()),
                         [](const auto& info) { return std::to_string(info.index) + "_" + info.param.a + "_" + info.param.b; });

TEST(Ldmatrix, MovesBytesAndUnpacks) {
  std::vector<std::byte> memory(512);
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = std::byte(mix(3, i));
  auto byte = [&](int row, int i) { return std::to_integer<unsigned>(memory[row * 16 + i]); };
  Lanes rows = Lanes::of(memory.data(), 16);
  uint8_t r[32][16];
  auto nibbles = parse_ldmatrix("ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b4x16_p64");
  ASSERT_TRUE(nibbles.ok());
  ldmatrix(*nibbles, Lanes::of(r, 16), rows);
  for (int l = 0; l < 32; ++l) {
    for (int i = 0; i < 16; ++i) {  // register i / 4: matrix; row g, elements 4 t to 4 t + 3
      int e = l % 4 * 4 + i % 4;
      EXPECT_EQ(r[l][i], byte(i / 4 * 8 + l / 4, e / 2) >> e % 2 * 4 & 0xF);
    }
  }
  auto sixes = parse_ldmatrix("ldmatrix.sync.aligned.m8n16.x1.shared::cta.b8x16.b6x16_p32");
  ASSERT_TRUE(sixes.ok());
  ldmatrix(*sixes, Lanes::of(r, 16), rows);
  EXPECT_EQ(r[5][2], (byte(1, 4) >> 4 | byte(1, 5) << 4) & 0x3F);  // element 6 of row 1: bits 36 to 41
  auto bytes = parse_ldmatrix("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8");
  ASSERT_TRUE(bytes.ok());
  ldmatrix(*bytes, Lanes::of(r, 16), rows);
  for (int l = 0; l < 32; ++l) {
    for (int i = 0; i < 16; ++i) {
      int matrix = i / 8, row = l % 4 * 4 + i % 8 / 4 * 2 + i % 2, column = l / 4 + i % 4 / 2 * 8;
      EXPECT_EQ(r[l][i], byte(matrix * 16 + row, column));
    }
  }
  auto store = parse_stmatrix("stmatrix.sync.aligned.m16n8.x2.trans.shared.b8");
  ASSERT_TRUE(store.ok());
  std::vector<std::byte> stored(256);
  stmatrix(*store, Lanes::of(stored.data(), 16), Lanes::of(r, 16));
  for (int l = 0; l < 32; ++l) {
    for (int i = 0; i < 8; ++i)
      EXPECT_EQ(std::to_integer<unsigned>(stored[(i / 4 * 8 + l % 4 * 2 + i % 2) * 16 + l / 4 + i % 4 / 2 * 8]), r[l][i]);
  }
}

struct WmmaCase {
  std::string a, d;
  int m, n, k;
};
void PrintTo(const WmmaCase& c, std::ostream* out) { *out << c.a << " to " << c.d; }
int bits_in(const std::string& f) {
  return f == "f64" ? 64 : f == "f32" || f == "s32" || f == "tf32" ? 32 : f == "f16" || f == "bf16" ? 16 : f == "b1" ? 1 : f[1] - '0';
}
void put_element(std::vector<std::byte>& to, size_t i, const std::string& f, int value) {
  if (f == "f64") return put(to.data(), i, static_cast<double>(value));
  if (f == "f32" || f == "tf32") return put(to.data(), i, static_cast<float>(value));
  if (f == "s32") return put(to.data(), i, value);
  if (f == "f16" || f == "bf16") return put(to.data(), i, static_cast<uint16_t>(bits_of_small(f, value)));
  int width = bits_in(f);
  for (int bit = 0; bit < width; ++bit) {
    if (value >> bit & 1) to[(i * width + bit) / 8] |= std::byte(1 << (i * width + bit) % 8);
  }
}
// What an element holds when -3 to 3 is put in it.
int held(const std::string& f, int value) { return f == "u8" ? value & 0xFF : f == "u4" ? value & 0xF : f == "b1" ? value & 1 : value; }
double element_of(const std::vector<std::byte>& from, size_t i, const std::string& f) {
  auto read = [&](auto value) {
    std::memcpy(&value, from.data() + i * sizeof value, sizeof value);
    return value;
  };
  if (f == "f64") return read(0.0);
  if (f == "f32") return static_cast<double>(read(0.0F));
  if (f == "s32") return read(int32_t{0});
  uint16_t bits = read(uint16_t{0});
  double magnitude = (bits & 0x7FFF) == 0 ? 0 : std::ldexp(1024 + (bits & 0x3FF), (bits >> 10 & 31) - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

class WmmaProducts : public testing::TestWithParam<WmmaCase> {};

TEST_P(WmmaProducts, AreTheProductInEachLayout) {
  const WmmaCase& c = GetParam();
  std::string shape = "m" + std::to_string(c.m) + "n" + std::to_string(c.n) + "k" + std::to_string(c.k);
  bool any = bits_in(c.a) >= 8;
  for (int layouts = 0; layouts < 8; ++layouts) {
    bool row_a = layouts & 1, row_b = layouts & 2, row_d = layouts & 4;
    if (!any && (!row_a || row_b)) continue;
    auto layout = [](bool row) { return row ? std::string("row") : std::string("col"); };
    std::string bits = c.a == "b1" ? ".xor.popc" : "";
    auto load_a = parse_wmma("wmma.load.a.sync.aligned." + layout(row_a) + "." + shape + "." + c.a);
    auto load_b = parse_wmma("wmma.load.b.sync.aligned." + layout(row_b) + "." + shape + ".shared." + c.a);
    auto load_c = parse_wmma("wmma.load.c.sync.aligned." + layout(row_d) + "." + shape + ".global." + c.d);
    auto store = parse_wmma("wmma.store.d.sync.aligned." + layout(row_d) + "." + shape + "." + c.d);
    auto product = parse_wmma("wmma.mma" + bits + ".sync.aligned." + layout(row_a) + "." + layout(row_b) + "." + shape + "." + c.d + "." +
                              c.a + "." + c.a + "." + c.d);
    for (auto* f : {&load_a, &load_b, &load_c, &store, &product}) ASSERT_TRUE(f->ok()) << f->error().to_string();
    // Lines are 32 elements (128 bits) longer than they need to be.
    int extra = c.a == "b1" ? 128 : 32;
    int stride_a = (row_a ? c.k : c.m) + extra, stride_b = (row_b ? c.n : c.k) + extra, stride_d = (row_d ? c.n : c.m) + 32;
    std::vector<std::byte> a(20000), b(20000), d(20000);
    for (int i = 0; i < c.m; ++i) {
      for (int k = 0; k < c.k; ++k) put_element(a, row_a ? i * stride_a + k : k * stride_a + i, c.a, value_a(i, k));
    }
    for (int j = 0; j < c.n; ++j) {
      for (int k = 0; k < c.k; ++k) put_element(b, row_b ? k * stride_b + j : j * stride_b + k, c.a, value_b(k, j));
    }
    auto at = [&](int i, int j) { return static_cast<size_t>(row_d ? i * stride_d + j : j * stride_d + i); };
    for (int i = 0; i < c.m; ++i) {
      for (int j = 0; j < c.n; ++j) put_element(d, at(i, j), c.d, value_c(i, j));
    }
    int word = c.a == "f64" ? 8 : 4;
    auto registers = [&](const Wmma& f, char role) { return std::vector<std::byte>(static_cast<size_t>(32 * f.registers(role) * word)); };
    auto ra = registers(*load_a, 'a'), rb = registers(*load_b, 'b'), rd = registers(*store, 'd');
    auto lanes = [](std::vector<std::byte>& r) { return Lanes::of(r.data(), static_cast<std::ptrdiff_t>(r.size() / 32)); };
    wmma_load(*load_a, lanes(ra), a.data(), stride_a);
    wmma_load(*load_b, lanes(rb), b.data(), stride_b);
    wmma_load(*load_c, lanes(rd), d.data(), stride_d);
    wmma_mma(*product, lanes(rd), lanes(ra), lanes(rb), lanes(rd));
    std::vector<std::byte> out(20000);
    wmma_store(*store, out.data(), lanes(rd), stride_d);
    for (int i = 0; i < c.m; ++i) {
      for (int j = 0; j < c.n; ++j) {
        int sum = value_c(i, j);
        for (int k = 0; k < c.k; ++k) {
          int x = held(c.a, value_a(i, k)), y = held(c.a, value_b(k, j));
          sum += c.a == "b1" ? x ^ y : x * y;
        }
        EXPECT_EQ(element_of(out, at(i, j), c.d), sum) << layouts << ": " << i << " " << j;
      }
    }
  }
}

std::vector<WmmaCase> wmma_cases() {
  std::vector<WmmaCase> all = {
      {"tf32", "f32", 16, 16, 8}, {"f64", "f64", 8, 8, 4}, {"s4", "s32", 8, 8, 32}, {"u4", "s32", 8, 8, 32}, {"b1", "s32", 8, 8, 128}};
  for (auto [m, n] : {std::pair{16, 16}, {8, 32}, {32, 8}}) {
    for (const char* d : {"f16", "f32"}) all.push_back({"f16", d, m, n, 16});
    all.push_back({"bf16", "f32", m, n, 16});
    for (const char* a : {"s8", "u8"}) all.push_back({a, "s32", m, n, 16});
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Forms, WmmaProducts, testing::ValuesIn(wmma_cases()), [](const auto& info) {
  return info.param.a + "_" + info.param.d + "_m" + std::to_string(info.param.m) + "n" + std::to_string(info.param.n);
});

TEST(Dense, GivesTheSameBitsOnEveryMachine) {
  constexpr int kM = 16, kN = 56, kK = 20;
  std::vector<float> a(kM * kK), b(kK * kN), d(kM * kN, 0.5F), e = d;
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(mix(1, i) % 2048) / 1024 - 1;  // 11 bits: products are exact
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(mix(2, i) % 2048) / 1024 - 1;
  dense().multiply(d.data(), kN, a.data(), kK, b.data(), kN, kM, kN, kK);
  portable_dense().multiply(e.data(), kN, a.data(), kK, b.data(), kN, kM, kN, kK);
  EXPECT_EQ(std::memcmp(d.data(), e.data(), d.size() * 4), 0);
  double x2[16 * 16], y2[16 * 8], sum[16 * 8], other_sum[16 * 8];
  for (int i = 0; i < 256; ++i) x2[i] = mix(3, i) / 3e9 - 0.7;
  for (int i = 0; i < 128; ++i) y2[i] = mix(4, i) / 3e9 - 0.7, sum[i] = other_sum[i] = 1 / 3.0;
  dense().multiply_double(sum, x2, 16, y2, 16, 16);
  portable_dense().multiply_double(other_sum, x2, 16, y2, 16, 16);
  EXPECT_EQ(std::memcmp(sum, other_sum, sizeof sum), 0);
  // The fragments of a warp: 16 rows by 32 columns in 16 registers of each lane, by 8 columns in 4.
  std::vector<float> pairs(8 * kK * 4), wide(32 * 16, 0.25F), wide_other = wide, narrow(32 * 4, 0.25F), narrow_other(32 * 4);
  for (size_t i = 0; i < pairs.size(); ++i) pairs[i] = a[(i / 4 / kK + i % 4 / 2 * 8) * kK + i / 4 % kK];
  float *sums[32], *others[32];
  for (int l = 0; l < 32; ++l) sums[l] = &wide[l * 16], others[l] = &wide_other[l * 16];
  dense().multiply_fragments(sums, pairs.data(), b.data(), kK, true);
  portable_dense().multiply_fragments(others, pairs.data(), b.data(), kK, true);
  EXPECT_EQ(wide, wide_other);
  Lanes in = Lanes::of(narrow.data(), 16), out = Lanes::of(narrow_other.data(), 16);
  portable_dense().multiply_16x8(out.at, in.at, a.data(), b.data(), kK);
  dense().multiply_16x8(in.at, in.at, a.data(), b.data(), kK);
  EXPECT_EQ(narrow, narrow_other);
  std::vector<uint16_t> halves(65536), back(65536), other(65536);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  std::vector<float> x(65536), y(65536);
  dense().decode_f16(halves.data(), x.data(), 65536);
  portable_dense().decode_f16(halves.data(), y.data(), 65536);
  for (size_t i = 0; i < x.size(); ++i) {
    bool nan = (i & 0x7C00) == 0x7C00 && (i & 0x3FF);
    ASSERT_TRUE(nan ? std::isnan(x[i]) && std::isnan(y[i]) : std::memcmp(&x[i], &y[i], 4) == 0) << i;
    x[i] = nan ? 0 : x[i] * 1.0003F;
  }
  dense().encode_f16(x.data(), back.data(), 65536);
  portable_dense().encode_f16(x.data(), other.data(), 65536);
  EXPECT_EQ(back, other);
}

TEST(MatrixErrors, AreSaid) {
  EXPECT_EQ(parse_mma("mma.sync.aligned.m16n8k17.row.col.f32.f16.f16.f32").error().message,
            "'mma.sync.aligned.m16n8k17.row.col.f32.f16.f16.f32': there is no such mma");
  EXPECT_EQ(parse_mma("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32.fast").error().message,
            "'mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32.fast': 'fast' was not expected");
  EXPECT_EQ(parse_mma("").error().message, "'': expected an mma");
  EXPECT_EQ(parse_mma("mma.sync.aligned.m999999999999n8k16.row.col").error().message,
            "'mma.sync.aligned.m999999999999n8k16.row.col': expected a shape");
  EXPECT_FALSE(parse_mma("mma.sync.aligned.m16n8k16.col.row.f32.f16.f16.f32").ok());
  EXPECT_FALSE(parse_mma("mma.sync.aligned.m16n8k16.row.col.f16.bf16.bf16.f16").ok());
  EXPECT_FALSE(parse_mma("mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.f32.e4m3.e4m3.f32").ok());
  EXPECT_FALSE(parse_ldmatrix("ldmatrix.sync.aligned.m8n8.x3.shared.b16").ok());
  EXPECT_FALSE(parse_stmatrix("stmatrix.sync.aligned.m16n8.x1.shared.b8").ok());
  EXPECT_FALSE(parse_wgmma("wgmma.mma_async.sync.aligned.m64n260k16.f32.f16.f16").ok());
  EXPECT_FALSE(parse_wgmma("wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.s8").ok());
  EXPECT_FALSE(parse_wmma("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16.bf16.f32").ok());
  EXPECT_TRUE(parse_wmma("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32").ok());

  std::vector<std::byte> registers(4096), shared(2048);
  Lanes r = Lanes::of(registers.data(), 128);
  auto sparse = parse_mma("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32");
  EXPECT_EQ(mma_sparse(*sparse, r, r, r, r, r, 2).error().message, "the sparsity selector is to be 0 to 1, and is 2");
  auto form = parse_wgmma("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16");
  uint64_t descriptor = uint64_t{1024 / 16} << 32 | uint64_t{1} << 62;  // eight lines of 128 bytes, swizzled
  EXPECT_TRUE(wgmma(*form, 0, r, descriptor, descriptor, shared, false).ok());
  EXPECT_EQ(wgmma(*form, 1, r, descriptor, descriptor, shared, false).error().message,
            "a matrix descriptor reaches bytes 2048 to 2063 of shared memory, which has 2048");
  auto bytes = parse_wgmma("wgmma.mma_async.sync.aligned.m64n16k32.f32.e4m3.e4m3");
  bytes->transpose_b = true;
  EXPECT_EQ(wgmma(*bytes, 0, r, descriptor, descriptor, shared, false).error().message,
            "wgmma of e4m3 takes operands with K innermost only");
}

TEST(WgmmaReads, AreThePiecesOfBothOperands) {
  auto form = parse_wgmma("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16");
  uint64_t a = uint64_t{1024 / 16} << 32 | uint64_t{1} << 62, b = a | 8192 / 16;
  std::vector<uint32_t> at;
  ASSERT_TRUE(wgmma_reads(*form, 1, &a, b, [&](uint32_t offset, int) { at.push_back(offset); }).ok());
  ASSERT_EQ(at.size(), 64U);           // 16 lines each, of two pieces
  EXPECT_EQ(at[0], 2048U);             // warp 1 has lines 16 on: two groups of eight further
  EXPECT_EQ(at[2], 2048U + 128 + 16);  // line 1: its pieces change places
  EXPECT_EQ(at[32], 8192U);
}

}  // namespace
}  // namespace kiln::sim
