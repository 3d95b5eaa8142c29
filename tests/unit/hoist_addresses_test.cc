// Addresses that loops do not change become pointers before them.
#include <gmock/gmock.h>

#include "import/import.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "legalise/legalise.h"

namespace kiln::legalise {
namespace {

using testing::HasSubstr;
using testing::Not;

// A kernel over A and C (float32) with `body` at an indent of 8, after the pass, as script.
std::string hoisted(const std::string& body) {
  std::string text =
      "@I.ir_module\nclass Module:\n    @T.prim_func\n"
      "    def k(A: T.handle(\"float32\", \"global\"), C: T.handle(\"float32\", \"global\"), n: T.int32):\n"
      "        A_1 = T.decl_buffer((65536,), data=A)\n        C_1 = T.decl_buffer((65536,), data=C)\n"
      "        bx = T.launch_thread(\"blockIdx.x\", 8)\n        tx = T.launch_thread(\"threadIdx.x\", 128)\n";
  auto module = parse_module(text + body, "k.py");
  if (!module) return "error: " + module.error().to_string();
  ir::Module out;
  out.functions = {hoist_addresses(out.arena, (*module)->functions[0])};
  EXPECT_THAT(ir::verify(out), testing::IsEmpty());
  return ir::print(out);
}

TEST(HoistAddresses, TermsThatTheLoopDoesNotChangeGoBeforeIt) {
  std::string text = hoisted("        for i in T.unroll(8):\n            C_1[bx * 1024 + tx * 8 + i] = A_1[bx * 1024 + i * 128 + tx]\n");
  EXPECT_THAT(text, HasSubstr("\"tirx.address_of\", A_1[bx * 1024 + tx])"));
  EXPECT_THAT(text, HasSubstr("\"tirx.address_of\", C_1[bx * 1024 + tx * 8])"));
  EXPECT_LT(text.find("address_of"), text.find("T.unroll"));
}

TEST(HoistAddresses, WhatIsLeftGoesBeforeTheLoopWithin) {
  std::string text = hoisted(
      "        for k in range(16):\n            for i in T.unroll(8):\n"
      "                C_1[tx * 8 + k % 3 * 4096 + i] = T.float32(1)\n");
  size_t thread = text.find("C_1[tx * 8])"), outer = text.find("range(16)"), step = text.find("[k % 3 * 4096])"),
         inner = text.find("T.unroll");
  EXPECT_LT(thread, outer) << text;
  EXPECT_LT(outer, step);
  EXPECT_LT(step, inner);
  EXPECT_NE(inner, std::string::npos);
}

TEST(HoistAddresses, LoopsShareAPointer) {
  std::string loop = "        for i in T.unroll(8):\n            C_1[bx * 1024 + tx * 8 + i] = T.float32(1)\n";
  std::string text = hoisted(loop + loop);
  EXPECT_EQ(text.find("address_of"), text.rfind("address_of"));
}

TEST(HoistAddresses, APointerOfABranchIsNotUsedOutsideIt) {
  auto inner = [&](const std::string& head) {
    return "        " + head + "\n            for i in T.unroll(8):\n                C_1[bx * 1024 + tx * 8 + i] = T.float32(1)\n";
  };
  std::string text = hoisted(inner("if tx < 4:") + inner("else:"));
  EXPECT_NE(text.find("address_of"), text.rfind("address_of"));
}

TEST(HoistAddresses, WhatMayBeNegativeStaysWithWhatFollows) {  // the rest of the sum alone might leave the range of int32
  EXPECT_THAT(hoisted("        for i in T.unroll(8):\n            C_1[n * 8 + tx * 8 + i] = T.float32(1)\n"), Not(HasSubstr("address_of")));
  EXPECT_THAT(hoisted("        for i in T.unroll(8):\n            C_1[tx * 8 + n * 8 + i] = T.float32(1)\n"),
              HasSubstr("\"tirx.address_of\", C_1[tx * 8])"));
}

TEST(HoistAddresses, ASubtractedLiteralStaysInTheLoop) {
  std::string text = hoisted("        for i in T.unroll(8):\n            C_1[bx * 1024 + tx * 8 + i - 512] = T.float32(1)\n");
  EXPECT_THAT(text, HasSubstr("\"tirx.address_of\", C_1[bx * 1024 + tx * 8])"));
  EXPECT_THAT(text, HasSubstr("512] = "));
}

TEST(HoistAddresses, MemoryIsReadWhereItWas) {
  std::string text =
      hoisted("        for i in T.unroll(8):\n            C_1[tx * 8 + T.Cast(\"int32\", A_1[tx * 8]) + i] = T.float32(1)\n");
  EXPECT_THAT(text, HasSubstr("\"tirx.address_of\", C_1[tx * 8])"));
  EXPECT_GT(text.find("\"int32\""), text.find("T.unroll"));
}

TEST(HoistAddresses, RegistersAndWhatIsNotInALoopStay) {
  EXPECT_THAT(hoisted("        C_1[bx * 1024 + tx * 8] = T.float32(1)\n"), Not(HasSubstr("address_of")));
  EXPECT_THAT(hoisted("        r = T.alloc_buffer((64,), scope=\"local\")\n        for i in T.unroll(8):\n"
                      "            r[tx * 2 + i] = T.float32(1)\n"),
              Not(HasSubstr("address_of")));
}

}  // namespace
}  // namespace kiln::legalise
