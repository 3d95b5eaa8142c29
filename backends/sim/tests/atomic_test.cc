// Atomic updates of memory.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

#include "backends/sim/tests/runtime.h"

namespace kiln::sim::test {
namespace {

struct Update {
  int op, dtype;
  const void *operand, *compare;
  void *target, *old;
};

// Applies one update by a kernel of one lane.
void apply(int op, int dtype, void* target, const void* operand, const void* compare, void* old) {
  Update u{op, dtype, operand, compare, target, old};
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    const Update& x = *static_cast<Update*>(args[0]);
    w->sim->atomic(w, 0, x.op, x.dtype, x.target, x.operand, x.compare, x.old, SIM_RELAXED, SIM_SCOPE_GPU, 1);
  };
  EXPECT_EQ(error_of(run(kernel, {}, {&u})), "");
}

template <class T>
T after(int op, int dtype, T memory, T operand, T compare = {}) {
  T before = memory, old{};
  apply(op, dtype, &memory, &operand, &compare, &old);
  EXPECT_EQ(std::memcmp(&old, &before, sizeof old), 0);
  return memory;
}

TEST(SimAtomic, Integers) {
  EXPECT_EQ(after<int32_t>(SIM_ADD, SIM_S32, INT32_MAX, 1), INT32_MIN);
  EXPECT_EQ(after<int32_t>(SIM_MIN, SIM_S32, 5, -3), -3);
  EXPECT_EQ(after<int32_t>(SIM_MAX, SIM_S32, 5, -3), 5);
  EXPECT_EQ(after<uint32_t>(SIM_MIN, SIM_U32, 5, 0xFFFFFFFD), 5u);
  EXPECT_EQ(after<uint32_t>(SIM_MAX, SIM_U32, 5, 0xFFFFFFFD), 0xFFFFFFFD);
  EXPECT_EQ(after<uint32_t>(SIM_AND, SIM_B32, 0xFF0, 0x0FF), 0x0F0u);
  EXPECT_EQ(after<uint32_t>(SIM_OR, SIM_B32, 0xFF0, 0x0FF), 0xFFFu);
  EXPECT_EQ(after<uint32_t>(SIM_XOR, SIM_B32, 0xFF0, 0x0FF), 0xF0Fu);
  EXPECT_EQ(after<uint32_t>(SIM_EXCH, SIM_B32, 1, 2), 2u);
  EXPECT_EQ(after<uint32_t>(SIM_CAS, SIM_B32, 1, 2, 1), 2u);
  EXPECT_EQ(after<uint32_t>(SIM_CAS, SIM_B32, 1, 2, 3), 1u);
  EXPECT_EQ(after<uint16_t>(SIM_CAS, SIM_B16, 1, 2, 1), 2);
  EXPECT_EQ(after<int64_t>(SIM_ADD, SIM_S64, 1ll << 40, -1), (1ll << 40) - 1);
  EXPECT_EQ(after<uint64_t>(SIM_MAX, SIM_U64, 1, ~0ull), ~0ull);
}

TEST(SimAtomic, IncrementAndDecrementWrapAtTheOperand) {
  EXPECT_EQ(after<uint32_t>(SIM_INC, SIM_U32, 3, 5), 4u);
  EXPECT_EQ(after<uint32_t>(SIM_INC, SIM_U32, 5, 5), 0u);
  EXPECT_EQ(after<uint32_t>(SIM_DEC, SIM_U32, 3, 5), 2u);
  EXPECT_EQ(after<uint32_t>(SIM_DEC, SIM_U32, 0, 5), 5u);
  EXPECT_EQ(after<uint32_t>(SIM_DEC, SIM_U32, 9, 5), 5u);
}

TEST(SimAtomic, Floats) {
  EXPECT_EQ(after<float>(SIM_ADD, SIM_F32, 1.5f, 2.25f), 3.75f);
  EXPECT_EQ(after<float>(SIM_MIN, SIM_F32, 1.5f, -2.0f), -2.0f);
  EXPECT_EQ(after<float>(SIM_MAX, SIM_F32, std::nanf(""), 2.0f), 2.0f);
  EXPECT_EQ(after<double>(SIM_ADD, SIM_F64, 1e300, 1e300), 2e300);
  EXPECT_EQ(after<uint16_t>(SIM_ADD, SIM_F16, 0x3C00, 0x3C00), 0x4000);   // 1 + 1
  EXPECT_EQ(after<uint16_t>(SIM_ADD, SIM_F16, 0x6800, 0x3C00), 0x6800);   // 2048 + 1: a tie, to even
  EXPECT_EQ(after<uint16_t>(SIM_ADD, SIM_F16, 0x6801, 0x3C00), 0x6802);   // 2050 + 1
  EXPECT_EQ(after<uint16_t>(SIM_ADD, SIM_BF16, 0x3F80, 0x4000), 0x4040);  // 1 + 2
  EXPECT_EQ(after<uint16_t>(SIM_MAX, SIM_BF16, 0x3F80, 0xC000), 0x3F80);
  EXPECT_EQ(after<uint32_t>(SIM_ADD, SIM_F16X2, 0x3C004000, 0x3C003C00), 0x40004200u);  // (1, 2) + (1, 1)
  float memory[4] = {1, 2, 3, 4}, operand[4] = {10, 20, 30, 40}, old[4];
  apply(SIM_ADD, SIM_F32X4, memory, operand, nullptr, old);
  EXPECT_THAT(memory, testing::ElementsAre(11, 22, 33, 44));
  EXPECT_THAT(old, testing::ElementsAre(1, 2, 3, 4));
}

TEST(SimAtomic, ValuesOf128Bits) {
  alignas(16) uint64_t memory[2] = {1, 2};
  uint64_t operand[2] = {3, 4}, compare[2] = {1, 2}, old[2];
  apply(SIM_CAS, SIM_B128, memory, operand, compare, old);
  EXPECT_THAT(memory, testing::ElementsAre(3, 4));
  apply(SIM_CAS, SIM_B128, memory, operand, compare, old);
  EXPECT_THAT(old, testing::ElementsAre(3, 4));
}

TEST(SimAtomic, BlocksOnSeveralThreadsLoseNothing) {
  struct Data {
    uint32_t count = 0;
    float sum = 0;
    uint16_t half[2] = {0, 0};
  } d;
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    Data& data = *static_cast<Data*>(args[0]);
    uint32_t one = 1;
    float half = 0.5f;
    uint16_t unit = 0x3C00;
    each_lane(kAll, [&](int l) {
      w->sim->atomic(w, l, SIM_ADD, SIM_U32, &data.count, &one, nullptr, nullptr, SIM_RELAXED, SIM_SCOPE_GPU, 1);
      w->sim->atomic(w, l, SIM_ADD, SIM_F32, &data.sum, &half, nullptr, nullptr, SIM_RELAXED, SIM_SCOPE_GPU, 1);
    });
    w->sim->atomic(w, 0, SIM_ADD, SIM_F16, &data.half[1], &unit, nullptr, nullptr, SIM_RELAXED, SIM_SCOPE_GPU, 1);
  };
  EXPECT_EQ(error_of(run(kernel, {.grid = {1000, 1, 1}, .threads = 4}, {&d})), "");
  EXPECT_EQ(d.count, 32000u);
  EXPECT_EQ(d.sum, 16000.0f);
  EXPECT_EQ(d.half[0], 0);
  EXPECT_EQ(d.half[1], 0x63D0);  // 1000
}

TEST(SimAtomic, MisalignedOnesAreErrors) {
  alignas(8) char memory[16] = {};
  sim_kernel kernel = [](sim_warp* w, void* const* args) {
    int32_t one = 1;
    w->sim->atomic(w, 2, SIM_ADD, SIM_S32, static_cast<char*>(args[0]) + 2, &one, nullptr, nullptr, SIM_RELAXED, SIM_SCOPE_GPU, 1);
  };
  EXPECT_EQ(error_of(run(kernel, {}, {memory})),
            "k.py:1: kernel 'k': an atomic operation on 4 bytes that are not aligned [block (0, 0, 0), warp 0, lane 2]");
}

}  // namespace
}  // namespace kiln::sim::test
