// Barriers of threads and operations between the lanes of a warp.
#include <gmock/gmock.h>

#include <numeric>

#include "backends/sim/tests/runtime.h"

namespace kiln::sim::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(SimBarrier, NoOnePassesBeforeAllHaveArrived) {
  // Each step, every warp adds one to a cell and then must see all of them.
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    auto* cells = reinterpret_cast<int*>(w->shared);
    cells[w->warp] = 0;
    for (int step = 1; step <= 20; ++step) {
      cells[w->warp] = step;
      w->sim->barrier_sync(w, w->live, 0, 0, 1);
      for (int i = 0; i < 8; ++i) *static_cast<int*>(args[0]) += cells[i] != step;
      w->sim->barrier_sync(w, w->live, 0, 0, 2);
    }
  };
  for (uint64_t seed = 0; seed < 20; ++seed) {
    int bad = 0;
    EXPECT_EQ(error_of(run(kernel, {.block = {256, 1, 1}, .shared_bytes = 64, .seed = seed}, {&bad})), "");
    EXPECT_EQ(bad, 0);
  }
}

TEST(SimBarrier, ProducersArriveAndConsumersWait) {
  // Barrier 3 for 96 threads: warps 0 and 1 only arrive, warp 2 waits for what they wrote.
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    auto* cells = reinterpret_cast<int*>(w->shared);
    if (w->warp < 2) {
      cells[w->warp] = 10 + w->warp;
      w->sim->barrier_arrive(w, w->live, 3, 96, 1);
    } else if (w->warp == 2) {
      w->sim->barrier_sync(w, w->live, 3, 96, 2);
      *static_cast<int*>(args[0]) = cells[0] + cells[1];
    }
  };
  for (uint64_t seed = 0; seed < 10; ++seed) {
    int sum = 0;
    EXPECT_EQ(error_of(run(kernel, {.block = {128, 1, 1}, .shared_bytes = 64, .seed = seed}, {&sum})), "");
    EXPECT_EQ(sum, 21);
  }
}

TEST(SimBarrier, WarpsThatHaveExitedAreNotWaitedFor) {
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    if (w->warp >= 2) return;
    w->live &= 0xFF;  // lanes 8 to 31 exit
    w->sim->barrier_sync(w, w->live, 0, 0, 1);
    ++*static_cast<int*>(args[0]);
  };
  int passed = 0;
  EXPECT_EQ(error_of(run(kernel, {.block = {256, 1, 1}}, {&passed})), "");
  EXPECT_EQ(passed, 2);
}

TEST(SimBarrier, Reductions) {
  // The predicate holds for threads below n of 96.
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    auto* out = static_cast<int*>(args[0]);
    int n = 0;
    for (int below : {0, 40, 96}) {
      sim_mask p = 0;
      each_lane(w->lanes, [&](int l) { p |= static_cast<sim_mask>(thread_of(w, l) < below) << l; });
      for (int mode : {SIM_BAR_COUNT, SIM_BAR_AND, SIM_BAR_OR})
        out[w->warp * 9 + n++] = w->sim->barrier_reduce(w, w->live, 0, 0, mode, p, 1);
    }
  };
  std::vector<int> out(27), expected;
  for (int warp = 0; warp < 3; ++warp) expected.insert(expected.end(), {0, 0, 0, 40, 0, 1, 96, 1, 1});
  EXPECT_EQ(error_of(run(kernel, {.block = {96, 1, 1}}, {out.data()})), "");
  EXPECT_EQ(out, expected);
}

TEST(SimBarrier, APartOfAWarpIsAnError) {
  sim_kernel kernel = [](sim_warp* w, void* const*) { w->sim->barrier_sync(w, 0xFFFF, 0, 0, 1); };
  EXPECT_EQ(error_of(run(kernel, {})),
            "k.py:1: kernel 'k': a barrier of the block is reached by lanes 0x0000ffff alone of the lanes 0xffffffff that have not exited "
            "[block (0, 0, 0), warp 0]");
}

