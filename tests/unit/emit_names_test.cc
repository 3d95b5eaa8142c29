#include <gtest/gtest.h>

#include "emit/c_family.h"
#include "emit/names.h"
#include "ir/builder.h"

namespace kiln::emit {
namespace {

TEST(Names, BecomeIdentifiers) {
  EXPECT_EQ(identifier("a-b"), "a_b");
  EXPECT_EQ(identifier("1st"), "v1st");
  EXPECT_EQ(identifier(""), "v");
  EXPECT_EQ(identifier("__linux__"), "v__linux__");
  EXPECT_EQ(identifier("\xC3\xBCn"), "v__n");
}

TEST(Names, OfDifferentVariablesDiffer) {
  Arena arena;
  ir::Builder b(arena);
  Names language = {"int"};
  NameScope names(Reserved{language, {"f"}});
  EXPECT_EQ(names.declare(b.var("a.b", ir::kInt32)), "a_b");
  EXPECT_EQ(names.declare(b.var("a_b", ir::kInt32)), "a_b_1");
  EXPECT_EQ(names.declare(b.var("int", ir::kInt32)), "int_1");
  EXPECT_EQ(names.declare(b.var("f", ir::kInt32)), "f_1");
}

TEST(Names, AreFreeAgainAfterTheirScope) {
  Arena arena;
  ir::Builder b(arena);
  Names language;
  NameScope names(Reserved{language, {}});
  for (int loop = 0; loop < 2; ++loop) {
    names.push();
    EXPECT_EQ(names.declare(b.var("i", ir::kInt32)), "i");
    names.pop();
  }
}

TEST(Text, IsQuotedForC) {
  EXPECT_EQ(quoted("a\"b\\c\n"), "\"a\\\"b\\\\c\\n\"");
  EXPECT_EQ(quoted("\xC3\xBC?"), "\"\\303\\274\\077\"");
  EXPECT_EQ(comment("x\ny\\"), "x_y_");
}

}  // namespace
}  // namespace kiln::emit
