// The generator of random numbers, run here as C++.
#include <gmock/gmock.h>

#include <cmath>

#define __device__
#define __forceinline__ inline

namespace kiln::cuda {
namespace {

namespace device_code {
unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32); }
void __sincosf(float x, float* sine, float* cosine) { *sine = std::sin(x), *cosine = std::cos(x); }
void sincospi(double x, double* sine, double* cosine) { *sine = std::sin(M_PI * x), *cosine = std::cos(M_PI * x); }
#include "backends/cuda/device/philox.cu"
}  // namespace device_code
using namespace device_code;

std::vector<unsigned> draws(unsigned long long seed, unsigned long long sequence, unsigned long long offset, int count) {
  philox r{};
  random_init(r, seed, sequence, offset);
  std::vector<unsigned> all;
  for (int i = 0; i < count; ++i) all.push_back(random_u32(r));
  return all;
}

// The known answers of Random123 1.14 (kat_vectors, philox4x32 10). The counter's lower half counts blocks of four.
TEST(CudaRandom, PhiloxGivesTheKnownAnswers) {
  EXPECT_THAT(draws(0, 0, 0, 4), testing::ElementsAre(0x6627E8D5u, 0xE169C58Du, 0xBC57AC4Cu, 0x9B00DBD8u));
  philox r{};
  random_init(r, 0x299F31D0A4093822, 0x0370734413198A2E, 0);
  r.block = 0x85A308D3243F6A88;
  philox_block(r);
  EXPECT_THAT(r.words, testing::ElementsAre(0xD16CFE09u, 0x94FDCCEBu, 0x5001E420u, 0x24126EA1u));
  random_init(r, ~0ull, ~0ull, 0);
  r.block = ~0ull;
  philox_block(r);
  EXPECT_THAT(r.words, testing::ElementsAre(0x408F276Du, 0x41C83B0Eu, 0xA20BC7C6u, 0x6D5451FDu));
}

TEST(CudaRandom, AnOffsetSkipsNumbers) {
  std::vector<unsigned> all = draws(42, 5, 0, 16);
  for (int skip : {1, 3, 4, 6, 9}) {
    EXPECT_EQ(draws(42, 5, static_cast<unsigned long long>(skip), 7), std::vector<unsigned>(all.begin() + skip, all.begin() + skip + 7));
  }
  EXPECT_NE(draws(42, 6, 0, 4), std::vector<unsigned>(all.begin(), all.begin() + 4));
}

TEST(CudaRandom, FloatsAreMadeOfTheWords) {
  std::vector<unsigned> w = draws(42, 5, 0, 8);
  philox r{};
  random_init(r, 42, 5, 0);
  EXPECT_EQ(random_uniform_f32(r), static_cast<float>(w[0]) * 0x1p-32f + 0x1p-33f);
  EXPECT_EQ(random_uniform_f64(r), (w[1] + 1.0) * 0x1p-32);
  EXPECT_EQ(random_uniform_pair_f64(r), static_cast<double>(w[2] ^ static_cast<unsigned long long>(w[3]) << 21) * 0x1p-53 + 0x1p-54);
  double length = std::sqrt(-2 * std::log((w[4] + 0.5) * 0x1p-32)), angle = 2 * M_PI * (w[5] + 0.5) * 0x1p-32;
  EXPECT_NEAR(random_normal_f32(r), length * std::sin(angle), 1e-5);
  EXPECT_NEAR(random_normal_f32(r), length * std::cos(angle), 1e-5);
  EXPECT_EQ(random_u32(r), w[6]);
}

TEST(CudaRandom, NormalValuesHaveMeanZeroAndVarianceOne) {
  philox r{};
  random_init(r, 1, 2, 3);
  double sum = 0, squares = 0;
  constexpr int kCount = 20000;
  for (int i = 0; i < kCount; ++i) {
    double x = random_normal_f64(r);
    sum += x, squares += x * x;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.03);
  EXPECT_NEAR(squares / kCount, 1, 0.04);
}

}  // namespace
}  // namespace kiln::cuda
