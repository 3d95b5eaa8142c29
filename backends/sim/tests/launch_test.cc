// Launches: which warps run, on which thread, in which order; how kernels end.
#include "backends/sim/runtime/launch.h"

#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <numeric>
#include <set>
#include <thread>

#include "backends/sim/runtime/sanitizer.h"
#include "backends/sim/tests/runtime.h"

namespace kiln::sim::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(SimLaunch, EveryThreadRunsOnceAndKnowsWhereItIs) {
  // 3 x 2 x 2 blocks of 5 x 4 x 3 = 60 threads: the second warp of a block has 28 lanes.
  std::vector<int> count(3 * 2 * 2 * 60);
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    auto* out = static_cast<int*>(args[0]);
    int block = (w->block_z * w->grid_dim_y + w->block_y) * w->grid_dim_x + w->block_x;
    each_lane(w->lanes, [&](int l) {
      int thread = (w->thread_z[l] * w->block_dim_y + w->thread_y[l]) * w->block_dim_x + w->thread_x[l];
      if (thread == thread_of(w, l)) ++out[block * 60 + thread];
    });
  };
  for (int threads : {1, 3}) {
    EXPECT_EQ(error_of(run(kernel, {.grid = {3, 2, 2}, .block = {5, 4, 3}, .threads = threads}, {count.data()})), "");
  }
  EXPECT_EQ(count, std::vector<int>(720, 2));
}

TEST(SimLaunch, ManyEmptyBlocks) {
  EXPECT_EQ(error_of(run([](sim_warp*, void* const*) {}, {.grid = {20000, 1, 1}, .threads = 2})), "");
}

TEST(SimLaunch, ImpossibleDimensionsAreRefused) {
  sim_kernel nothing = [](sim_warp*, void* const*) {};
  EXPECT_THAT(error_of(run(nothing, {.grid = {0, 1, 1}})), HasSubstr("a grid of (0, 1, 1) blocks cannot be launched"));
  EXPECT_THAT(error_of(run(nothing, {.block = {2048, 1, 1}})), HasSubstr("a block of (2048, 1, 1) threads cannot be launched"));
  EXPECT_THAT(error_of(run(nothing, {.grid = {3, 1, 1}, .cluster = {2, 1, 1}})), HasSubstr("does not consist of clusters of (2, 1, 1)"));
  EXPECT_THAT(error_of(run(nothing, {.shared_bytes = 1 << 20})), HasSubstr("a block cannot have 1048576 bytes of shared memory"));
}

// The order in which warps take a number, by a counter in global memory.
std::vector<int> order(uint64_t seed) {
  std::vector<int> taken(8);
  int next = 0;
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    w->sim->barrier_sync(w, w->live, 0, 0, 1);
    static_cast<int*>(args[0])[w->warp] = (*static_cast<int*>(args[1]))++;
  };
  EXPECT_EQ(error_of(run(kernel, {.block = {256, 1, 1}, .seed = seed}, {taken.data(), &next})), "");
  return taken;
}

TEST(SimLaunch, ASeedGivesAnOrderAndOthersGiveOthers) {
  std::set<std::vector<int>> orders;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    EXPECT_EQ(order(seed), order(seed));
    orders.insert(order(seed));
  }
  EXPECT_GE(orders.size(), 7u);
}

TEST(SimLaunch, ABlocksOrderDoesNotDependOnTheNumberOfThreads) {
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    w->sim->barrier_sync(w, w->live, 0, 0, 1);
    auto* counter = reinterpret_cast<int*>(w->shared);
    if (w->warp == 0) *counter = 0;
    w->sim->barrier_sync(w, w->live, 0, 0, 2);
    static_cast<int*>(args[0])[w->block_x * 8 + w->warp] = (*counter)++;
  };
  std::vector<int> one(64 * 8), four(64 * 8);
  EXPECT_EQ(error_of(run(kernel, {.grid = {64, 1, 1}, .block = {256, 1, 1}, .shared_bytes = 16, .seed = 5}, {one.data()})), "");
  EXPECT_EQ(error_of(run(kernel, {.grid = {64, 1, 1}, .block = {256, 1, 1}, .shared_bytes = 16, .seed = 5, .threads = 4}, {four.data()})),
            "");
  EXPECT_EQ(one, four);
}

TEST(SimLaunch, SharedMemoryIsPoisonedForEachBlock) {
  std::vector<int> bad(100);
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    for (uint32_t i = 0; i < w->shared_bytes; ++i)
      static_cast<int*>(args[0])[w->block_x] += static_cast<unsigned char>(w->shared[i]) != 0xFF;
    for (uint32_t i = 0; i < w->shared_bytes; ++i) w->shared[i] = 0;
  };
  EXPECT_EQ(error_of(run(kernel, {.grid = {100, 1, 1}, .shared_bytes = 1000}, {bad.data()})), "");
  EXPECT_EQ(bad, std::vector<int>(100, 0));
}

