// The checker, fed with events by hand: what is a race and what is none.
#include "backends/sim/checker/checker.h"

#include <gmock/gmock.h>

#include <array>

namespace kiln::sim::checker {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Access R = Access::kRead, W = Access::kWrite;

// Blocks of 64 threads (2 warps) with 1 KiB of shared memory, and a tensor 'x' of 4 KiB.
class CheckerTest : public testing::Test {
 protected:
  Findings findings;
  std::array<Site, 4> sites = {Site{"", 0, ""}, Site{"k.py:1", 10, "s"}, Site{"k.py:2", 20, "s"}, Site{"k.py:3", 30, "x"}};
  alignas(16) std::array<std::byte, 2048> shared{};
  alignas(16) std::array<std::byte, 4096> x{};
  Checker checker = Checker(launch(64), findings);
  Group* g = &checker.begin({block(0)});

  Checker::Launch launch(int64_t threads) { return {"kernel", sites, {{"x", x.data(), x.size()}}, threads}; }
  Group::Block block(int64_t index, int rank = 0) { return {{index, 0, 0}, shared.data() + 1024 * rank, 1024}; }
  std::byte* s(size_t i) { return shared.data() + 4 * i; }

  // An access of 4 bytes by a thread; a write changes the memory.
  void thread(int t, Access a, std::byte* at, uint32_t site = 1, Group* group = nullptr) {
    (group ? group : g)->access(t / 32, t % 32, at, 4, a, site);
    if (a == W) *at = static_cast<std::byte>(++value_);
  }
  void sync_block() {
    for (int w : {0, 1}) g->barrier_arrive(w, kAllLanes, 0);
    g->barrier_complete(0);
    for (int w : {0, 1}) g->barrier_leave(w, kAllLanes, 0);
  }
  std::vector<std::string> kinds() {
    checker.end(*g);
    found = findings.take();
    std::vector<std::string> k;
    for (const Finding& f : found) k.push_back(f.kind);
    return k;
  }
  std::vector<Finding> found;

