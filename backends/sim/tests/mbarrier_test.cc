// mbarriers, and asynchronous copies that complete on them or in groups.
#include <gmock/gmock.h>

#include <cstring>

#include "backends/sim/tests/runtime.h"

namespace kiln::sim::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

void* at(sim_warp* w, int offset) { return w->shared + offset; }

TEST(SimMbarrier, PhasesGoByParity) {
  std::vector<int> got(8, -1);
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    auto* out = static_cast<int*>(args[0]);
    const sim_api* s = w->sim;
    void* b = at(w, 0);
    s->mbarrier_init(w, 0, b, 2, 1);
    *out++ = s->mbarrier_test_parity(w, 1, b, 1, 1);  // the phase before the first counts as complete
    *out++ = s->mbarrier_test_parity(w, 1, b, 0, 1);
    uint64_t state = s->mbarrier_arrive(w, 0, b, 1, 1);
    *out++ = s->mbarrier_test(w, 1, b, state, 1);
    s->mbarrier_arrive(w, 0, b, 1, 1);
    *out++ = s->mbarrier_test(w, 1, b, state, 1);
    *out++ = s->mbarrier_test_parity(w, 1, b, 0, 1);
    *out++ = s->mbarrier_test_parity(w, 1, b, 1, 1);
    s->mbarrier_arrive(w, 0, b, 2, 1);
    *out++ = s->mbarrier_test_parity(w, 1, b, 1, 1);
    *out++ = s->mbarrier_test_parity(w, 1, b, 0, 1);
  };
  EXPECT_EQ(error_of(run(kernel, {.shared_bytes = 64}, {got.data()})), "");
  EXPECT_THAT(got, ElementsAre(1, 0, 0, 1, 1, 0, 1, 0));
}

TEST(SimMbarrier, ADroppedArrivalIsNotExpectedAgain) {
  std::vector<int> got(2, -1);
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    auto* out = static_cast<int*>(args[0]);
    const sim_api* s = w->sim;
    s->mbarrier_init(w, 0, at(w, 8), 2, 1);
    s->mbarrier_arrive_drop(w, 0, at(w, 8), 1, 1);
    s->mbarrier_arrive(w, 0, at(w, 8), 1, 1);
    *out++ = s->mbarrier_test_parity(w, 1, at(w, 8), 0, 1);
    s->mbarrier_arrive(w, 0, at(w, 8), 1, 1);
    *out++ = s->mbarrier_test_parity(w, 1, at(w, 8), 1, 1);
  };
  EXPECT_EQ(error_of(run(kernel, {.shared_bytes = 64}, {got.data()})), "");
  EXPECT_THAT(got, ElementsAre(1, 1));
}

TEST(SimMbarrier, MisuseIsAnError) {
  EXPECT_EQ(
      error_of(run([](sim_warp* w, void* const*) { w->sim->mbarrier_arrive(w, 3, at(w, 16), 1, 2); }, {.shared_bytes = 64})),
      "k.py:2: kernel 'k': the mbarrier at byte 16 of shared memory is used without having been initialised [block (0, 0, 0), warp 0, "
      "lane 3]");
  EXPECT_THAT(error_of(run([](sim_warp* w, void* const*) { w->sim->mbarrier_init(w, 0, at(w, 4), 1, 2); }, {.shared_bytes = 64})),
              HasSubstr("aligned to 8 bytes"));
  EXPECT_THAT(error_of(run([](sim_warp* w, void* const*) { w->sim->mbarrier_init(w, 0, at(w, 8), 0, 2); }, {.shared_bytes = 64})),
              HasSubstr("there cannot be an mbarrier for 0 arrivals"));
  sim_kernel surplus = [](sim_warp* w, void* const*) {
    w->sim->mbarrier_init(w, 0, at(w, 0), 1, 1);
    w->sim->mbarrier_arrive(w, 0, at(w, 0), 2, 2);
  };
  EXPECT_THAT(error_of(run(surplus, {.shared_bytes = 64})),
              HasSubstr("2 arrivals at the mbarrier at byte 0 of shared memory, of which the phase expects 1 more"));
  sim_kernel gone = [](sim_warp* w, void* const*) {
    w->sim->mbarrier_init(w, 0, at(w, 0), 1, 1);
    w->sim->mbarrier_inval(w, 0, at(w, 0), 1);
    w->sim->mbarrier_wait_parity(w, kAll, at(w, 0), 0, 2);
  };
  EXPECT_THAT(error_of(run(gone, {.shared_bytes = 64})), HasSubstr("without having been initialised"));
}

