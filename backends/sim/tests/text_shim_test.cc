// Texts of CUDA C++ run on the host: what their instructions and functions do.
#include <gmock/gmock.h>

#include <bit>
#include <cmath>

#include "backends/sim/shim/codegen.h"
#include "base/small_float.h"
#include "cases/run.h"

namespace kiln::sim {
namespace {

using runtime::Fault;
using runtime::Slot;

struct Shape {
  int64_t blocks = 1, threads = 32, dynamic_bytes = 0;
};

Source source_of(std::string text) {
  KernelInfo k;
  k.name = k.symbol = "kernel";
  k.launch_params = {"blockIdx.x", "threadIdx.x", "tirx.use_dyn_shared_memory"};
  Source s;
  s.text = std::move(text);
  s.kernels = {k};
  return s;
}

// Runs `extern "C" __global__ void kernel(...)` of the text; each argument is a pointer.
Fault run(const std::string& text, std::vector<void*> pointers, Shape shape = {}) {
  auto launcher = make_text_launcher(source_of(text));
  if (!launcher.ok()) return {"Error", launcher.error().to_string()};
  std::vector<void*> args;
  for (void*& p : pointers) args.push_back(&p);
  Slot values[3];
  values[0].integer = shape.blocks, values[1].integer = shape.threads, values[2].integer = shape.dynamic_bytes;
  return (*launcher)->launch(0, args.data(), values, 0);
}

std::string error_of(const std::string& text) { return run(text, {}).message; }

bool same_float(float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (std::isnan(a) && std::isnan(b)); }

TEST(TextShim, ConvertsAndAddsSmallFloats) {
  const std::string text = R"(
extern "C" __global__ void kernel(float* wide, unsigned short* sum, unsigned short* bsum, unsigned short* back) {
  unsigned short h = blockIdx.x * 256 + threadIdx.x, other = h * 40503, r;
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
  wide[h] = x;
  asm("add.rn.f16 %0, %1, %2;" : "=h"(r) : "h"(h), "h"(other));
  sum[h] = r;
  asm("add.rn.bf16 %0, %1, %2;" : "=h"(r) : "h"(h), "h"(other));
  bsum[h] = r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(__uint_as_float(h * 65537u + 12345u)));
  back[h] = r;
})";
  std::vector<float> wide(65536);
  std::vector<uint16_t> sum(65536), bsum(65536), back(65536);
  Fault f = run(text, {wide.data(), sum.data(), bsum.data(), back.data()}, {256, 256});
  ASSERT_FALSE(f) << f.message;
  auto decode = [](ir::DataType t, uint64_t bits) { return decode_float(t, bits); };
  auto check = [&](ir::DataType t, uint16_t got, double value, uint32_t i) {
    auto want = static_cast<uint16_t>(encode_float_literal(t, value));
    bool both_nan = std::isnan(decode(t, got)) && std::isnan(value);
    ASSERT_TRUE(got == want || both_nan) << "element " << i << ": " << got << " instead of " << want;
  };
  for (uint32_t i = 0; i < 65536; ++i) {
    auto other = static_cast<uint16_t>(i * 40503);
    ASSERT_TRUE(same_float(wide[i], static_cast<float>(decode(ir::kFloat16, i)))) << i;
    check(ir::kFloat16, sum[i], decode(ir::kFloat16, i) + decode(ir::kFloat16, other), i);
    check(ir::kBFloat16, bsum[i], decode(ir::kBFloat16, i) + decode(ir::kBFloat16, other), i);
    check(ir::kFloat16, back[i], std::bit_cast<float>(i * 65537u + 12345u), i);
  }
}

TEST(TextShim, RoundsAsItIsTold) {
  const std::string text = R"(
extern "C" __global__ void kernel(float* out, long long* whole) {
  if (threadIdx.x) return;
  float one = 1.0f, tiny = 0x1p-40f;
  out[0] = __fadd_rn(one, tiny), out[1] = __fadd_ru(one, tiny), out[2] = __fadd_rd(one, -tiny), out[3] = __fadd_rz(-one, tiny);
  out[4] = __double2float_rd(-0.1), out[5] = __double2float_ru(-0.1), out[6] = __double2float_rz(-0.0);
  out[7] = __int2float_rz(16777219), out[8] = __fdiv_ru(1.0f, 3.0f), out[9] = __fmaf_rd(one, one, -tiny);
  whole[0] = __float2int_rn(2.5f), whole[1] = __float2int_ru(-2.5f), whole[2] = __float2int_rz(3e9f), whole[3] = __float2uint_rz(-1.0f);
  whole[4] = __float2ll_rd(-1.5f), whole[5] = __double2int_rz(__longlong_as_double(0x7FF8000000000000));
})";
  float out[10];
  long long whole[6];
  Fault f = run(text, {out, whole});
  ASSERT_FALSE(f) << f.message;
  EXPECT_THAT(out, testing::ElementsAre(1.0f, 0x1.000002p0f, 0x1.fffffep-1f, -0x1.fffffep-1f, -0x1.99999ap-4f, -0x1.999998p-4f, 0.0f,
                                        16777218.0f, 0x1.555556p-2f, 0x1.fffffep-1f));
  EXPECT_TRUE(std::signbit(out[6]));
  EXPECT_THAT(whole, testing::ElementsAre(2, -2, 2147483647, 0, -2, 0));
}