 private:
  int value_ = 0;
};

TEST_F(CheckerTest, WriteAndReadOfTwoWarpsRaceWithoutABarrier) {
  thread(3, W, s(0));
  thread(37, R, s(0), 2);
  ASSERT_THAT(kinds(), testing::ElementsAre("race"));
  EXPECT_EQ(found[0].place, "k.py:2");
  EXPECT_EQ(found[0].count, 1);
  EXPECT_EQ(found[0].kernel, "kernel");
  EXPECT_EQ(
      found[0].message,
      "the read of 's', byte 0 of the shared memory of block 0 by thread 37 of block 0 (warp 1, lane 5) [kernel line 20] is not ordered "
      "after the write by thread 3 of block 0 (warp 0, lane 3) at k.py:1 [kernel line 10]");
}

TEST_F(CheckerTest, ABarrierOrders) {
  thread(3, W, s(0));
  sync_block();
  thread(37, R, s(0));
  EXPECT_THAT(kinds(), IsEmpty());
}

TEST_F(CheckerTest, WriteAfterReadRaces) {
  thread(3, W, s(0));
  sync_block();
  thread(37, R, s(0), 1);
  thread(3, W, s(0), 2);
  EXPECT_THAT(kinds(), testing::ElementsAre("race"));
}

TEST_F(CheckerTest, EveryReaderIsRemembered) {
  thread(3, W, s(0));
  sync_block();
  for (int t : {1, 33, 2, 34}) thread(t, R, s(0), 1);
  g->warp_sync(0, kAllLanes);
  thread(0, W, s(0), 2);  // after the readers of its own warp, not after the other's
  ASSERT_THAT(kinds(), testing::ElementsAre("race"));
  EXPECT_THAT(found[0].message, HasSubstr("after the read by thread 33 "));
}

TEST_F(CheckerTest, WhoArrivesBeforeTheOthersSeesOnlyThePhaseAsItEnded) {
  // Joining at the arrival instead of at the end of the phase would order these.
  g->barrier_arrive(0, kAllLanes, 0);
  thread(3, W, s(0));  // after its own arrival at a barrier that it does not wait for
  g->barrier_arrive(1, kAllLanes, 0);
  g->barrier_complete(0);
  g->barrier_leave(1, kAllLanes, 0);
  thread(37, R, s(0), 2);
  EXPECT_THAT(kinds(), testing::ElementsAre("race"));
}

TEST_F(CheckerTest, LanesOfOneWarpNeedASyncwarp) {
  thread(3, W, s(0));
  thread(4, R, s(0), 2);
  thread(5, W, s(1));
  g->warp_sync(0, kAllLanes);
  thread(6, R, s(1));
  thread(6, W, s(1));
  EXPECT_THAT(kinds(), testing::ElementsAre("race"));
  EXPECT_THAT(found[0].message, HasSubstr("no __syncwarp between them"));
}

TEST_F(CheckerTest, ASyncwarpOrdersItsLanesOnly) {
  thread(0, W, s(0));
  thread(8, W, s(1));
  g->warp_sync(0, 0x0000000fu);
  thread(1, R, s(0));
  EXPECT_THAT(findings.take(), IsEmpty());
  thread(1, R, s(1), 2);            // lane 8 was not there
  thread(9, R, s(0), 2);            // nor lane 9
  EXPECT_THAT(kinds(), SizeIs(1));  // two of the same sites
  EXPECT_EQ(found[0].count, 2);
}

TEST_F(CheckerTest, OneLaneThatWaitsDoesNotWaitForItsWarp) {
  g->mbarrier_init(0, 0, s(100), 0);
  sync_block();
  thread(3, W, s(0));
  g->mbarrier_arrive(0, kAllLanes, s(100), 0);
  g->mbarrier_complete(s(100), 0);
  g->mbarrier_wait(1, 1, s(100));  // lane 0 of warp 1
  thread(32, R, s(0));
  EXPECT_THAT(findings.take(), IsEmpty());
  thread(33, R, s(0), 2);
  g->warp_sync(1, kAllLanes);
  thread(34, R, s(0), 1);
  EXPECT_THAT(kinds(), testing::ElementsAre("race"));
  EXPECT_EQ(found[0].count, 1);
}

TEST_F(CheckerTest, OneLaneThatArrivesDoesNotArriveForItsWarp) {
  g->mbarrier_init(0, 0, s(100), 0);
  sync_block();
  thread(3, W, s(0));
  thread(4, W, s(1));
  g->mbarrier_arrive(0, 1u << 3, s(100), 0);
  g->mbarrier_complete(s(100), 0);
  g->mbarrier_wait(1, kAllLanes, s(100));
  thread(33, R, s(0));
  thread(33, R, s(1), 2);
  EXPECT_THAT(kinds(), testing::ElementsAre("race"));
  EXPECT_THAT(found[0].message, HasSubstr("by thread 4 "));
}

TEST_F(CheckerTest, AnMbarrierIsUsedBeforeItsInitialisationIsOrdered) {
  g->mbarrier_init(0, 0, s(100), 1);
  g->mbarrier_test(1, kAllLanes, s(100), 2);
  EXPECT_THAT(kinds(), testing::ElementsAre("race"));
}

TEST_F(CheckerTest, AnMbarrierWithoutInitialisationIsUninitialised) {
  g->mbarrier_test(1, kAllLanes, s(100), 2);
  EXPECT_THAT(kinds(), testing::ElementsAre("uninitialised"));
}

TEST_F(CheckerTest, SharedMemoryIsUninitialisedByByte) {
  g->access(0, 0, shared.data() + 2, 2, W, 1);
  g->access(0, 0, shared.data() + 2, 2, R, 1);
  EXPECT_THAT(findings.take(), IsEmpty());
  g->access(0, 0, shared.data(), 4, R, 2);
  ASSERT_THAT(kinds(), testing::ElementsAre("uninitialised"));
  EXPECT_THAT(found[0].message, HasSubstr("byte 0 of the shared memory"));
}

TEST_F(CheckerTest, NeighbouringBytesDoNotRace) {
  for (int t = 0; t < 64; ++t) g->access(t / 32, t % 32, shared.data() + t, 1, W, 1);
  sync_block();
  for (int t = 0; t < 4; ++t) g->access(1, t, shared.data() + 16 * t, 16, R, 1);
  EXPECT_THAT(kinds(), IsEmpty());
}

TEST_F(CheckerTest, ASplitCellRemembersWhatTheWideOneDid) {
  g->access(0, 0, shared.data(), 16, W, 1);
  shared[0] = std::byte{1};
  g->access(1, 0, shared.data() + 5, 1, R, 2);
  EXPECT_THAT(kinds(), testing::ElementsAre("race"));
}

TEST_F(CheckerTest, ReplicatedStoresOfOneValueAreNoRace) {
  for (int t : {0, 1, 40}) g->access(t / 32, t % 32, s(0), 4, W, 1), *s(0) = std::byte{7};
  thread(1, R, s(0));  // each may read what it wrote itself
  thread(40, R, s(0));
  EXPECT_THAT(findings.take(), IsEmpty());
  thread(41, R, s(0), 2);
  EXPECT_THAT(kinds(), testing::ElementsAre("race"));
}

TEST_F(CheckerTest, StoresOfTwoValuesRace) {
  thread(0, W, s(0), 1);
  thread(40, W, s(0), 2);
  thread(40, R, s(3), 2);  // the next event settles the one before
  EXPECT_THAT(kinds(), testing::UnorderedElementsAre("race", "uninitialised"));
}

TEST_F(CheckerTest, AtomicsDoNotRaceWithEachOtherButWithOthers) {
  thread(0, W, s(0), 1);
  sync_block();
  for (int t : {0, 1, 40}) g->atomic(t / 32, t % 32, s(0), 4, Access::kAtomic, Order::kRelaxed, 1);
  EXPECT_THAT(findings.take(), IsEmpty());
  thread(41, R, s(0), 2);
  EXPECT_THAT(kinds(), testing::ElementsAre("race"));
}

TEST_F(CheckerTest, RelaxedAtomicsOrderNothingButWithFencesTheyDo) {
  std::byte* flag = x.data() + 256;
  auto pass = [&](bool fences, std::byte* data) {
    thread(0, W, data, 1);
    if (fences) g->fence(0, 1);
    g->atomic(0, 0, flag, 4, Access::kAtomic, Order::kRelaxed, 3);
    g->atomic(1, 0, flag, 4, Access::kAtomicRead, Order::kRelaxed, 3);
    if (fences) g->fence(1, 1);
    thread(32, R, data, 2);
  };
  pass(true, s(0));
  EXPECT_THAT(findings.take(), IsEmpty());
  pass(false, s(1));
  EXPECT_THAT(kinds(), testing::ElementsAre("race"));
}

TEST_F(CheckerTest, ReleaseAndAcquireOrderAcrossBlocks) {
  Group& other = checker.begin({block(1, 1)});
  std::byte* flag = x.data() + 256;
  thread(0, W, x.data(), 3);
  thread(1, W, x.data() + 4, 3);
  g->atomic(0, 0, flag, 4, Access::kAtomic, Order::kRelease, 3);
  other.atomic(0, 5, flag, 4, Access::kAtomicRead, Order::kAcquire, 3);
  thread(5, R, x.data(), 3, &other);
  EXPECT_THAT(findings.take(), IsEmpty());
  thread(5, R, x.data() + 4, 3, &other);
  checker.end(other);
  ASSERT_THAT(kinds(), testing::ElementsAre("race"));
  EXPECT_THAT(found[0].message, HasSubstr("by thread 5 of block 1 (warp 0, lane 5)"));
  EXPECT_THAT(found[0].message, HasSubstr("after the write by thread 1 of block 0"));
}

TEST_F(CheckerTest, BlocksRaceInGlobalMemoryUntilTheGridMeets) {
  thread(0, W, x.data(), 3);
  checker.end(*g);
  g = &checker.begin({block(1)});
  thread(0, W, x.data(), 3);
  thread(0, R, x.data(), 3);
  found = findings.take();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, "race");
  checker.grid_sync();
  checker.end(*g);
  g = &checker.begin({block(2)});
  thread(0, R, x.data(), 3);
  EXPECT_THAT(kinds(), IsEmpty());
}

