// The helpers that convert small formats, run here as C++ for every code and around every rounding boundary; and that all casts compile.
#include <gmock/gmock.h>

#include <bit>
#include <cmath>

#include "backends/cuda/print.h"
#include "backends/cuda/toolchain.h"
#include "base/small_float.h"
#include "import/import.h"

#define __device__
#define __forceinline__ inline

namespace kiln::cuda {
namespace {

namespace device_code {
float __uint_as_float(unsigned v) { return std::bit_cast<float>(v); }
unsigned __float_as_uint(float v) { return std::bit_cast<unsigned>(v); }
float __fadd_rn(float a, float b) { return a + b; }
unsigned atomicCAS(unsigned* p, unsigned expected, unsigned value) {
  unsigned old = *p;
  if (old == expected) *p = value;
  return old;
}
#include "backends/cuda/device/small_float.cu"
// The rest needs what stands above.
#include "backends/cuda/device/f4_e2m1.cu"
#include "backends/cuda/device/f6_e2m3.cu"
#include "backends/cuda/device/f6_e3m2.cu"
#include "backends/cuda/device/f8_e3m4.cu"
#include "backends/cuda/device/f8_e4m3b11fnuz.cu"
#include "backends/cuda/device/f8_e4m3fnuz.cu"
#include "backends/cuda/device/f8_e5m2fnuz.cu"
#include "backends/cuda/device/f8_e8m0fnu.cu"
#include "backends/cuda/device/four_bits.cu"
#include "backends/cuda/device/int4.cu"
}  // namespace device_code

struct Format {
  const char* dtype;
  float (*decode)(unsigned char);
  unsigned char (*encode)(float);
};
using namespace device_code;
const Format kFormats[] = {{"float4_e2m1fn", f4_e2m1_to_f32, f32_to_f4_e2m1},
                           {"float6_e2m3fn", f6_e2m3_to_f32, f32_to_f6_e2m3},
                           {"float6_e3m2fn", f6_e3m2_to_f32, f32_to_f6_e3m2},
                           {"float8_e3m4", f8_e3m4_to_f32, f32_to_f8_e3m4},
                           {"float8_e4m3b11fnuz", f8_e4m3b11fnuz_to_f32, f32_to_f8_e4m3b11fnuz},
                           {"float8_e4m3fnuz", f8_e4m3fnuz_to_f32, f32_to_f8_e4m3fnuz},
                           {"float8_e5m2fnuz", f8_e5m2fnuz_to_f32, f32_to_f8_e5m2fnuz},
                           {"float8_e8m0fnu", f8_e8m0fnu_to_f32, f32_to_f8_e8m0fnu}};

class CudaSmallFloat : public testing::TestWithParam<Format> {};

TEST_P(CudaSmallFloat, DecodesEveryCode) {
  ir::DataType t = *ir::parse_dtype(GetParam().dtype);
  for (unsigned code = 0; code < 1u << t.bits; ++code) {
    double expected = decode_float(t, code);
    float got = GetParam().decode(static_cast<unsigned char>(code));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(got)) << code;
    } else {
      EXPECT_EQ(got, expected) << code;
      EXPECT_EQ(std::signbit(got), std::signbit(expected)) << code;
    }
  }
}