TEST(SimMbarrier, AMissingArrivalIsADeadlock) {
  sim_kernel kernel = [](sim_warp* w, void* const*) {
    if (w->warp == 0) w->sim->mbarrier_init(w, 0, at(w, 32), 2, 1);
    w->sim->barrier_sync(w, w->live, 0, 0, 1);
    if (w->warp == 0) w->sim->mbarrier_arrive(w, 0, at(w, 32), 1, 2);
    w->sim->mbarrier_wait_parity(w, kAll, at(w, 32), 0, 3);
  };
  EXPECT_EQ(
      error_of(run(kernel, {.block = {64, 1, 1}, .shared_bytes = 64})),
      "k.py:3: kernel 'k': deadlock: no warp can go on: block (0, 0, 0), warp 0 and 1 more like it waits for the phase of parity 0 of the "
      "mbarrier at byte 32 of shared memory, which lacks 1 of 2 arrivals at k.py:3");
}

TEST(SimMbarrier, TooManyExpectedBytesAreADeadlockThatNamesThem) {
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    w->sim->mbarrier_init(w, 0, at(w, 0), 1, 1);
    w->sim->mbarrier_arrive_expect_tx(w, 0, at(w, 0), 512, 1);
    w->sim->bulk_load(w, 0, at(w, 128), args[0], 256, at(w, 0), 0, 2);
    w->sim->mbarrier_wait_parity(w, kAll, at(w, 0), 0, 3);
  };
  alignas(16) char data[256] = {};
  EXPECT_THAT(error_of(run(kernel, {.shared_bytes = 1024}, {data})), HasSubstr("which lacks 0 of 1 arrivals and 256 bytes at k.py:3"));
}

// One producer warp and two consumer warps hand tiles through a ring of 3 stages.
TEST(SimMbarrier, AProducerAndConsumers) {
  constexpr int kTiles = 20, kStages = 3, kBytes = 256;
  struct Data {
    alignas(16) int in[kTiles][kBytes / 4];
    int sums[kTiles][2];
  };
  Data data;
  for (int t = 0; t < kTiles; ++t) {
    for (int i = 0; i < kBytes / 4; ++i) data.in[t][i] = t * 1000 + i;
  }
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    Data& d = *static_cast<Data*>(args[0]);
    const sim_api* s = w->sim;
    auto full = [&](int stage) { return at(w, stage * 8); };
    auto empty = [&](int stage) { return at(w, 64 + stage * 8); };
    auto tile = [&](int stage) { return at(w, 128 + stage * kBytes); };
    if (w->warp == 0) {
      for (int i = 0; i < kStages; ++i) {
        s->mbarrier_init(w, 0, full(i), 1, 1);
        s->mbarrier_init(w, 0, empty(i), 2, 1);
      }
    }
    s->barrier_sync(w, w->live, 0, 0, 1);
    for (int t = 0; t < kTiles; ++t) {
      int stage = t % kStages, parity = t / kStages % 2;
      if (w->warp == 0) {
        s->mbarrier_wait_parity(w, kAll, empty(stage), parity ^ 1, 2);
        s->mbarrier_arrive_expect_tx(w, 0, full(stage), kBytes, 2);
        s->bulk_load(w, 0, tile(stage), d.in[t], kBytes, full(stage), 0, 2);
      } else {
        s->mbarrier_wait_parity(w, kAll, full(stage), parity, 3);
        for (int i = 0; i < kBytes / 4; ++i) d.sums[t][w->warp - 1] += static_cast<int*>(tile(stage))[i];
        s->mbarrier_arrive(w, 0, empty(stage), 1, 3);
      }
    }
  };
  for (uint64_t seed = 0; seed < 10; ++seed) {
    std::memset(data.sums, 0, sizeof data.sums);
    EXPECT_EQ(error_of(run(kernel, {.block = {96, 1, 1}, .shared_bytes = 1024, .seed = seed}, {&data})), "");
    for (int t = 0; t < kTiles; ++t) {
      EXPECT_EQ(data.sums[t][0], 64 * 1000 * t + 63 * 32) << t;
      EXPECT_EQ(data.sums[t][1], 64 * 1000 * t + 63 * 32) << t;
    }
  }
}