TEST(SimLaunch, ATrapSaysWhere) {
  sim_kernel kernel = [](sim_warp* w, void* const*) {
    if (w->warp == 1 && w->block_x == 2) w->sim->trap(w, 7, 2);
  };
  EXPECT_EQ(error_of(run(kernel, {.grid = {3, 1, 1}, .block = {64, 1, 1}})),
            "k.py:2: kernel 'k': the kernel stopped itself (trap) [block (2, 0, 0), warp 1, lane 7]");
}

TEST(SimLaunch, AnAssertionSaysWhat) {
  sim_kernel kernel = [](sim_warp* w, void* const*) { w->sim->fail(w, 0, "n > 0", 3); };
  EXPECT_EQ(error_of(run(kernel, {})), "k.py:3: kernel 'k': assertion failed: n > 0 [block (0, 0, 0), warp 0, lane 0]");
}

TEST(SimLaunch, WhatKernelsPrintComesInTheOrderOfBlocks) {
  sim_kernel kernel = [](sim_warp* w, void* const*) {
    sim_value values[] = {
        {SIM_VALUE_INT, {.i = w->block_x}}, {SIM_VALUE_FLOAT, {.f = 1.5}}, {SIM_VALUE_TEXT, {.p = "text"}}, {SIM_VALUE_UINT, {.u = ~0ull}}};
    w->sim->print(w, 0, "block %d: %6.2f %s %x 100%%\n", values, 4);
  };
  testing::internal::CaptureStdout();
  EXPECT_EQ(error_of(run(kernel, {.grid = {3, 1, 1}, .threads = 3})), "");
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "block 0:   1.50 text ffffffff 100%\nblock 1:   1.50 text ffffffff 100%\nblock 2:   1.50 text ffffffff 100%\n");
}

TEST(SimLaunch, AFormatThatAsksForMoreThanThereIsReadsZero) {
  sim_kernel kernel = [](sim_warp* w, void* const*) { w->sim->print(w, 0, "%d %n %s %*d %", nullptr, 0); };
  testing::internal::CaptureStdout();
  EXPECT_EQ(error_of(run(kernel, {})), "");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "0  (not a text) 0 ");
}

TEST(SimLaunch, SetMaxRegistersTakesMultiplesOf8) {
  EXPECT_EQ(error_of(run([](sim_warp* w, void* const*) { w->sim->set_max_registers(w, kAll, 240, 1, 1); }, {})), "");
  EXPECT_THAT(error_of(run([](sim_warp* w, void* const*) { w->sim->set_max_registers(w, kAll, 100, 0, 1); }, {})),
              HasSubstr("setmaxnreg to 100 registers: their number must be a multiple of 8 from 24 to 256"));
}

// A block waits for a flag that the next one sets: blocks that only spin leave their thread to others.
TEST(SimLaunch, ABlockMayWaitForALaterOne) {
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    auto* flags = static_cast<int32_t*>(args[0]);
    int32_t flag = 0, one = 1;
    while (w->block_x + 1 < w->grid_dim_x && !flag)
      w->sim->atomic(w, 0, SIM_LOAD, SIM_S32, &flags[w->block_x + 1], nullptr, nullptr, &flag, SIM_ACQUIRE, SIM_SCOPE_GPU, 1);
    w->sim->atomic(w, 0, SIM_STORE, SIM_S32, &flags[w->block_x], &one, nullptr, nullptr, SIM_RELEASE, SIM_SCOPE_GPU, 2);
  };
  for (int threads : {1, 3}) {
    std::vector<int32_t> flags(50);
    EXPECT_EQ(error_of(run(kernel, {.grid = {50, 1, 1}, .threads = threads}, {flags.data()})), "");
    EXPECT_EQ(flags, std::vector<int32_t>(50, 1));
  }
}

TEST(SimLaunch, WaitingForAFlagThatNoOneSetsEnds) {
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    for (int32_t flag = 0; !flag;) w->sim->atomic(w, 0, SIM_LOAD, SIM_S32, args[0], nullptr, nullptr, &flag, SIM_ACQUIRE, SIM_SCOPE_GPU, 2);
  };
  int32_t flag = 0;
  EXPECT_THAT(
      error_of(run(kernel, {.grid = {4, 1, 1}, .threads = 2, .patience = 0.02}, {&flag})),
      testing::MatchesRegex("k.py:2: kernel 'k': deadlock: no warp can go on: block \\([0-3], 0, 0\\), warp 0 looks again and again for "
                            "something that does not come at k.py:2"));
}

TEST(SimLaunch, WaitingForABlockThatComputesForLongIsNoDeadlock) {
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    int32_t flag = 0, one = 1;
    if (w->block_x == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
      w->sim->atomic(w, 0, SIM_STORE, SIM_S32, args[0], &one, nullptr, nullptr, SIM_RELEASE, SIM_SCOPE_GPU, 1);
    }
    while (!flag) w->sim->atomic(w, 0, SIM_LOAD, SIM_S32, args[0], nullptr, nullptr, &flag, SIM_ACQUIRE, SIM_SCOPE_GPU, 2);
  };
  int32_t flag = 0;
  EXPECT_EQ(error_of(run(kernel, {.grid = {3, 1, 1}, .threads = 2, .patience = 0.005}, {&flag})), "");
}

