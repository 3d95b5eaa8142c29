// What accesses cost: figures worked out by hand from 32 banks of 4 bytes and sectors of 32 bytes.
#include "backends/sim/checker/counters.h"

#include <gmock/gmock.h>

#include <functional>

namespace kiln::sim::checker {
namespace {

// Lane l accesses `bytes` at offset(l), of the lanes from 0 to `lanes`.
std::vector<Piece> request(size_t bytes, const std::function<size_t(size_t)>& offset, size_t lanes = 32) {
  std::vector<Piece> all;
  for (size_t l = 0; l < lanes; ++l) all.push_back({static_cast<int>(l), 4096 + offset(l), bytes});
  return all;
}
void expect(Cost c, int64_t taken, int64_t ideal) {
  EXPECT_EQ(c.taken, taken);
  EXPECT_EQ(c.ideal, ideal);
}

TEST(Counters, BanksOfSharedMemory) {
  expect(shared_cost(request(4, [](size_t l) { return 4 * l; })), 1, 1);
  expect(shared_cost(request(4, [](size_t) { return 64; })), 1, 1);           // all read one word
  expect(shared_cost(request(4, [](size_t l) { return 8 * l; })), 2, 1);      // every other bank, two words each
  expect(shared_cost(request(4, [](size_t l) { return 128 * l; })), 32, 1);   // one bank
  expect(shared_cost(request(4, [](size_t l) { return 132 * l; })), 1, 1);    // a line padded by a word
  expect(shared_cost(request(2, [](size_t l) { return 2 * l; })), 1, 1);      // two lanes a word
  expect(shared_cost(request(8, [](size_t l) { return 8 * l; })), 2, 2);      // half warps
  expect(shared_cost(request(16, [](size_t l) { return 16 * l; })), 4, 4);    // quarters
  expect(shared_cost(request(16, [](size_t l) { return 128 * l; })), 32, 4);  // in each quarter eight words in each of four banks
  expect(shared_cost(request(
             16, [](size_t l) { return 16 * l; }, 8)),
         1, 1);  // a quarter alone, as ldmatrix does
}

TEST(Counters, SectorsOfGlobalMemory) {
  expect(global_cost(request(4, [](size_t l) { return 4 * l; })), 4, 4);
  expect(global_cost(request(4, [](size_t l) { return 4 * l + 4; })), 5, 4);  // begins within a sector
  expect(global_cost(request(4, [](size_t l) { return 32 * l; })), 32, 4);
  expect(global_cost(request(4, [](size_t) { return 8; })), 1, 1);
  expect(global_cost(request(2, [](size_t l) { return 2 * l; })), 2, 2);
  expect(global_cost(request(16, [](size_t l) { return 16 * l; })), 16, 16);
}

// Two runs of code in which each lane accesses two vectors of four floats, element by element.
TEST(Counters, WhatLanesDoOneAfterTheOtherIsARequestOfAll) {
  Counters counters;
  alignas(128) static std::byte memory[1024];
  for (int run = 0; run < 2; ++run) {
    for (int lane = 0; lane < 32; ++lane) {
      for (int vector = 0; vector < 2; ++vector) {
        for (int e = 0; e < 4; ++e) counters.add(0, lane, memory + 512 * vector + 16 * lane + 4 * e, 4, true, Access::kWrite, 1, 4);
      }
    }
  }
  for (int i = 0; i < 3; ++i) counters.add(0, 0, memory, 4, false, Access::kRead, 2, 1);  // one lane alone
  std::vector<Site> sites = {{}, {"k.py:1", 20, "s"}, {"k.py:2", 10, "x"}};
  std::vector<runtime::AccessCount> all = counters.take("kernel", sites);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].line, 10);
  EXPECT_EQ(all[0].memory + " " + all[0].access, "global read");
  EXPECT_EQ(all[0].requests, 3);
  EXPECT_EQ(all[0].taken, 3);
  EXPECT_EQ(all[1].memory + " " + all[1].access, "shared write");
  EXPECT_EQ(all[1].requests, 4);  // two runs of two
  EXPECT_EQ(all[1].taken, 16);    // four quarters each
  EXPECT_EQ(all[1].ideal, 16);
}

}  // namespace
}  // namespace kiln::sim::checker