// Whoever reads before the wait gets poison or the bytes, as it happens: over some seeds, poison.
TEST(SimMbarrier, ABulkLoadIsNotThereBeforeItIsWaitedFor) {
  struct Data {
    alignas(16) int in[64];
    int before, after;
  };
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    Data& d = *static_cast<Data*>(args[0]);
    w->sim->mbarrier_init(w, 0, at(w, 0), 1, 1);
    w->sim->mbarrier_arrive_expect_tx(w, 0, at(w, 0), 256, 1);
    w->sim->bulk_load(w, 0, at(w, 128), d.in, 256, at(w, 0), 0, 2);
    d.before = static_cast<int*>(at(w, 128))[5];
    w->sim->mbarrier_wait_parity(w, kAll, at(w, 0), 0, 3);
    d.after = static_cast<int*>(at(w, 128))[5];
  };
  Data d = {};
  d.in[5] = 77;
  EXPECT_EQ(error_of(run(kernel, {.shared_bytes = 1024}, {&d})), "");
  EXPECT_EQ(d.before, -1);
  EXPECT_EQ(d.after, 77);
}

TEST(SimMbarrier, AMulticastReachesTheSamePlaceOfEachBlock) {
  struct Data {
    alignas(16) int in[16];
    int got[4];
  };
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    Data& d = *static_cast<Data*>(args[0]);
    const sim_api* s = w->sim;
    s->mbarrier_init(w, 0, at(w, 0), 1, 1);
    s->cluster_arrive(w, w->live, SIM_RELEASE, 1);
    s->cluster_wait(w, w->live, 1);
    bool receives = w->cluster_rank != 2;
    if (receives) s->mbarrier_arrive_expect_tx(w, 0, at(w, 0), 64, 1);
    if (w->cluster_rank == 0) s->bulk_load(w, 0, at(w, 64), d.in, 64, at(w, 0), 0b1011, 2);
    if (receives) s->mbarrier_wait_parity(w, kAll, at(w, 0), 0, 3);
    d.got[w->cluster_rank] = static_cast<int*>(at(w, 64))[3];
    s->cluster_arrive(w, w->live, SIM_RELEASE, 1);
    s->cluster_wait(w, w->live, 1);
  };
  Data d = {};
  d.in[3] = 33;
  EXPECT_EQ(error_of(run(kernel, {.grid = {4, 1, 1}, .cluster = {4, 1, 1}, .shared_bytes = 256}, {&d})), "");
  EXPECT_THAT(d.got, ElementsAre(33, 33, -1, 33));
}

TEST(SimMbarrier, ABlockArrivesAtTheBarrierOfAnother) {
  int got[2] = {};
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    const sim_api* s = w->sim;
    s->mbarrier_init(w, 0, at(w, 0), 1, 1);
    s->cluster_arrive(w, w->live, SIM_RELEASE, 1);
    s->cluster_wait(w, w->live, 1);
    auto other = static_cast<uint32_t>(1 - w->cluster_rank);
    auto* cell = static_cast<int*>(sim_map_shared(w, at(w, 64), other));
    int32_t value = 5 + w->cluster_rank;
    if (w->cluster_rank == 0) {
      *cell = value;
      s->mbarrier_arrive(w, 0, sim_map_shared(w, at(w, 0), other), 1, 2);
      s->mbarrier_arrive_expect_tx(w, 0, at(w, 0), 4, 2);
    } else {
      s->store_async(w, 0, SIM_STORE, SIM_S32, cell, &value, sim_map_shared(w, at(w, 0), other), 2);
    }
    s->mbarrier_wait_parity(w, kAll, at(w, 0), 0, 3);
    static_cast<int*>(args[0])[w->cluster_rank] = *static_cast<int*>(at(w, 64));
    s->cluster_arrive(w, w->live, SIM_RELEASE, 1);
    s->cluster_wait(w, w->live, 1);
  };
  EXPECT_EQ(error_of(run(kernel, {.grid = {2, 1, 1}, .cluster = {2, 1, 1}, .shared_bytes = 256}, {got})), "");
  EXPECT_THAT(got, ElementsAre(6, 5));
}