TEST(SimLaunch, TheGridMeets) {
  // Each block adds up what all have written before the barrier, three times.
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    auto *values = static_cast<int*>(args[0]), *sums = static_cast<int*>(args[1]);
    int n = w->grid_dim_x;
    for (int turn = 1; turn <= 3; ++turn) {
      if (w->warp == 0) values[w->block_x] = turn * w->block_x;
      w->sim->grid_sync(w, w->live, 1);
      if (w->warp == 1) sums[w->block_x] = std::accumulate(values, values + n, sums[w->block_x]);
      w->sim->grid_sync(w, w->live, 2);
    }
  };
  for (int threads : {1, 2, 5}) {
    std::vector<int> values(40), sums(40);
    EXPECT_EQ(error_of(run(kernel, {.grid = {40, 1, 1}, .block = {64, 1, 1}, .threads = threads}, {values.data(), sums.data()})), "");
    EXPECT_EQ(sums, std::vector<int>(40, 6 * (39 * 40 / 2)));
  }
}

TEST(SimLaunch, AGridThatDoesNotMeetIsADeadlock) {
  sim_kernel kernel = [](sim_warp* w, void* const*) {
    if (w->block_x != 3) w->sim->grid_sync(w, w->live, 2);
  };
  for (int threads : {1, 3}) {
    EXPECT_THAT(error_of(run(kernel, {.grid = {6, 1, 1}, .threads = threads})),
                HasSubstr("warp 0 waits at the barrier of the grid at k.py:2"));
  }
}

TEST(SimLaunch, AnErrorStopsBlocksThatWaitForOthers) {
  sim_kernel kernel = [](sim_warp* w, void* const*) {
    if (w->block_x == 7) w->sim->trap(w, 0, 1);
    w->sim->grid_sync(w, w->live, 2);
  };
  EXPECT_THAT(error_of(run(kernel, {.grid = {8, 1, 1}, .threads = 2})), HasSubstr("stopped itself"));
}

#if !defined(KILN_ASAN) && !defined(KILN_TSAN)  // which take these signals themselves
TEST(SimLaunch, AFaultOfTheProcessorEndsTheKernelOnly) {
  sim_kernel wild = [](sim_warp* w, void* const* args) { *static_cast<volatile int*>(args[0]) = w->warp; };
  sim_kernel beyond = [](sim_warp* w, void* const*) { *reinterpret_cast<volatile int*>(w->shared + (1 << 20)) = 1; };
  sim_kernel divides = [](sim_warp* w, void* const* args) {
    volatile int zero = 0;
    *static_cast<int*>(args[0]) = (1 + w->warp) / zero;
  };
  sim_kernel deep = [](sim_warp* w, void* const*) {
    auto nest = [](auto&& self, int n) -> int {
      volatile char room[4096];
      room[0] = static_cast<char>(n);
      return n == 0 ? room[0] : self(self, n - 1) + room[0];
    };
    w->shared[0] = static_cast<char>(nest(nest, 1000));
  };
  sim_kernel copies = [](sim_warp* w, void* const* args) {
    w->sim->mbarrier_init(w, 0, w->shared, 1, 1);
    w->sim->bulk_load(w, 0, w->shared + 16, args[0], 16, w->shared, 0, 1);
    w->sim->mbarrier_wait_parity(w, kAll, w->shared, 0, 2);
  };
  auto* nowhere = reinterpret_cast<void*>(0x10);
  int out = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(error_of(run(wild, {.threads = 2}, {nowhere})),
              "kernel 'k': memory is read or written that is not there [block (0, 0, 0), warp 0]");
    EXPECT_EQ(error_of(run(beyond, {.shared_bytes = 64})),
              "kernel 'k': byte 1048576 of shared memory is read or written, of which the block has 64 [block (0, 0, 0), warp 0]");
    EXPECT_EQ(error_of(run(divides, {}, {&out})), "kernel 'k': an integer is divided by zero [block (0, 0, 0), warp 0]");
    EXPECT_EQ(error_of(run(deep, {.shared_bytes = 64})),
              "kernel 'k': the arrays of its threads need more than the 262144 bytes that there are for a warp [block (0, 0, 0), warp 0]");
    EXPECT_EQ(error_of(run(copies, {.shared_bytes = 64}, {nowhere})),
              "kernel 'k': asynchronous work reads or writes memory that is not there");
    EXPECT_EQ(error_of(run([](sim_warp*, void* const*) {}, {})), "");
  }
}

TEST(SimLaunchDeathTest, AFaultOutsideOfKernelsIsStillOne) {
  EXPECT_EQ(error_of(run([](sim_warp*, void* const*) {}, {})), "");
  EXPECT_EXIT(*static_cast<volatile int*>(nullptr) = 1, testing::KilledBySignal(SIGSEGV), "");
}
#endif

}  // namespace
}  // namespace kiln::sim::test