TEST(SimBarrier, CountsMustAgree) {
  sim_kernel kernel = [](sim_warp* w, void* const*) { w->sim->barrier_sync(w, w->live, 1, w->warp ? 128 : 64, w->warp ? 1 : 2); };
  EXPECT_THAT(error_of(run(kernel, {.block = {64, 1, 1}})),
              AllOf(HasSubstr("128"), HasSubstr("64"), HasSubstr("where others wait (k.py:")));
  EXPECT_THAT(error_of(run([](sim_warp* w, void* const*) { w->sim->barrier_sync(w, w->live, 1, 48, 1); }, {})),
              HasSubstr("barrier 1 cannot be for 48 threads: their number must be a multiple of 32"));
  EXPECT_THAT(error_of(run([](sim_warp* w, void* const*) { w->sim->barrier_sync(w, w->live, 16, 0, 1); }, {})),
              HasSubstr("there is no barrier 16"));
}

TEST(SimBarrier, ADeadlockNamesEachWarpsPlace) {
  sim_kernel kernel = [](sim_warp* w, void* const*) {
    if (w->warp == 3) return;
    if (w->warp == 0) w->sim->barrier_sync(w, w->live, 1, 64, 1);
    w->sim->barrier_sync(w, w->live, 2, 128, 2);
  };
  EXPECT_EQ(
      error_of(run(kernel, {.block = {128, 1, 1}})),
      "k.py:1: kernel 'k': deadlock: no warp can go on: block (0, 0, 0), warp 0 waits at barrier 1 (32 of 64 threads are there) at k.py:1; "
      "block (0, 0, 0), warp 1 and 1 more like it waits at barrier 2 (64 of 128 threads are there) at k.py:2");
}

TEST(SimBarrier, AClusterMeetsAndReachesTheMemoryOfItsBlocks) {
  // Each block of a cluster of 4 reads the cell of the next one.
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    auto* cell = reinterpret_cast<int*>(w->shared + 64);
    *cell = 100 + w->block_x;
    w->sim->cluster_arrive(w, w->live, SIM_RELEASE, 1);
    w->sim->cluster_wait(w, w->live, 1);
    uint32_t next = static_cast<uint32_t>(w->cluster_rank + 1) % 4;
    static_cast<int*>(args[0])[w->block_x] = *static_cast<int*>(sim_map_shared(w, cell, next));
    static_cast<int*>(args[1])[w->block_x] = static_cast<int>(sim_shared_address(w, cell));
    w->sim->cluster_arrive(w, w->live, SIM_RELEASE, 2);
    w->sim->cluster_wait(w, w->live, 2);
  };
  std::vector<int> got(8), addresses(8);
  EXPECT_EQ(
      error_of(run(kernel, {.grid = {8, 1, 1}, .cluster = {4, 1, 1}, .shared_bytes = 128, .threads = 2}, {got.data(), addresses.data()})),
      "");
  EXPECT_THAT(got, testing::ElementsAre(101, 102, 103, 100, 105, 106, 107, 104));
  EXPECT_THAT(addresses, testing::ElementsAre(64, 0x1000040, 0x2000040, 0x3000040, 64, 0x1000040, 0x2000040, 0x3000040));
}

TEST(SimBarrier, RanksOfAClusterCountAlongXFirst) {
  std::vector<int> rank(16);
  sim_kernel kernel = [](sim_warp* w, void* const* args) { static_cast<int*>(args[0])[w->block_y * 4 + w->block_x] = w->cluster_rank; };
  EXPECT_EQ(error_of(run(kernel, {.grid = {4, 4, 1}, .cluster = {2, 2, 1}}, {rank.data()})), "");
  EXPECT_THAT(rank, testing::ElementsAre(0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3));
}

// --- lanes of a warp

struct Lanes32 {
  std::vector<int> in = std::vector<int>(32), out = std::vector<int>(32, -1);
  int32_t lane[32];
};

std::vector<int> shuffled(int mode, int32_t by, int32_t width, sim_mask mask = kAll) {
  static thread_local int m, width_now;
  static thread_local sim_mask mask_now;
  m = mode, width_now = width, mask_now = mask;
  Lanes32 data;
  for (int l = 0; l < 32; ++l) data.in[static_cast<size_t>(l)] = 100 + l, data.lane[l] = by;
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    w->sim->shuffle(w, mask_now, m, kAll, args[1], args[0], 4, static_cast<int32_t*>(args[2]), width_now, 1);
  };
  EXPECT_EQ(error_of(run(kernel, {}, {data.in.data(), data.out.data(), data.lane})), "");
  return data.out;
}

// What PTX ISA says of shfl.sync: lane -> source lane.
std::vector<int> sources(int (*source)(int)) {
  std::vector<int> out;
  for (int l = 0; l < 32; ++l) out.push_back(100 + source(l));
  return out;
}