TEST(SimMbarrier, TryCancelFindsNoBlock) {
  int got[4] = {1, 1, 1, 1};
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    w->sim->mbarrier_init(w, 0, at(w, 0), 1, 1);
    w->sim->mbarrier_arrive_expect_tx(w, 0, at(w, 0), 16, 1);
    w->sim->try_cancel(w, 0, at(w, 16), at(w, 0), 0, 1);
    w->sim->mbarrier_wait_parity(w, kAll, at(w, 0), 0, 1);
    std::memcpy(args[0], at(w, 16), 16);
  };
  EXPECT_EQ(error_of(run(kernel, {.shared_bytes = 64}, {got})), "");
  EXPECT_THAT(got, ElementsAre(0, 0, 0, 0));
}

// Three times 16 bytes in groups of their own, then waits that leave 2, 1, 0 of them.
TEST(SimCopy, GroupsAreDoneOldestFirstAndNoSoonerThanWaitedFor) {
  struct Data {
    alignas(16) int in[12];
    int got[4][3];
  };
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    Data& d = *static_cast<Data*>(args[0]);
    const sim_api* s = w->sim;
    for (int i = 0; i < 3; ++i) {
      s->cp_async(w, 4, at(w, 16 * i), &d.in[4 * i], 16, 16, 1);
      s->cp_async_commit(w, kAll, 1);
    }
    for (int left = 3; left >= 0; --left) {
      s->cp_async_wait(w, kAll, left, 2);
      for (int i = 0; i < 3; ++i) d.got[3 - left][i] = *static_cast<int*>(at(w, 16 * i));
    }
  };
  Data d = {{10, 0, 0, 0, 20, 0, 0, 0, 30, 0, 0, 0}, {}};
  EXPECT_EQ(error_of(run(kernel, {.shared_bytes = 64}, {&d})), "");
  EXPECT_THAT(d.got[0], ElementsAre(-1, -1, -1));
  EXPECT_THAT(d.got[1], ElementsAre(10, -1, -1));
  EXPECT_THAT(d.got[2], ElementsAre(10, 20, -1));
  EXPECT_THAT(d.got[3], ElementsAre(10, 20, 30));
}

TEST(SimCopy, GroupsAreEachLanesOwn) {
  struct Data {
    alignas(16) int in[4];
    int got[2];
  };
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    Data& d = *static_cast<Data*>(args[0]);
    const sim_api* s = w->sim;
    s->cp_async(w, 0, at(w, 0), &d.in[0], 4, 4, 1);
    s->cp_async(w, 1, at(w, 16), &d.in[1], 4, 4, 1);
    s->cp_async_commit(w, 0b01, 1);  // lane 1 has committed nothing
    s->cp_async_wait(w, 0b11, 0, 2);
    d.got[0] = *static_cast<int*>(at(w, 0)), d.got[1] = *static_cast<int*>(at(w, 16));
  };
  Data d = {{7, 8, 0, 0}, {}};
  EXPECT_EQ(error_of(run(kernel, {.shared_bytes = 64}, {&d})), "");
  EXPECT_THAT(d.got, ElementsAre(7, -1));
}

TEST(SimCopy, WhatIsNotReadIsZero) {
  struct Data {
    alignas(16) int in[4];
    int got[4];
  };
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    Data& d = *static_cast<Data*>(args[0]);
    w->sim->cp_async(w, 0, at(w, 0), d.in, 16, 8, 1);
    w->sim->cp_async_wait(w, kAll, -1, 1);
    std::memcpy(d.got, at(w, 0), 16);
  };
  Data d = {{1, 2, 3, 4}, {}};
  EXPECT_EQ(error_of(run(kernel, {.shared_bytes = 64}, {&d})), "");
  EXPECT_THAT(d.got, ElementsAre(1, 2, 0, 0));
}