TEST_F(CheckerTest, CpAsyncIsOrderedByTheWaitOfItsOwnThreadOnly) {
  auto copy = [&](int lane, size_t at) {
    Operation op = g->issue(0, lane, Engine::kCpAsync);
    g->access(op, x.data(), 16, R, 3);
    g->access(op, s(at), 16, W, 1);
  };
  copy(0, 0), copy(1, 4);
  g->commit(0, kAllLanes, Engine::kCpAsync);
  copy(0, 8), copy(1, 12);
  g->commit(0, kAllLanes, Engine::kCpAsync);
  g->wait(0, kAllLanes, Engine::kCpAsync, 1);
  thread(0, R, s(0));
  EXPECT_THAT(findings.take(), IsEmpty());
  thread(0, R, s(4), 2);  // lane 1's
  EXPECT_THAT(findings.take(), SizeIs(1));
  thread(0, R, s(8), 2);  // the group that may be open
  EXPECT_THAT(findings.take(), SizeIs(1));
  sync_block();
  thread(63, R, s(4));
  EXPECT_THAT(findings.take(), IsEmpty());
  thread(63, R, s(12), 2);
  ASSERT_THAT(kinds(), testing::ElementsAre("race"));
  EXPECT_THAT(found[0].message, HasSubstr("after the write by cp.async of thread 1 of block 0"));
}

