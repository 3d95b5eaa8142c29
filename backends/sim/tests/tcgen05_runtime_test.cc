// Tensor memory in a running kernel: allocation that waits, products that are done later, and what goes wrong.
#include <gtest/gtest.h>

#include <cstring>

#include "backends/sim/runtime/tcgen05_operations.h"
#include "backends/sim/tests/fill.h"
#include "backends/sim/tests/runtime.h"

namespace kiln::sim {
namespace {

constexpr int kM = 128, kN = 16, kK = 16;
constexpr uint64_t kLeading = 2048, kStride = 128, kStartB = 8192;  // without swizzle: eight lines of 16 bytes together
constexpr uint64_t kDescriptor = kLeading / 16 << 16 | kStride / 16 << 32 | uint64_t{1} << 46;

int value_a(int i, int k) { return small_value(1, i * 100 + k); }
int value_b(int j, int k) { return small_value(2, j * 100 + k); }

void put_operand(char* shared, int line, int k, int value) {
  put(shared + line / 8 * kStride + line % 8 * 16 + k / 8 * kLeading, k % 8, static_cast<uint16_t>(bits_of_small("f16", value)));
}

// args[0]: float[128][16], the product.
void product(sim_warp* w, void* const* args) {
  const sim_api* sim = w->sim;
  char* barrier = w->shared + 16384;
  auto* address = reinterpret_cast<uint32_t*>(w->shared + 16400);
  if (w->warp == 0) {
    sim->tcgen05_alloc(w, ~0u, address, 32, 1);
    sim->mbarrier_init(w, 0, barrier, 1, 1);
    for (int k = 0; k < kK; ++k) {
      for (int i = 0; i < kM; ++i) put_operand(w->shared, i, k, value_a(i, k));
      for (int j = 0; j < kN; ++j) put_operand(w->shared + kStartB, j, k, value_b(j, k));
    }
  }
  sim->barrier_sync(w, ~0u, 0, 0, 1);
  if (w->warp == 0) {
    sim_tcgen05_mma in = {};
    in.d = *address, in.a = kDescriptor, in.b = kDescriptor + kStartB / 16;
    in.instruction = 1 << 4 | kN / 8 << 17 | kM / 16 << 24;
    sim->tcgen05_mma(w, 5, w->forms[0], &in, 2);
    in.keep = 1;
    sim->tcgen05_mma(w, 5, w->forms[0], &in, 2);
    sim->tcgen05_commit(w, 5, barrier, 0, 2);
  }
  sim->mbarrier_wait_parity(w, ~0u, barrier, 0, 3);
  float registers[32][kN];
  sim_lanes lanes;
  for (int l = 0; l < 32; ++l) lanes.at[l] = registers[l];
  sim->tcgen05_move(w, ~0u, w->forms[1], *address + static_cast<uint32_t>(w->warp * 32 << 16), &lanes, 3);
  std::memcpy(static_cast<float*>(args[0]) + w->warp * 32 * kN, registers, sizeof registers);
  sim->barrier_sync(w, ~0u, 0, 0, 3);
  if (w->warp == 0) sim->tcgen05_dealloc(w, ~0u, *address, 32, 3);
}

TEST(SimTcgen05, ProductsAreThereAfterTheCommit) {
  auto mma = make_tcgen05_form("tcgen05.mma.cta_group::1.kind::f16");
  auto load = make_tcgen05_form("tcgen05.ld.sync.aligned.32x32b.x16.b32");
  ASSERT_TRUE(mma.ok() && load.ok());
  const void* forms[] = {mma->get(), load->get()};
  for (uint64_t seed = 0; seed < 4; ++seed) {
    std::vector<float> out(kM * kN, -1);
    test::Config config;
    config.block.x = 128, config.shared_bytes = 20000, config.seed = seed, config.forms = forms;
    ASSERT_EQ(test::error_of(test::run(product, config, {out.data()})), "");
    for (int i = 0; i < kM; ++i) {
      for (int j = 0; j < kN; ++j) {
        int sum = 0;
        for (int k = 0; k < kK; ++k) sum += value_a(i, k) * value_b(j, k);
        ASSERT_EQ(out[i * kN + j], static_cast<float>(2 * sum)) << i << " " << j;
      }
    }
  }
}

// Two warps take all columns, one after the other.
void take_turns(sim_warp* w, void* const* args) {
  const sim_api* sim = w->sim;
  auto* address = reinterpret_cast<uint32_t*>(w->shared) + w->warp;
  sim->tcgen05_alloc(w, ~0u, address, 512, 1);
  ++*static_cast<int*>(args[0]);
  sim->tcgen05_dealloc(w, ~0u, *address, 512, 1);
}
void take_too_much(sim_warp* w, void* const*) {
  auto* address = reinterpret_cast<uint32_t*>(w->shared);
  w->sim->tcgen05_alloc(w, ~0u, address, 512, 1);
  w->sim->tcgen05_alloc(w, ~0u, address, 32, 2);
}
void take_an_odd_number(sim_warp* w, void* const*) { w->sim->tcgen05_alloc(w, ~0u, reinterpret_cast<uint32_t*>(w->shared), 33, 2); }

TEST(SimTcgen05, AllocationWaitsForRoom) {
  test::Config config;
  config.block.x = 64, config.shared_bytes = 64;
  int turns = 0;
  ASSERT_EQ(test::error_of(test::run(take_turns, config, {&turns})), "");
  EXPECT_EQ(turns, 2);
  config.block.x = 32;
  std::string stuck = test::error_of(test::run(take_too_much, config));
  EXPECT_NE(stuck.find("deadlock"), stuck.npos) << stuck;
  EXPECT_NE(stuck.find("waits for columns of tensor memory"), stuck.npos) << stuck;
  std::string odd = test::error_of(test::run(take_an_odd_number, config));
  EXPECT_NE(odd.find("tcgen05.alloc takes 32, 64, 128, 256 or 512 columns, and not 33"), odd.npos) << odd;
}

}  // namespace
}  // namespace kiln::sim