TEST_P(CudaSmallFloat, EncodesAroundEveryBoundary) {
  ir::DataType t = *ir::parse_dtype(GetParam().dtype);
  auto check = [&](float x) { EXPECT_EQ(GetParam().encode(x), encode_float(t, x)) << x; };
  for (unsigned high = 0; high < 1u << 16; ++high) {  // every sign, exponent and 7 bits of the mantissa, and what lies beside it
    for (unsigned low : {0u, 1u, 0xFFFFu}) {
      float x = std::bit_cast<float>(high << 16 | low);
      if (std::isnan(x) && t.bits == 8 && t.code != ir::TypeCode::kFloat8E8M0FNU) {
        EXPECT_TRUE(std::isnan(decode_float(t, GetParam().encode(x))));
      } else {
        check(x);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, CudaSmallFloat, testing::ValuesIn(kFormats),
                         [](const auto& info) { return std::string(info.param.dtype); });

const char* kDtypes[] = {"bool",
                         "int8",
                         "int16",
                         "int32",
                         "int64",
                         "uint8",
                         "uint16",
                         "uint32",
                         "uint64",
                         "float16",
                         "bfloat16",
                         "float32",
                         "float64",
                         "float8_e4m3fn",
                         "float8_e5m2",
                         "float8_e3m4",
                         "float8_e4m3b11fnuz",
                         "float8_e4m3fnuz",
                         "float8_e5m2fnuz",
                         "float8_e8m0fnu"};
// Here from registers alone.
const char* kNarrow[] = {"int4", "uint4", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"};

std::string module_of(const std::string& from, const std::vector<std::string>& body) {
  std::string text =
      "@I.ir_module\nclass Module:\n    @T.prim_func\n    def k(A: T.handle(\"" + from +
      "\", \"global\"), B: T.handle(\"float64\", \"global\")):\n"
      "        T.func_attr({\"global_symbol\": \"k\", \"tirx.is_global_func\": True, \"tirx.kernel_launch_params\": [\"threadIdx.x\"]})\n"
      "        A_1 = T.decl_buffer((256,), \"" +
      from + "\", data=A)\n        B_1 = T.decl_buffer((256,), \"float64\", data=B)\n        tx = T.launch_thread(\"threadIdx.x\", 32)\n";
  for (const std::string& line : body) text += "        " + line + "\n";
  return text;
}

Result<Source> source(const std::string& from, const std::vector<std::string>& body, const Arch& arch) {
  auto module = parse_module(module_of(from, body), "k.py");
  if (!module) return module.error();
  return print_source(**module, arch);
}

TEST(CudaConversion, EveryPairCompiles) {
  Arch arch = *arch_of(*Target::parse("cuda -arch=sm_90a"));
  for (const char* from : kDtypes) {
    std::vector<std::string> body;
    int at = 0;
    auto line = [&](const std::string& to, int lanes) {
      std::string x = lanes > 1 ? "x" + std::to_string(lanes) : "", slot = std::to_string(8 * at++ % 200);
      std::string range = lanes > 1 ? "[" + slot + ":" + slot + " + " + std::to_string(lanes) + "]" : "[" + slot + "]";
      body.push_back("B_1" + range + " = T.Cast(\"float64" + x + "\", T.Cast(\"" + to + x + "\", A_1" + range + "))");
    };
    for (const char* to : kDtypes) line(to, 1), line(to, 3), line(to, 4);
    for (const char* to : kNarrow) line(to, 1), line(to, 2), line(to, 4);
    auto s = source(from, body, arch);
    ASSERT_TRUE(s.ok()) << from << ": " << s.error().to_string();
    auto ptx = artifacts_of(*s, arch).at("ptx")();
    EXPECT_TRUE(ptx.ok()) << from << ": " << ptx.error().to_string();
  }
}

TEST(CudaConversion, BytesAreTakenApartIntoFourBits) {
  Arch arch = *arch_of(*Target::parse("cuda -arch=sm_80"));
  auto s = source("uint8", {"B_1[0:2] = T.Cast(\"float64x2\", T.reinterpret(\"int4x2\", A_1[tx]))"}, arch);
  ASSERT_TRUE(s.ok()) << s.error().to_string();
  EXPECT_THAT(s->text, testing::HasSubstr("(double)to_i4("));
}

TEST(CudaConversion, IntegersBecomeFloat16InOneInstruction) {
  Arch arch = *arch_of(*Target::parse("cuda -arch=sm_80"));
  auto small = source("uint8", {"B_1[0] = T.Cast(\"float64\", T.Cast(\"float16\", A_1[tx]))"}, arch);
  ASSERT_TRUE(small.ok()) << small.error().to_string();
  EXPECT_THAT(small->text, testing::HasSubstr("u32_to_f16((unsigned)A[tx])"));
  auto wide = source("int32", {"B_1[0] = T.Cast(\"float64\", T.Cast(\"float16\", A_1[tx]))"}, arch);
  ASSERT_TRUE(wide.ok()) << wide.error().to_string();
  EXPECT_THAT(wide->text, testing::HasSubstr("i32_to_f16(A[tx])"));
}

TEST(CudaConversion, Float8BecomesFloat16WithoutAWayRound) {
  auto body = std::vector<std::string>{"B_1[0] = T.Cast(\"float64\", T.Cast(\"float16\", A_1[tx]))"};
  auto s = source("float8_e4m3fn", body, *arch_of(*Target::parse("cuda -arch=sm_89")));
  ASSERT_TRUE(s.ok()) << s.error().to_string();
  EXPECT_THAT(s->text, testing::HasSubstr("f8_e4m3_to_f16(A[tx])"));
  EXPECT_THAT(s->text, testing::HasSubstr("cvt.rn.f16x2.e4m3x2"));
}

// Elements of 4 bits: byte i of memory holds element 2i below element 2i + 1.
TEST(CudaPacked, WholeBytesAreCopiedAsBytes) {
  Arch arch = *arch_of(*Target::parse("cuda -arch=sm_80"));
  for (const char* dtype : {"int4", "uint4", "float4_e2m1fn"}) {
    auto s = source(dtype,
                    {"l = T.alloc_buffer((32,), \"" + std::string(dtype) + "\", scope=\"local\")", "l[0:32] = A_1[tx * 32:tx * 32 + 32]",
                     "B_1[0] = T.Cast(\"float64\", l[5])", "A_1[tx * 32:tx * 32 + 32] = l[0:32]"},
                    arch);
    ASSERT_TRUE(s.ok()) << s.error().to_string();
    EXPECT_THAT(s->text, testing::HasSubstr("k(unsigned char* A, ")) << "no element has a type of its own in memory";
    EXPECT_THAT(s->text, testing::HasSubstr("alignas(16) unsigned char l[16];"));
    EXPECT_THAT(s->text, testing::HasSubstr("*(uint4*)l = *(const uint4*)&A[tx * 16];"));
    EXPECT_THAT(s->text, testing::HasSubstr("*(uint4*)&A[tx * 16] = *(const uint4*)l;"));
    EXPECT_THAT(s->text, testing::HasSubstr("l[2] >> 4")) << "element 5 is the upper half of byte 2";
    ASSERT_EQ(s->kernels[0].params[0].dtype, *ir::parse_dtype(dtype)) << "what a caller hands over";
    auto cubin = artifacts_of(*s, arch).at("cubin")();
    EXPECT_TRUE(cubin.ok()) << cubin.error().to_string();
  }
}

TEST(CudaPacked, AStoreOfHalfAByteLeavesTheOtherHalf) {
  Arch arch = *arch_of(*Target::parse("cuda -arch=sm_75"));
  auto s = source("int4",
                  {"s = T.alloc_buffer((64,), \"int4\", scope=\"shared\")", "l = T.alloc_buffer((8,), \"int4\", scope=\"local\")",
                   "l[3] = T.Cast(\"int4\", tx)", "s[tx] = l[3]", "A_1[tx * 2 + 1] = s[tx + 1]", "A_1[tx:tx + 3] = l[0:3]",
                   "l[0:4] = T.Cast(\"int4x4\", A_1[T.Ramp(0, 3, 4)])"},
                  arch);
  ASSERT_TRUE(s.ok()) << s.error().to_string();
  EXPECT_THAT(s->text, testing::HasSubstr("set_four_bits(&l[1], 1, "));
  EXPECT_THAT(s->text, testing::HasSubstr("set_four_bits_atomic(&s[tx >> 1], tx & 1, "));
  EXPECT_THAT(s->text, testing::HasSubstr("set_four_bits_atomic(&A[tx], 1, "));
  auto cubin = artifacts_of(*s, arch).at("cubin")();
  EXPECT_TRUE(cubin.ok()) << cubin.error().to_string();
}

TEST(CudaPacked, HalvesOfBytesAreSetAlone) {
  alignas(4) unsigned char bytes[8] = {0x12, 0x34, 0x56, 0x78, 0x9A, 0xBC, 0xDE, 0xF0};
  device_code::set_four_bits(bytes + 1, 0, 0xF);
  device_code::set_four_bits(bytes + 1, 1, 0xA);
  device_code::set_four_bits_atomic(bytes + 3, 0, 0xB);
  device_code::set_four_bits_atomic(bytes + 6, 1, 0x1);
  const unsigned char expected[8] = {0x12, 0xAF, 0x56, 0x7B, 0x9A, 0xBC, 0x1E, 0xF0};
  EXPECT_TRUE(std::equal(bytes, bytes + 8, expected));
  EXPECT_EQ(device_code::to_i4(0x18), -8);
  EXPECT_EQ(device_code::to_i4(7), 7);
  EXPECT_EQ(device_code::to_u4(-1), 15);
}

TEST(CudaPacked, VectorsAsElementsAreRefused) {
  Arch arch = *arch_of(*Target::parse("cuda -arch=sm_80"));
  auto s = source("int4", {"v = T.alloc_buffer((4,), \"int4x8\", scope=\"local\")", "B_1[0] = T.float64(0.0)"}, arch);
  ASSERT_FALSE(s.ok());
  EXPECT_THAT(s.error().to_string(), testing::HasSubstr("no buffer 'v' of vectors 'int4x8' on sm_80 (load bytes and reinterpret them)"));
}

}  // namespace
}  // namespace kiln::cuda