TEST(TextShim, LanesOfAWarpMeet) {
  const std::string text = R"(
extern "C" __global__ void kernel(int* out) {
  int lane = threadIdx.x, v = lane * lane;
  int* o = out + lane * 10;
  o[0] = __shfl_xor_sync(0xFFFFFFFF, v, 5);
  o[1] = __shfl_up_sync(0xFFFFFFFF, v, 3, 8);
  o[2] = __shfl_down_sync(0xFFFFFFFF, v, 2, 16);
  o[3] = __shfl_sync(0xFFFFFFFF, v, 9, 8);
  o[4] = __ballot_sync(0xFFFFFFFF, lane % 3 == 0);
  o[5] = __match_any_sync(0xFFFFFFFF, lane / 4);
  o[6] = __reduce_add_sync(0xFFFFFFFF, v);
  if (lane < 16) o[7] = __shfl_xor_sync(0x0000FFFF, v, 1);
  else o[7] = __any_sync(0xFFFF0000, lane == 20);
  unsigned first;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xFFFFFFFF;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(first));
  o[8] = first;
  double d = __shfl_xor_sync(0xFFFFFFFF, (double)lane, 1);
  o[9] = (int)d;
})";
  std::vector<int> out(320);
  Fault f = run(text, {out.data()});
  ASSERT_FALSE(f) << f.message;
  uint32_t thirds = 0;
  int squares = 0;
  for (int l = 0; l < 32; ++l) thirds |= l % 3 == 0 ? 1u << l : 0, squares += l * l;
  auto square = [](int l) { return l * l; };
  for (int l = 0; l < 32; ++l) {
    const int* o = out.data() + l * 10;
    EXPECT_EQ(o[0], square(l ^ 5));
    EXPECT_EQ(o[1], square(l % 8 < 3 ? l : l - 3));
    EXPECT_EQ(o[2], square(l % 16 > 13 ? l : l + 2));
    EXPECT_EQ(o[3], square(l / 8 * 8 + 1));
    EXPECT_EQ(static_cast<uint32_t>(o[4]), thirds);
    EXPECT_EQ(static_cast<uint32_t>(o[5]), 15u << (l / 4 * 4));
    EXPECT_EQ(o[6], squares);
    EXPECT_EQ(o[7], l < 16 ? square(l ^ 1) : 1);
    EXPECT_EQ(o[8], l == 0);
    EXPECT_EQ(o[9], l ^ 1);
  }
}

TEST(TextShim, SharedMemoryIsTheBlocks) {
  const std::string text = R"(
extern __shared__ __align__(1024) unsigned char dynamic_shared[];
extern "C" __global__ void kernel(int* out, int* address) {
  __shared__ alignas(16) int fixed[64];
  __shared__ float total;
  int* changing = (int*)dynamic_shared;
  int i = threadIdx.x;
  fixed[i] = blockIdx.x * 100 + i;
  changing[i] = -fixed[i];
  if (i == 0) total = 0;
  __syncthreads();
  atomicAdd(&total, (float)i);
  __syncthreads();
  out[blockIdx.x * 64 + i] = fixed[63 - i] - changing[i ^ 1] + (int)total;
  if (i == 0) *address = __cvta_generic_to_shared(dynamic_shared) % 1024;
})";
  std::vector<int> out(256);
  int address = -1;
  Fault f = run(text, {out.data(), &address}, {4, 64, 256});
  ASSERT_FALSE(f) << f.message;
  EXPECT_EQ(address, 0);
  for (int i = 0; i < 256; ++i) {
    int block = i / 64 * 100, t = i % 64;
    EXPECT_EQ(out[i], (block + 63 - t) + (block + (t ^ 1)) + 63 * 64 / 2) << i;
  }
}

// The first warp hands numbers to the second through one slot, by two mbarriers and their phases.
TEST(TextShim, WarpsWaitForPhasesOfMbarriers) {
  const std::string text = R"(
__device__ __forceinline__ unsigned address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void arrive(void* b) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(b)) : "memory"); }
__device__ __forceinline__ void wait(void* b, int parity) {
  asm volatile("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}" ::"r"(address(b)),
               "r"(parity)
               : "memory");
}
extern "C" __global__ void kernel(int* out) {
  __shared__ unsigned long long full;
  __shared__ unsigned long long empty;
  __shared__ int slot[32];
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(&full)), "r"(32) : "memory");
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(&empty)), "r"(32) : "memory");
  }
  __syncthreads();
  int lane = threadIdx.x % 32, sum = 0;
  for (int i = 0; i < 5; ++i) {
    if (threadIdx.x < 32) {
      wait(&empty, (i & 1) ^ 1);
      slot[lane] = (i + 1) * lane;
      arrive(&full);
    } else {
      wait(&full, i & 1);
      sum = sum * 2 + slot[31 - lane];
      arrive(&empty);
    }
  }
  if (threadIdx.x >= 32) out[lane] = sum;
})";
  int out[32];
  Fault f = run(text, {out}, {1, 64});
  ASSERT_FALSE(f) << f.message;
  for (int l = 0; l < 32; ++l) EXPECT_EQ(out[l], (16 + 2 * 8 + 3 * 4 + 4 * 2 + 5) * (31 - l));
}