TEST(SimCopy, AnMbarrierWaitsForCopiesOfLanes) {
  struct Data {
    alignas(16) int in[32];
    int got[32];
  };
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    Data& d = *static_cast<Data*>(args[0]);
    const sim_api* s = w->sim;
    s->mbarrier_init(w, 0, at(w, 0), 32, 1);
    each_lane(kAll, [&](int l) {
      s->cp_async(w, l, at(w, 64 + 4 * l), &d.in[l], 4, 4, 1);
      s->cp_async_arrive(w, l, at(w, 0), 1, 2);
    });
    s->mbarrier_wait_parity(w, kAll, at(w, 0), 0, 3);
    std::memcpy(d.got, at(w, 64), 128);
  };
  Data d = {};
  for (int i = 0; i < 32; ++i) d.in[i] = i * i;
  EXPECT_EQ(error_of(run(kernel, {.shared_bytes = 256}, {&d})), "");
  for (int i = 0; i < 32; ++i) EXPECT_EQ(d.got[i], i * i);
}

TEST(SimCopy, MisalignedCopiesAreErrors) {
  sim_kernel shifted = [](sim_warp* w, void* const* args) { w->sim->cp_async(w, 9, at(w, 8), args[0], 16, 16, 1); };
  alignas(16) char data[64] = {};
  EXPECT_THAT(error_of(run(shifted, {.shared_bytes = 64}, {data})), AllOf(HasSubstr("cp.async of 16 bytes"), HasSubstr("lane 9")));
  sim_kernel odd = [](sim_warp* w, void* const* args) { w->sim->bulk_load(w, 0, at(w, 0), args[0], 24, at(w, 48), 0, 1); };
  EXPECT_THAT(error_of(run(odd, {.shared_bytes = 64}, {data})), HasSubstr("a bulk copy of 24 bytes"));
  sim_kernel beyond = [](sim_warp* w, void* const* args) { w->sim->bulk_load(w, 0, at(w, 32), args[0], 64, at(w, 0), 0, 1); };
  EXPECT_THAT(error_of(run(beyond, {.shared_bytes = 64}, {data})),
              HasSubstr("a bulk copy of 64 bytes at byte 32 of shared memory, of which the block has 64"));
}

// A store whose source is overwritten: harmless after a wait for its reads, and the destination is whole after a full wait.
TEST(SimCopy, ABulkStoreIsReadAndThenWritten) {
  struct Data {
    alignas(16) int out[4];
    int after_read, after_all;
  };
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    Data& d = *static_cast<Data*>(args[0]);
    const sim_api* s = w->sim;
    auto* source = static_cast<int*>(at(w, 0));
    for (int i = 0; i < 4; ++i) source[i] = 40 + i;
    s->bulk_store(w, 3, d.out, source, 16, 1);
    s->bulk_commit(w, 1u << 3, 1);
    s->bulk_wait(w, 1u << 3, 0, 1, 2);
    source[0] = -5;
    d.after_read = d.out[0];
    s->bulk_wait(w, 1u << 3, 0, 0, 3);
    d.after_all = d.out[0];
  };
  Data d = {};
  EXPECT_EQ(error_of(run(kernel, {.shared_bytes = 64}, {&d})), "");
  EXPECT_EQ(d.after_read, 0);
  EXPECT_EQ(d.after_all, 40);
  EXPECT_THAT(d.out, ElementsAre(40, 41, 42, 43));
}

TEST(SimCopy, BulkStoresThatNoOneWaitsForAreDoneAtTheEnd) {
  alignas(16) int out[4] = {};
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    for (int i = 0; i < 4; ++i) static_cast<int*>(at(w, 0))[i] = i + 1;
    w->sim->bulk_store(w, 0, args[0], at(w, 0), 16, 1);
  };
  EXPECT_EQ(error_of(run(kernel, {.shared_bytes = 64}, {out})), "");
  EXPECT_THAT(out, ElementsAre(1, 2, 3, 4));
}

TEST(SimCopy, BulkReductionsAddUpOverBlocks) {
  alignas(16) float out[4] = {};
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    for (int i = 0; i < 4; ++i) static_cast<float*>(at(w, 0))[i] = static_cast<float>(i + 1);
    w->sim->bulk_reduce(w, 0, SIM_ADD, SIM_F32, args[0], at(w, 0), 16, nullptr, 1);
    w->sim->bulk_commit(w, 1, 1);
    w->sim->bulk_wait(w, 1, 0, 0, 1);
  };
  EXPECT_EQ(error_of(run(kernel, {.grid = {100, 1, 1}, .shared_bytes = 64, .threads = 3}, {out})), "");
  EXPECT_THAT(out, ElementsAre(100, 200, 300, 400));
}

}  // namespace
}  // namespace kiln::sim::test
