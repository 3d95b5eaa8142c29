// tcgen05 against plain loops over matrices: where rows, columns and scales lie is typed from the figures of PTX ISA 9.0, 9.7.16.
#include "backends/sim/matrix/tcgen05.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "backends/sim/tests/fill.h"

namespace kiln::sim {
namespace {

std::unique_ptr<TensorMemory> tensor_memory() {
  auto memory = std::make_unique<TensorMemory>();
  EXPECT_TRUE(memory->allocate(512).ok());
  return memory;
}

// One product, as the test sees it.
struct Case {
  std::string mnemonic;
  std::string a, b, d;
  int m, n, k;
  uint32_t instruction;  // formats, as the tables of 9.7.16.4.2 have them; M and N are added
  char layout;           // of d
  bool in_tensor_memory = false;
  int scale_block = 0;
  bool ue4m3 = false;
  uint32_t disabled = 0;  // lanes 0 to 31
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.mnemonic; }

int value_a(int i, int k) { return small_value(7, i * 1000 + k); }
int value_b(int j, int k) { return small_value(8, j * 1000 + k); }
int value_d(int i, int j) { return small_value(9, i * 1000 + j); }
// Powers of two, as exponents.
int scale_a(int i, int s) { return static_cast<int>(mix(10, i * 10 + s) % 3); }
int scale_b(int j, int s) { return static_cast<int>(mix(11, j * 10 + s) % 3); }

int bits_in(const std::string& format) {
  if (format == "f16" || format == "bf16") return 16;
  return format == "tf32" ? 32 : format == "e2m1" ? 4 : format == "e3m2" || format == "e2m3" ? 6 : 8;
}
uint32_t encoded(const std::string& format, int value) {
  if (format == "s8" || format == "u8") return static_cast<uint8_t>(format == "u8" ? value & 0xFF : value);
  if (format != "tf32") return bits_of_small(format, value);
  float real = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &real, 4);
  return bits;
}
int number(const std::string& format, int value) { return format == "u8" ? value & 0xFF : value; }

void put_bits(void* to, size_t bit, int width, uint32_t value) {
  for (int i = 0; i < width; ++i) {
    auto& byte = static_cast<uint8_t*>(to)[(bit + i) / 8];
    uint8_t mask = static_cast<uint8_t>(1u << (bit + i) % 8);
    byte = static_cast<uint8_t>(value >> i & 1 ? byte | mask : byte & ~mask);
  }
}

constexpr int kLeading = 4096, kStride = 128;  // bytes; without swizzle: pieces of 16 bytes along K are kLeading apart, eight lines kStride

// Element (line, k) of an operand in shared memory. Formats of fewer than 8 bits: 16 elements at the start of each 16 bytes, but 32 where
// all are of 4 bits.
void put_shared(std::vector<std::byte>& shared, int start, const std::string& format, bool packed, int line, int k, int value) {
  int width = bits_in(format), container = width < 8 && !packed ? 8 : width, per_piece = 128 / container;
  int at = start + line / 8 * kStride + line % 8 * 16 + k / per_piece * kLeading;
  put_bits(shared.data() + at, static_cast<size_t>(k % per_piece) * width, width, encoded(format, value));
}

struct Where {
  int block, lane, column;
};
Where place_d(const Case& c, int i, int j) {
  switch (c.layout) {
    case 'A': return {i / 128, i % 128, j};
    case 'B': return {i / 64, i % 64 + (j < c.n / 2 ? 0 : 64), j % (c.n / 2)};
    case 'D': return {0, i, j};
    case 'E': return {0, i + (j < c.n / 2 ? 0 : 64), j % (c.n / 2)};
    case 'F': return {0, i % 16 + 32 * (i / 16), j};
    default: return {0, i + 32 * (j / (c.n / 4)), j % (c.n / 4)};
  }
}

uint32_t word_of(const std::string& format, int value) {
  if (format == "s32") return static_cast<uint32_t>(value);
  if (format == "f16") return bits_of_small("f16", value);
  return encoded("tf32", value);
}
double real_of(const std::string& format, uint32_t word) {
  if (format == "s32") return static_cast<int32_t>(word);
  if (format == "f16") {  // normal numbers only
    double magnitude = (word & 0x7FFF) == 0 ? 0 : std::ldexp(1024 + (word & 0x3FF), static_cast<int>(word >> 10 & 31) - 25);
    return word & 0x8000 ? -magnitude : magnitude;
  }
  float real;
  std::memcpy(&real, &word, 4);
  return static_cast<double>(real);
}

constexpr int kColumnA = 300, kScaleA = 400, kScaleB = 410;

class Tcgen05 : public testing::TestWithParam<Case> {};

TEST_P(Tcgen05, IsTheProduct) {
  const Case& c = GetParam();
  int blocks = c.mnemonic.find("cta_group::2") != std::string::npos ? 2 : 1;
  bool packed = c.mnemonic.find("mxf4") != std::string::npos;
  auto form = parse_tcgen05_mma(c.mnemonic);
  ASSERT_TRUE(form.ok()) << form.error().to_string();
  std::unique_ptr<TensorMemory> memory[2] = {tensor_memory(), tensor_memory()};
  std::vector<std::byte> shared[2] = {std::vector<std::byte>(40000), std::vector<std::byte>(40000)};
  int each_m = c.m / blocks, each_n = c.n / blocks, start_b = 2048;
  for (int k = 0; k < c.k; ++k) {
    for (int i = 0; i < c.m; ++i) {
      if (!c.in_tensor_memory) {
        put_shared(shared[i / each_m], 0, c.a, packed, i % each_m, k, value_a(i, k));
      } else {
        int lane = c.m == 64 ? i % 16 + 32 * (i / 16) : i, width = std::max(bits_in(c.a), 8);
        put_bits(&memory[0]->word[lane][kColumnA], static_cast<size_t>(k) * width, width, encoded(c.a, value_a(i, k)));
      }
    }
    for (int j = 0; j < c.n; ++j) put_shared(shared[j / each_n], start_b, c.b, packed, j % each_n, k, value_b(j, k));
  }
  auto scale_bits = [&](int exponent) { return static_cast<uint32_t>(c.ue4m3 ? (exponent + 7) << 3 : exponent + 127); };
  int scales = c.scale_block ? c.k / c.scale_block : 0;
  for (int block = 0; block < blocks; ++block) {
    for (int s = 0; s < scales; ++s) {
      for (int i = 0; i < each_m; ++i) {
        for (int copy = 0; copy < 4; ++copy)
          put_bits(&memory[block]->word[i % 32 + 32 * copy][kScaleA + i / 32], 8 * s, 8, scale_bits(scale_a(i + block * each_m, s)));
      }
      for (int j = 0; j < c.n; ++j) put_bits(&memory[block]->word[j % 32][kScaleB + j / 32], 8 * s, 8, scale_bits(scale_b(j, s)));
    }
  }
  for (int i = 0; i < c.m; ++i) {
    for (int j = 0; j < c.n; ++j) {
      Where w = place_d(c, i, j);
      memory[w.block]->word[w.lane][w.column] = word_of(c.d, value_d(i, j));
    }
  }
  auto descriptor = [](uint64_t start) {
    return start / 16 | uint64_t{kLeading / 16} << 16 | uint64_t{kStride / 16} << 32 | uint64_t{1} << 46;
  };
  Tcgen05Operands in;
  in.a = c.in_tensor_memory ? kColumnA : descriptor(0), in.b = descriptor(2048), in.a_in_tensor_memory = c.in_tensor_memory;
  in.instruction = c.instruction | static_cast<uint32_t>(c.n / 8) << 17 | static_cast<uint32_t>(c.m / 16) << 24;
  in.scale_a = kScaleA, in.scale_b = kScaleB, in.disabled[0] = c.disabled;
  Tcgen05Block both[2] = {{memory[0].get(), shared[0]}, {memory[1].get(), shared[1]}};
  Status s = tcgen05_mma(*form, in, std::span(both).first(static_cast<size_t>(blocks)));
  ASSERT_TRUE(s.ok()) << s.error().to_string();
  int wrong = 0;
  for (int i = 0; i < c.m; ++i) {
    for (int j = 0; j < c.n; ++j) {
      double sum = value_d(i, j);
      Where w = place_d(c, i, j);
      bool off = w.block == 0 && w.lane < 32 && (c.disabled >> w.lane & 1);
      for (int k = 0; k < c.k && !off; ++k) {
        int exponent = scales ? scale_a(i, k / c.scale_block) + scale_b(j, k / c.scale_block) : 0;
        sum += std::ldexp(number(c.a, value_a(i, k)) * number(c.b, value_b(j, k)), exponent);
      }
      wrong += real_of(c.d, memory[w.block]->word[w.lane][w.column]) != sum;
    }
  }
  EXPECT_EQ(wrong, 0);
}

constexpr uint32_t kF32 = 1 << 4, kS32 = 2 << 4;
constexpr uint32_t formats(uint32_t a, uint32_t b) { return a << 7 | b << 10; }
const Case kCases[] = {
    {"tcgen05.mma.cta_group::1.kind::f16", "f16", "f16", "f32", 128, 64, 16, kF32, 'D'},
    {"tcgen05.mma.cta_group::1.kind::f16", "f16", "f16", "f16", 128, 16, 16, 0, 'D'},
    {"tcgen05.mma.cta_group::1.kind::f16", "bf16", "bf16", "f32", 64, 24, 16, kF32 | formats(1, 1), 'F'},
    {"tcgen05.mma.cta_group::1.kind::f16.collector::a::fill", "f16", "f16", "f32", 128, 64, 16, kF32, 'D', true},
    {"tcgen05.mma.cta_group::1.kind::f16", "bf16", "f16", "f32", 64, 64, 16, kF32 | formats(1, 0), 'F', true},
    {"tcgen05.mma.cta_group::1.kind::tf32", "tf32", "tf32", "f32", 128, 48, 8, kF32 | formats(2, 2), 'D'},
    {"tcgen05.mma.cta_group::1.kind::i8", "s8", "u8", "s32", 128, 32, 32, kS32 | formats(1, 0), 'D'},
    {"tcgen05.mma.cta_group::1.kind::i8", "u8", "s8", "s32", 64, 32, 32, kS32 | formats(0, 1), 'F'},
    {"tcgen05.mma.cta_group::1.kind::f8f6f4", "e4m3", "e5m2", "f32", 128, 32, 32, kF32 | formats(0, 1), 'D'},
    {"tcgen05.mma.cta_group::1.kind::f8f6f4", "e4m3", "e2m1", "f16", 128, 32, 32, formats(0, 5), 'D'},
    {"tcgen05.mma.cta_group::1.kind::f8f6f4", "e3m2", "e2m3", "f32", 128, 32, 32, kF32 | formats(4, 3), 'D'},
    {"tcgen05.mma.cta_group::1.kind::f8f6f4", "e5m2", "e4m3", "f32", 128, 32, 32, kF32 | formats(1, 0), 'D', true},
    {"tcgen05.mma.ws.cta_group::1.kind::f16", "f16", "f16", "f32", 32, 64, 16, kF32, 'G'},
    {"tcgen05.mma.ws.cta_group::1.kind::f16", "f16", "f16", "f32", 64, 128, 16, kF32, 'E'},
    {"tcgen05.mma.ws.cta_group::1.kind::f16", "f16", "f16", "f32", 128, 64, 16, kF32, 'D'},
    {"tcgen05.mma.cta_group::2.kind::f16", "f16", "f16", "f32", 256, 64, 16, kF32, 'A'},
    {"tcgen05.mma.cta_group::2.kind::f16", "f16", "f16", "f32", 128, 96, 16, kF32, 'B'},
    {"tcgen05.mma.cta_group::2.kind::i8", "s8", "s8", "s32", 256, 32, 32, kS32 | formats(1, 1), 'A'},
    {"tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale", "e4m3", "e4m3", "f32", 128, 64, 32, 1 << 23, 'D', false, 32},
    {"tcgen05.mma.cta_group::2.kind::mxf8f6f4.block_scale", "e5m2", "e2m1", "f32", 256, 64, 32, 1 << 23 | formats(1, 5), 'A', false, 32},
    {"tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X", "e2m1", "e2m1", "f32", 128, 64, 64, 1 << 23 | formats(1, 1), 'D',
     false, 32},
    {"tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X", "e2m1", "e2m1", "f32", 128, 64, 64, formats(1, 1), 'D', false, 16,
     true},
    {"tcgen05.mma.cta_group::1.kind::f16", "f16", "f16", "f32", 128, 32, 16, kF32, 'D', false, 0, false, 0xF0F00003},
};
INSTANTIATE_TEST_SUITE_P(Forms, Tcgen05, testing::ValuesIn(kCases), [](const testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  return std::to_string(info.index) + "_" + c.a + "_" + c.b + "_" + c.d + "_m" + std::to_string(c.m) + "n" + std::to_string(c.n);
});

TEST(TensorMemory, MovesWordsWhereTheFiguresShowThem) {
  struct Shape {
    const char* name;
    int registers, columns, rows;
    int (*lane)(int l, int r);
    int (*column)(int l, int r);
  };
  const Shape shapes[] = {
      {"32x32b.x4", 4, 4, 32, [](int l, int) { return l; }, [](int, int r) { return r; }},
      {"16x64b.x2", 2, 4, 16, [](int l, int) { return l / 4 + l % 2 * 8; }, [](int l, int r) { return l % 4 / 2 + 2 * r; }},
      {"16x128b.x2", 4, 8, 16, [](int l, int r) { return l / 4 + r % 2 * 8; }, [](int l, int r) { return l % 4 + r / 2 * 4; }},
      {"16x256b.x2", 8, 16, 16, [](int l, int r) { return l / 4 + r % 4 / 2 * 8; },
       [](int l, int r) { return l % 4 * 2 + r % 2 + r / 4 * 8; }},
      {"16x32bx2.x2", 2, 2, 16, [](int l, int) { return l % 16; }, [](int l, int r) { return r + l / 16 * 32; }},
  };
  auto memory = tensor_memory();
  for (int lane = 0; lane < 128; ++lane) {
    for (int c = 0; c < 512; ++c) memory->word[lane][c] = static_cast<uint32_t>(lane << 16 | c);
  }
  for (const Shape& s : shapes) {
    SCOPED_TRACE(s.name);
    auto load = parse_tensor_move("tcgen05.ld.sync.aligned." + std::string(s.name) + ".b32");
    auto store = parse_tensor_move("tcgen05.st.sync.aligned." + std::string(s.name) + ".b32");
    ASSERT_TRUE(load.ok() && store.ok());
    ASSERT_EQ(load->registers(), s.registers);
    load->half_offset = store->half_offset = 32;
    std::vector<uint32_t> r(32 * s.registers);
    Lanes lanes = Lanes::of(r.data(), 4 * s.registers);
    ASSERT_TRUE(tensor_load(*load, *memory, 2, 64 << 16 | 96, lanes).ok());
    for (int l = 0; l < 32; ++l) {
      for (int i = 0; i < s.registers; ++i)
        EXPECT_EQ(r[l * s.registers + i], static_cast<uint32_t>((64 + s.lane(l, i)) << 16 | (96 + s.column(l, i))));
    }
    auto other = tensor_memory();
    ASSERT_TRUE(tensor_store(*store, *other, 1, 32 << 16 | 8, lanes).ok());
    for (int l = 0; l < 32; ++l) {
      for (int i = 0; i < s.registers; ++i) EXPECT_EQ(other->word[32 + s.lane(l, i)][8 + s.column(l, i)], r[l * s.registers + i]);
    }
  }
}

TEST(TensorMemory, PacksTwoColumnsInARegister) {
  auto memory = tensor_memory();
  for (int c = 0; c < 8; ++c) memory->word[3][c] = 0xAB000000U + static_cast<uint32_t>(c);
  auto load = parse_tensor_move("tcgen05.ld.sync.aligned.32x32b.x4.pack::16b.b32");
  auto store = parse_tensor_move("tcgen05.st.sync.aligned.32x32b.x4.unpack::16b.b32");
  ASSERT_TRUE(load.ok() && store.ok());
  uint32_t r[32][4];
  ASSERT_TRUE(tensor_load(*load, *memory, 0, 0, Lanes::of(r, 16)).ok());
  EXPECT_EQ(r[3][0], 0x00010000U);
  EXPECT_EQ(r[3][3], 0x00070006U);
  ASSERT_TRUE(tensor_store(*store, *memory, 0, 16, Lanes::of(r, 16)).ok());
  EXPECT_EQ(memory->word[3][16 + 7], 7U);
}

TEST(TensorMemory, AllocatesColumns) {
  TensorMemory memory;
  auto first = memory.allocate(128), second = memory.allocate(256), third = memory.allocate(256);
  ASSERT_TRUE(first.ok() && second.ok() && third.ok());
  EXPECT_EQ(**first, 0U);
  EXPECT_EQ(**second, 256U);
  EXPECT_FALSE(third->has_value());
  EXPECT_EQ(memory.free(0, 64).error().message, "tcgen05.dealloc of 64 columns at 0, which is no allocation");
  EXPECT_TRUE(memory.free(0, 128).ok());
  EXPECT_EQ(memory.allocate(48).error().message, "tcgen05.alloc takes 32, 64, 128, 256 or 512 columns, and not 48");
  EXPECT_TRUE(memory.was_taken(300));
  EXPECT_FALSE(memory.was_taken(200));
  auto move = parse_tensor_move("tcgen05.ld.sync.aligned.32x32b.x1.b32");
  uint32_t r[32];
  EXPECT_EQ(tensor_load(*move, memory, 0, 200, Lanes::of(r, 4)).error().message, "column 200 of tensor memory was not allocated");
  EXPECT_EQ(tensor_load(*move, memory, 1, 64 << 16 | 300, Lanes::of(r, 4)).error().message,
            "warp 1 of its group reaches lanes 32 to 63 of tensor memory, and the address has lane 64");
  memory.word[34][300] = 5;
  ASSERT_TRUE(tensor_load(*move, memory, 1, 300, Lanes::of(r, 4)).ok());  // from the warp's own lanes on
  EXPECT_EQ(r[2], 5U);
}

TEST(TensorMemory, CopiesFromSharedMemory) {
  auto memory = tensor_memory();
  std::vector<std::byte> shared(4096);
  for (size_t i = 0; i < shared.size(); ++i) shared[i] = std::byte(mix(3, i));
  // 32 rows of 16 bytes, eight together, 128 bytes from eight to eight.
  uint64_t descriptor = 256 / 16 | uint64_t{128 / 16} << 32 | uint64_t{1} << 46;
  auto form = parse_tensor_copy("tcgen05.cp.cta_group::1.32x128b.warpx4");
  ASSERT_TRUE(form.ok());
  ASSERT_TRUE(tensor_copy(*form, *memory, 40, descriptor, shared).ok());
  for (int i = 0; i < 128; ++i) EXPECT_EQ(std::memcmp(&memory->word[i][40], shared.data() + 256 + i % 32 * 16, 16), 0) << i;
  EXPECT_EQ(tensor_copy(*form, *memory, 40, 3968 / 16 | uint64_t{128 / 16} << 32 | uint64_t{1} << 46, shared).error().message,
            "a matrix descriptor reaches bytes 4096 to 4111 of shared memory, which has 4096");
  auto halves = parse_tensor_copy("tcgen05.cp.cta_group::1.64x128b.warpx2::01_23");
  ASSERT_TRUE(tensor_copy(*halves, *memory, 80, descriptor, shared).ok());
  for (int i = 0; i < 128; ++i) EXPECT_EQ(std::memcmp(&memory->word[i][80], shared.data() + 256 + (i / 64 * 32 + i % 32) * 16, 16), 0) << i;
  auto nibbles = parse_tensor_copy("tcgen05.cp.cta_group::1.128x128b.b8x16.b4x16_p64");
  ASSERT_TRUE(tensor_copy(*nibbles, *memory, 120, descriptor, shared).ok());
  for (int j = 0; j < 16; ++j) {
    unsigned byte = std::to_integer<unsigned>(shared[256 + 5 * 16 + j / 2]);
    EXPECT_EQ(memory->word[5][120 + j / 4] >> j % 4 * 8 & 0xFF, byte >> j % 2 * 4 & 0xF) << j;
  }
}

TEST(Tcgen05Errors, AreSaid) {
  EXPECT_EQ(parse_tcgen05_mma("tcgen05.mma.sp.cta_group::1.kind::f16").error().message,
            "'tcgen05.mma.sp.cta_group::1.kind::f16': sparse operands are not modelled");
  auto form = parse_tcgen05_mma("tcgen05.mma.cta_group::1.kind::f16");
  auto memory = tensor_memory();
  std::vector<std::byte> shared(1024);
  Tcgen05Block block{memory.get(), shared};
  Tcgen05Operands in;
  in.a = in.b = uint64_t{1} << 46;
  auto message = [&](uint32_t instruction) {
    in.instruction = instruction;
    Status s = tcgen05_mma(*form, in, std::span(&block, 1));
    return s ? "" : s.error().message;
  };
  EXPECT_EQ(message(1 << 4 | 8 << 17 | 3 << 24), "tcgen05.mma of M 48");
  EXPECT_EQ(message(1 << 4 | 3 << 7 | 8 << 17 | 8 << 24),
            "an instruction descriptor has formats 3 and 0 to 1, which its kind does not have");
  in.a = uint64_t{3} << 61 | uint64_t{1} << 46;
  EXPECT_EQ(message(1 << 4 | 8 << 17 | 8 << 24), "a matrix descriptor has swizzle 3, which is reserved");
  in.a = uint64_t{1} << 46 | uint64_t{512} << 32;
  EXPECT_EQ(message(1 << 4 | 8 << 17 | 8 << 24), "a matrix descriptor reaches bytes 8192 to 8207 of shared memory, which has 1024");
  in.d = 500;
  EXPECT_EQ(message(1 << 4 | 8 << 17 | 8 << 24), "d of a tcgen05.mma leaves tensor memory: column 500, lane 0, and 64 columns");
}

}  // namespace
}  // namespace kiln::sim