TEST_F(CheckerTest, ACopyIsOrderedByThePhaseOfItsMbarrier) {
  g->mbarrier_init(0, 0, s(100), 0);
  g->mbarrier_init(0, 0, s(102), 0);
  sync_block();
  auto load = [&](std::byte* barrier, size_t to) { g->access(g->issue(0, 0, barrier, 64), s(to), 64, W, 1); };
  g->mbarrier_expect(0, 0, s(100), 64, 1);
  load(s(100), 0);
  load(s(102), 16);
  g->mbarrier_arrive(0, 1, s(100), 0);
  g->copied(s(102), 64);
  g->copied(s(100), 64);
  g->mbarrier_complete(s(100), 0);
  g->mbarrier_wait(1, kAllLanes, s(100));
  thread(40, R, s(0));
  EXPECT_THAT(findings.take(), IsEmpty());
  thread(40, R, s(16), 2);  // there, as it happens, but the other barrier tells
  ASSERT_THAT(kinds(), testing::ElementsAre("race"));
  EXPECT_THAT(found[0].message, HasSubstr("a copy that completes on the mbarrier at byte 408 of the shared memory"));
}

TEST_F(CheckerTest, APhaseThatEndsWithACopyInFlightHasAWrongCount) {
  g->mbarrier_init(0, 0, s(100), 0);
  g->mbarrier_expect(0, 0, s(100), 64, 1);
  g->access(g->issue(0, 0, s(100), 64), s(0), 64, W, 1);
  g->access(g->issue(0, 0, s(100), 64), s(16), 64, W, 1);
  g->mbarrier_arrive(0, 1, s(100), 0);
  g->copied(s(100), 64);
  g->mbarrier_complete(s(100), 2);
  ASSERT_THAT(kinds(), testing::ElementsAre("tx_count"));
  EXPECT_THAT(found[0].message, HasSubstr("64 bytes were announced (expect_tx), copies of 128 bytes were issued"));
}

TEST_F(CheckerTest, WgmmaReadsUntilItsGroupIsWaitedFor) {
  thread(0, W, s(0));
  g->fence_proxy(0, kAllLanes);
  sync_block();
  g->access(g->issue(0, -1, Engine::kWgmma), s(0), 4, R, 1);
  thread(0, W, s(0), 2);  // not waited for
  thread(0, R, s(0), 2);
  EXPECT_THAT(findings.take(), SizeIs(1));
  g->fence_proxy(0, kAllLanes);
  g->access(g->issue(0, -1, Engine::kWgmma), s(0), 4, R, 1);
  g->commit(0, kAllLanes, Engine::kWgmma);
  g->wait(0, kAllLanes, Engine::kWgmma, 0);
  thread(0, W, s(0));
  thread(0, R, s(0));
  EXPECT_THAT(kinds(), IsEmpty());
}