TEST(SimWarp, Shuffles) {
  EXPECT_EQ(shuffled(SIM_SHFL_IDX, 5, 32), sources([](int) { return 5; }));
  EXPECT_EQ(shuffled(SIM_SHFL_IDX, 5, 8), sources([](int l) { return l / 8 * 8 + 5; }));
  EXPECT_EQ(shuffled(SIM_SHFL_UP, 3, 32), sources([](int l) { return l < 3 ? l : l - 3; }));
  EXPECT_EQ(shuffled(SIM_SHFL_UP, 3, 16), sources([](int l) { return l % 16 < 3 ? l : l - 3; }));
  EXPECT_EQ(shuffled(SIM_SHFL_DOWN, 7, 32), sources([](int l) { return l + 7 > 31 ? l : l + 7; }));
  EXPECT_EQ(shuffled(SIM_SHFL_DOWN, 7, 8), sources([](int l) { return l % 8 + 7 > 7 ? l : l + 7; }));
  EXPECT_EQ(shuffled(SIM_SHFL_XOR, 1, 32), sources([](int l) { return l ^ 1; }));
  EXPECT_EQ(shuffled(SIM_SHFL_XOR, 16, 32), sources([](int l) { return l ^ 16; }));
  EXPECT_EQ(shuffled(SIM_SHFL_XOR, 8, 8), sources([](int l) { return (l ^ 8) > l ? l : l ^ 8; }));
}

TEST(SimWarp, AShuffleWritesLanesThatExecuteItOnly) {
  std::vector<int> out = shuffled(SIM_SHFL_IDX, 2, 32, 0xF);
  EXPECT_EQ(out[3], 102);
  EXPECT_EQ(out[4], -1);
}

TEST(SimWarp, VotesMatchAndElect) {
  uint32_t got[12] = {};
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    auto* out = static_cast<uint32_t*>(args[0]);
    const sim_api* s = w->sim;
    *out++ = s->vote(w, kAll, SIM_VOTE_BALLOT, kAll, 0x1234, 1);
    *out++ = s->vote(w, 0xFF, SIM_VOTE_BALLOT, 0xFF, 0x1234, 1);
    *out++ = s->vote(w, kAll, SIM_VOTE_ANY, kAll, 0, 1);
    *out++ = s->vote(w, 0xF0, SIM_VOTE_ALL, 0xF0, 0xFF, 1);
    *out++ = s->vote(w, 0xF0, SIM_VOTE_UNI, 0xF0, 0xF, 1);
    *out++ = s->vote(w, 0xF0, SIM_VOTE_UNI, 0xF0, 0x1F, 1);
    *out++ = s->elect(w, 0xFFF0, kAll, 1);
    uint32_t values[32];
    for (uint32_t l = 0; l < 32; ++l) values[l] = l % 3;
    sim_mask same[32];
    s->match_any(w, kAll, kAll, same, values, 4, 1);
    *out++ = same[4];
    *out++ = s->match_all(w, kAll, kAll, values, 4, 1);
    *out++ = s->match_all(w, 0b1001001, 0b1001001, values, 4, 1);
  };
  EXPECT_EQ(error_of(run(kernel, {}, {got})), "");
  EXPECT_THAT(std::vector<uint32_t>(got, got + 10),
              testing::ElementsAre(0x1234u, 0x34u, 0u, 1u, 1u, 0u, 0x10u, 0x92492492u, 0u, 0b1001001u));
}

TEST(SimWarp, Reductions) {
  int32_t out[6] = {};
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    int32_t in[32], result[32];
    for (int l = 0; l < 32; ++l) in[l] = l - 10;
    int n = 0;
    for (int op : {SIM_ADD, SIM_MIN, SIM_MAX, SIM_AND, SIM_OR, SIM_XOR}) {
      w->sim->reduce(w, 0xFF, op, SIM_S32, 0xFF, result, in, 1);
      static_cast<int32_t*>(args[0])[n++] = result[5];
    }
  };
  EXPECT_EQ(error_of(run(kernel, {}, {out})), "");
  // -10 to -3
  EXPECT_THAT(std::vector<int32_t>(out, out + 6), testing::ElementsAre(-52, -10, -3, -16, -1, 0));
}

}  // namespace
}  // namespace kiln::sim::test