TEST(TextShim, BlocksUpdateMemoryAtomically) {
  const std::string text = R"(
extern "C" __global__ void kernel(unsigned* sum, float* pair, unsigned short* half, unsigned* most) {
  unsigned before;
  asm volatile("atom.relaxed.gpu.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(sum), "r"(threadIdx.x) : "memory");
  asm volatile("red.relaxed.gpu.global.add.v2.f32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(pair)), "f"(1.0f), "f"(0.5f) : "memory");
  asm volatile("atom.relaxed.gpu.add.noftz.f16 %0, [%1], %2;" : "=h"(*(unsigned short*)&before) : "l"(half), "h"((unsigned short)0x3C00) : "memory");
  atomicMax(most, blockIdx.x * 1000 + threadIdx.x);
})";
  uint32_t sum = 7, most = 0;
  float pair[2] = {0, 0};
  uint16_t half = 0;
  Fault f = run(text, {&sum, pair, &half, &most}, {8, 64});
  ASSERT_FALSE(f) << f.message;
  EXPECT_EQ(sum, 7u + 8 * (63 * 64 / 2));
  EXPECT_EQ(pair[0], 512.0f);
  EXPECT_EQ(pair[1], 256.0f);
  EXPECT_EQ(half, 0x6000);  // 512
  EXPECT_EQ(most, 7063u);
}

TEST(TextShim, NamesWhatItDoesNotKnow) {
  EXPECT_EQ(error_of("extern \"C\" __global__ void kernel() {\n  asm volatile(\"frobnicate.sync.b32 %0;\" ::\"r\"(1));\n}\n"),
            "source.cu:2: the text shim does not know the instruction 'frobnicate.sync.b32'");
  EXPECT_EQ(error_of("extern \"C\" __global__ void kernel() {\n\n  unsigned x;\n  asm(\"mov.u32 %0, %%envreg31;\" : \"=r\"(x));\n}\n"),
            "source.cu:4: the text shim does not know the special register '%envreg31'");
  EXPECT_THAT(error_of("extern \"C\" __global__ void kernel() { asm(\"mov.u32 %0, ;\" :: \"r\"(1)); }"),
              testing::HasSubstr("the inline assembly 'mov.u32 %0, ;' is not understood"));
  EXPECT_THAT(error_of("extern \"C\" __global__ void kernel() {\n  undeclared();\n}\n"), testing::StartsWith("source.cu:2:"));
}

TEST(TextShim, LanesThatMissEachOtherAreAnError) {
  const std::string text = R"(
extern "C" __global__ void kernel() {
  if (threadIdx.x == 3) return;
  if (threadIdx.x % 2) __syncwarp();
  else __shfl_sync(0xFFFFFFFF, 1, 0);
})";
  EXPECT_THAT(run(text, {}).message, testing::HasSubstr("the threads of a warp wait for each other"));
}

TEST(TextShim, ATrapEndsTheLaunch) {
  EXPECT_THAT(run("extern \"C\" __global__ void kernel() { if (threadIdx.x == 5) __trap(); }", {}).message, testing::HasSubstr("trap"));
}

// Real modules, one of each family of instructions; all of them run in an integration test.
class TextShimCase : public testing::TestWithParam<const char*> {};

TEST_P(TextShimCase, GivesTheExpectedOutputs) {
  cases::RunOptions options;
  options.device = "sim", options.codegen = "cuda_text";
  cases::Outcome o = cases::run_case(KILN_SOURCE_DIR "/tests/corpus/" + std::string(GetParam()), options);
  EXPECT_EQ(o.state, cases::Outcome::State::kPassed) << o.reason;
  EXPECT_EQ(o.codegen, "cuda_text");
}

INSTANTIATE_TEST_SUITE_P(Corpus, TextShimCase,
                         testing::Values("corpus/cuda_sm75/gemm_f16_f32", "corpus/cuda_sm80/gemm_i8_i32", "corpus/cuda_sm80/softmax_f32",
                                         "corpus/cuda_sm80/histogram_shared_atomic", "corpus/cuda_sm89/gemm_fp8_e4m3",
                                         "corpus/cuda_sm90a/gemm_f16_f32", "corpus/cuda_sm90a/gemm_bf16",
                                         "corpus/cuda_sm90a/flash_attn_fwd", "corpus/cuda_sm90a/conv2d_im2col_tma",
                                         "corpus/cuda_sm90a/cluster_rank", "corpus/cuda_sm90a/tma_copy_store",
                                         "corpus_tvm/cuda_sm80/wmma_f16"));

}  // namespace
}  // namespace kiln::sim