TEST_F(CheckerTest, TheAsyncProxyNeedsAFenceAfterWrites) {
  thread(0, W, s(0), 1);
  sync_block();
  g->access(g->issue(1, 0, Engine::kBulkRead), s(0), 4, R, 2);
  ASSERT_THAT(found = findings.take(), SizeIs(1));
  EXPECT_EQ(found[0].kind, "race");
  EXPECT_EQ(found[0].message,
            "the read of 's', byte 0 of the shared memory of block 0 by a bulk copy of thread 32 of block 0 (warp 1, lane 0) [kernel line "
            "20], in the async proxy, does not see the write by thread 0 of block 0 (warp 0, lane 0) at k.py:1 [kernel line 10]: no "
            "fence.proxy.async between them");
  thread(0, W, s(1), 1);
  sync_block();
  g->fence_proxy(1, 1);  // by who reads, after the barrier
  g->access(g->issue(1, 0, Engine::kBulkRead), s(1), 4, R, 2);
  thread(0, W, s(2), 1);
  g->fence_proxy(0, kAllLanes);  // by who wrote, before it
  thread(0, W, s(3), 1);
  sync_block();
  g->access(g->issue(1, -1, Engine::kWgmma), s(2), 4, R, 2);
  EXPECT_THAT(findings.take(), IsEmpty());
  g->access(g->issue(1, -1, Engine::kWgmma), s(3), 4, R, 2);  // written after the fence
  EXPECT_THAT(kinds(), testing::ElementsAre("race"));
}

TEST_F(CheckerTest, CopiesNeedNoFenceAmongThemselves) {
  g->mbarrier_init(0, 0, s(100), 0);
  sync_block();
  g->access(g->issue(0, 0, s(100), 64), s(0), 64, W, 1);
  g->copied(s(100), 64);
  g->mbarrier_complete(s(100), 0);
  g->mbarrier_wait(1, kAllLanes, s(100));
  g->access(g->issue(1, -1, Engine::kWgmma), s(0), 64, R, 2);
  EXPECT_THAT(kinds(), IsEmpty());
}

// Four registers of each lane that a wgmma of warp 0 adds to.
struct Accumulators {
  float of_lane[32][4];
  sim_lanes lanes;
  Accumulators() {
    for (int l = 0; l < 32; ++l) lanes.at[l] = of_lane[l];
  }
};

TEST_F(CheckerTest, RegistersOfWgmmaAreItsOwnUntilTheWait) {
  Accumulators d;
  auto wgmma = [&] { g->use_registers(g->issue(0, -1, Engine::kWgmma), d.lanes, 16, 1); };
  g->wgmma_fence(0);
  wgmma(), wgmma();  // of one shape: nothing between
  g->commit(0, kAllLanes, Engine::kWgmma);
  g->register_access(0, 5, &d.of_lane[5][3], 4, R, 2);
  g->register_access(1, 5, &d.of_lane[5][3], 4, R, 2);  // another warp's registers
  ASSERT_THAT(found = findings.take(), SizeIs(1));
  EXPECT_EQ(found[0].kind, "race");
  EXPECT_EQ(found[0].count, 1);
  EXPECT_EQ(found[0].message,
            "thread 5 of block 0 (warp 0, lane 5) reads elements of 's' while the wgmma at k.py:1 [kernel line 10] may still work with "
            "them: no wgmma.wait_group between the two [kernel line 20]");
  g->wait(0, kAllLanes, Engine::kWgmma, 0);
  g->register_access(0, 5, &d.of_lane[5][3], 4, R, 2);
  EXPECT_THAT(kinds(), IsEmpty());
}

TEST_F(CheckerTest, WgmmaNeedsAFenceAfterAccessesToItsRegisters) {
  Accumulators d;
  auto wgmma = [&] {
    g->use_registers(g->issue(0, -1, Engine::kWgmma), d.lanes, 16, 1);
    g->commit(0, kAllLanes, Engine::kWgmma);
    g->wait(0, kAllLanes, Engine::kWgmma, 0);
  };
  wgmma();
  ASSERT_THAT(found = findings.take(), SizeIs(1));
  EXPECT_EQ(found[0].message, "warp 0 of block 0 begins a wgmma before any wgmma.fence [kernel line 10]");
  g->wgmma_fence(0);
  wgmma();
  g->register_access(0, 7, &d.of_lane[7][0], 4, W, 2);
  g->wgmma_fence(0);
  wgmma();
  EXPECT_THAT(findings.take(), IsEmpty());
  g->register_access(0, 7, &d.of_lane[7][0], 4, W, 2);
  wgmma();
  ASSERT_THAT(kinds(), testing::ElementsAre("race"));
  EXPECT_THAT(found[0].message, HasSubstr("begins a wgmma with registers that thread 7 of block 0 (warp 0, lane 7) accesses at k.py:2"));
}

