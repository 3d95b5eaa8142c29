// Memory that is each thread's own: parameters in local scope, and arrays that matrix loads fill.
#include "intrinsics/registers.h"

#include <gmock/gmock.h>

#include "import/import.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace kiln::intrinsics {
namespace {

using testing::HasSubstr;
using testing::Not;

// A kernel with `params` beside A and `body` at an indent of 8, after the pass, as script.
std::string owned(const std::string& params, const std::string& body) {
  std::string text =
      "@I.ir_module\nclass Module:\n    @T.prim_func\n    def k(A: T.handle(\"float16\", \"global\")" + params + "):\n" + body;
  auto module = parse_module(text, "k.py");
  if (!module) return "error: " + module.error().to_string();
  ir::Module out;
  out.functions = {own_registers(out.arena, (*module)->functions[0])};
  EXPECT_THAT(ir::verify(out), testing::IsEmpty());
  return ir::print(out);
}

TEST(OwnRegisters, AParameterInLocalScopeIsAnArrayOfTheThread) {
  std::string text = owned(", red: T.handle(\"float32\", \"local\")",
                           "        red_1 = T.decl_buffer((3,), \"float32\", data=red)\n        red_1[0] = T.float32(1)\n");
  EXPECT_THAT(text, HasSubstr("red: T.handle(\"float32\", \"global\")"));
  EXPECT_THAT(text, HasSubstr("= T.alloc_buffer((3,), \"float32\", scope=\"local\")"));
}

TEST(OwnRegisters, OtherParametersAreTheCallers) {
  std::string text = owned("", "        A_1 = T.decl_buffer((3,), \"float16\", data=A)\n        A_1[0] = T.float16(1)\n");
  EXPECT_THAT(text, Not(HasSubstr("alloc_buffer")));
}

// Loads `count` matrices to element `index` of an array of 16 for each i below 8.
std::string loaded(int count, const std::string& index) {
  return owned(", n: T.int32",
               "        s = T.alloc_buffer((1024,), \"float16\", scope=\"shared\")\n"
               "        r = T.alloc_buffer((16,), \"float16\", scope=\"local\")\n"
               "        for i in T.unroll(8):\n            T.call_intrin(\"handle\", \"tl.ptx_ldmatrix\", T.bool(True), " +
                   std::to_string(count) + ", T.address_of(s[i * 8]), T.address_of(r[" + index + "]))\n");
}

TEST(OwnRegisters, AnArrayHoldsAllThatAMatrixLoadWrites) {
  EXPECT_THAT(loaded(2, "i * 2"), HasSubstr("r = T.alloc_buffer((18,), \"float16\""));      // elements 14 to 17
  EXPECT_THAT(loaded(4, "i * 2"), HasSubstr("r = T.alloc_buffer((22,), \"float16\""));      // 14 to 21
  EXPECT_THAT(loaded(2, "4 + i * 1"), HasSubstr("r = T.alloc_buffer((16,), \"float16\""));  // 11 to 14
  EXPECT_THAT(loaded(1, "i * 2"), HasSubstr("r = T.alloc_buffer((16,), \"float16\""));      // 14 to 15
}

TEST(OwnRegisters, ALoadAtAnElementThatIsNotKnownMayFillFromTheLastOn) {
  EXPECT_THAT(loaded(2, "n"), HasSubstr("r = T.alloc_buffer((19,), \"float16\""));        // 15 to 18
  EXPECT_THAT(loaded(2, "i * 100"), HasSubstr("r = T.alloc_buffer((19,), \"float16\""));  // beyond the array: not what this mends
}

}  // namespace
}  // namespace kiln::intrinsics
