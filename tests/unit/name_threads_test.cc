// Thread indices, warps and lanes get names.
#include <gmock/gmock.h>

#include "import/import.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "legalise/legalise.h"

namespace kiln::legalise {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A kernel over A (int32) of 128 threads along x, and `rows` along y, with `statement` after the pass, as script. threadIdx.x is `name`.
std::string named(const std::string& name, const std::string& statement, int rows = 1) {
  std::string text =
      "@I.ir_module\nclass Module:\n    @T.prim_func\n    def k(A: T.handle(\"int32\", \"global\")):\n"
      "        A_1 = T.decl_buffer((65536,), \"int32\", data=A)\n        " +
      name + " = T.launch_thread(\"threadIdx.x\", 128)\n        ty = T.launch_thread(\"threadIdx.y\", " + std::to_string(rows) +
      ")\n        " + statement + "\n";
  auto module = parse_module(text, "k.py");
  if (!module) return "error: " + module.error().to_string();
  ir::Module out;
  out.functions = {name_threads(out.arena, (*module)->functions[0])};
  EXPECT_THAT(ir::verify(out), testing::IsEmpty());
  return ir::print(out);
}

TEST(NameThreads, PartsOfTheIndexAreWarpAndLane) {
  EXPECT_THAT(named("tx", "A_1[(tx >> 5) * 8 + tx % 32] = tx"),
              AllOf(HasSubstr("= tx >> 5"), HasSubstr("= tx & 31"), HasSubstr("A_1[warp * 8 + lane] = tx")));
  EXPECT_THAT(named("tx", "A_1[tx // 128 * 8 + ((tx & 63) >> 5)] = tx % 64 // 32"),
              HasSubstr("A_1[warpgroup * 8 + (warp & 1)] = warp & 1"));
}

TEST(NameThreads, OtherPartsStay) {
  EXPECT_THAT(named("tx", "A_1[(tx >> 2) + (tx & 15)] = (tx & 15) >> 5"),
              AllOf(HasSubstr("A_1[(tx >> 2) + (tx & 15)] = (tx & 15) >> 5"), Not(HasSubstr("warp")), Not(HasSubstr("lane"))));
}

TEST(NameThreads, RowsOfThreadsHaveNoWarpsAlongX) {
  EXPECT_THAT(named("tx", "A_1[tx >> 5] = ty", 2), AllOf(HasSubstr("A_1[tx >> 5]"), Not(HasSubstr("warp"))));
}

TEST(NameThreads, OnlyIndicesWithoutANameGetAnother) {
  EXPECT_THAT(named("thread_binding", "A_1[thread_binding] = 0"), HasSubstr("A_1[tx] = 0"));
  EXPECT_THAT(named("i", "A_1[i] = 0"), HasSubstr("A_1[i] = 0"));
}

}  // namespace
}  // namespace kiln::legalise