TEST_F(CheckerTest, RacesInTheSameStretchOfTheTextAreOneFinding) {
  // Sites 1 and 2 stand before a barrier of the text, site 3 after it.
  sites[1].stretch = sites[2].stretch = 4, sites[3].stretch = 5;
  thread(0, W, s(0), 1), thread(32, R, s(0), 2);
  thread(1, W, s(1), 2), thread(33, W, s(1), 2);
  thread(2, W, s(2), 1), thread(34, R, s(2), 3);  // also mended by a barrier after site 1
  thread(3, W, s(3), 3), thread(35, R, s(3), 3);  // not by that one
  ASSERT_THAT(kinds(), testing::ElementsAre("race", "race"));
  EXPECT_EQ(found[0].count, 3);
  EXPECT_EQ(found[0].line, 20);
  EXPECT_EQ(found[1].count, 1);
  EXPECT_EQ(found[1].line, 30);
}

TEST_F(CheckerTest, AReadBeforeTheFirstWriteIsARaceUnlessThatComesInOrder) {
  thread(0, R, s(0), 1);
  thread(32, W, s(0), 2);
  thread(0, R, s(1), 1);
  sync_block();
  thread(32, W, s(1), 2);
  ASSERT_THAT(kinds(), testing::ElementsAre("race", "uninitialised"));
  EXPECT_EQ(found[0].count, 1);
  EXPECT_EQ(found[1].count, 1);
  EXPECT_THAT(found[1].message, HasSubstr("thread 0 of block 0 (warp 0, lane 0) reads 's', byte 4 of the shared memory of block 0"));
}

TEST_F(CheckerTest, OutOfBoundsAndMisalignedAccessesAreLeftOut) {
  EXPECT_FALSE(g->access(0, 0, x.data() + 4096, 4, R, 3));
  EXPECT_FALSE(g->access(0, 0, x.data() + 2, 4, R, 2));
  EXPECT_TRUE(g->access(0, 0, x.data() + 4092, 4, R, 3));
  g->out_of_bounds(0, 1, 64, 64, 1);
  ASSERT_THAT(kinds(), testing::ElementsAre("out_of_bounds", "misaligned", "out_of_bounds"));
  EXPECT_THAT(found[0].message, HasSubstr("a read of 4 bytes at byte 4096 of 'x' (4096 bytes), outside of all memory of the launch"));
  EXPECT_THAT(found[1].message, HasSubstr("which is not a multiple of 4"));
  EXPECT_THAT(found[2].message, HasSubstr("accesses element 64 of 's', which has 64"));
}

TEST_F(CheckerTest, ABarrierThatSomeWarpsLeaveOutIsDivergent) {
  g->block_barrier(0, 1);
  ASSERT_THAT(kinds(), testing::ElementsAre("divergent_barrier"));
  EXPECT_EQ(found[0].place, "k.py:1");
}

TEST_F(CheckerTest, LanesThatDoNotExistAreNotWaitedFor) {
  Checker small(launch(40), findings);  // the second warp has 8 lanes
  Group& group = small.begin({block(0)});
  group.access(1, 3, s(0), 4, W, 1), *s(0) = std::byte{1};
  group.barrier_arrive(0, kAllLanes, 0);
  group.barrier_arrive(1, 0xff, 0);
  group.barrier_complete(0);
  group.barrier_leave(0, kAllLanes, 0);
  group.access(0, 3, s(0), 4, R, 2);
  small.end(group);
  EXPECT_THAT(kinds(), IsEmpty());
}

TEST_F(CheckerTest, BlocksOfAClusterShareABarrier) {
  checker.end(*g);
  g = &checker.begin({block(0, 0), block(1, 1)});
  std::byte* theirs = shared.data() + 1024;
  thread(0, W, theirs, 1);  // block 0 into block 1
  thread(64 + 5, R, theirs, 2);
  EXPECT_THAT(findings.take(), SizeIs(1));
  for (int w : {0, 1, 2, 3}) g->barrier_arrive(w, kAllLanes, Group::kClusterBarrier);
  g->barrier_complete(Group::kClusterBarrier);
  for (int w : {0, 1, 2, 3}) g->barrier_leave(w, kAllLanes, Group::kClusterBarrier);
  thread(64 + 6, R, theirs, 2);
  EXPECT_THAT(kinds(), IsEmpty());
}

}  // namespace
}  // namespace kiln::sim::checker
