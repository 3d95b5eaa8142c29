// What is wrong with a text is one error, with its place.
#include <gtest/gtest.h>

#include "ir/text.h"

namespace kiln::ir {
namespace {

struct Wrong {
  const char* name;
  const char* text;
  const char* error;
};

std::string error_of(std::string_view text) {
  auto m = parse(text, "k.py");
  return m.ok() ? "none" : m.error().to_string();
}

class ScriptModuleError : public testing::TestWithParam<Wrong> {};
TEST_P(ScriptModuleError, IsNamed) { EXPECT_EQ(error_of(GetParam().text), GetParam().error); }

INSTANTIATE_TEST_SUITE_P(
    Text, ScriptModuleError,
    testing::Values(
        Wrong{"Empty", "", "k.py:1:1: expected a module, got the end of the file"},
        Wrong{"SomethingElse", "x", "k.py:1:1: expected a module or a function, got 'x' (a module is TVMScript text or JSON saved by TVM)"},
        Wrong{"CutAfterClass", "class M:\n", "k.py:2:1: expected an indented block"},
        Wrong{"Decorator", "@T.macro\ndef f():\n    pass\n", "k.py:1:9: expected @T.prim_func, got @T.macro"},
        Wrong{"NotLowered", "@T.prim_func\ndef f(A: T.Buffer((4,))):\n    pass\n",
              "k.py:2:10: a parameter of type T.Buffer belongs to a function that is not lowered (print the module after the lowering "
              "passes)"},
        Wrong{"ParameterTwice", "@T.prim_func\ndef f(a: T.int32, a: T.int32):\n    pass\n", "k.py:2:29: parameter 'a' is given twice"},
        Wrong{"NoBody", "@T.prim_func\ndef f():\npass\n", "k.py:3:1: expected an indented block, got 'pass'"}),
    [](const auto& info) { return info.param.name; });

// `text` is line 4 of a function with a buffer B over the pointer A and a number n, indented by four.
class ScriptError : public testing::TestWithParam<Wrong> {};
TEST_P(ScriptError, IsNamed) {
  std::string text = "@T.prim_func\ndef f(A: T.handle(\"float32\", \"global\"), n: T.int32):\n    B = T.decl_buffer((64,), data=A)\n    ";
  EXPECT_EQ(error_of(text + GetParam().text + "\n"), GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Text, ScriptError,
    testing::Values(
        Wrong{"Undefined", "B[m] = T.float32(1.0)", "k.py:4:7: 'm' is not defined"},
        Wrong{"NoValue", "B[0] =", "k.py:4:11: expected an expression, got the end of the line"},
        Wrong{"OpenBracket", "B[0] = (1", "k.py:5:1: expected ')', got the end of the line"},
        Wrong{"CloseBracket", "B[0] = 1)", "k.py:4:13: unexpected ')'"}, Wrong{"OpenIndex", "B[0 = 1", "k.py:4:9: expected ']', got '='"},
        Wrong{"Operator", "T.nope(1)",
              "k.py:4:5: 'T.nope' is not known (an operator of a newer compiler is written T.call_intrin(dtype, \"tirx.name\", ...))"},
        Wrong{"Dtype", "T.Cast(\"flot32\", n)", "k.py:4:12: 'flot32' is not a dtype (expected one such as int32, float16x4, bfloat16)"},
        Wrong{"ScalableVector", "T.Cast(\"int32xvscalex4\", n)",
              "k.py:4:12: scalable vector dtype 'int32xvscalex4' is not supported (lower with a fixed vector width)"},
        Wrong{"Assignment", "x = n + 1",
              "k.py:4:9: expected T.alloc_buffer or the like, got 'n' (a variable is bound by `name: T.int32 = value`)"},
        Wrong{"SliceOfUnknownLength", "B[n:n + n] = B[0]", "k.py:4:7: a slice of unknown length (write start:start + n)"},
        Wrong{"ChainOfComparisons", "B[0] = n < 1 < 2", "k.py:4:18: a chain of comparisons (put one of them in parentheses)"},
        Wrong{"HugeInteger", "T.evaluate(99999999999999999999)", "k.py:4:16: '99999999999999999999' is not a number of at most 64 bits"},
        Wrong{"RealThatIsNone", "T.evaluate(T.float32(\"big\"))", "k.py:4:16: expected \"inf\", \"-inf\" or \"nan\""},
        Wrong{"NoLanes", "T.evaluate(T.Broadcast(n, 0))", "k.py:4:28: expected a number of lanes from 1 to 65535, got 0"},
        Wrong{"LetWithoutValue", "T.evaluate(T.Let(n))", "k.py:4:23: expected 'where', got ')'"},
        Wrong{"FunctionOfNoModule", "T.evaluate(Module.g(1))", "k.py:4:16: function 'g' is not in the module"},
        Wrong{"Loop", "for i in T.foo(4):",
              "k.py:4:19: 'T.foo' is not a kind of loop (expected serial, parallel, vectorized, unroll or thread_binding)"},
        Wrong{"GridOfOtherRank", "for i, j in T.grid(4):", "k.py:4:27: expected 1 loop variables, got 2"},
        Wrong{"Block", "with T.sblock(\"b\"):",
              "k.py:4:10: expected T.attr or T.launch_thread, got 'T' (blocks (T.sblock) are lowered before a module gets here)"},
        Wrong{"AttrWithoutKey", "T.attr(A, 1, 2)", "k.py:4:15: expected a string, got '1'"},
        Wrong{"OpenString", "T.evaluate(\"abc", "k.py:4:16: a string without an end"},
        Wrong{"Escape", "T.evaluate(\"a\\xZZ\")", "k.py:4:16: a string with a broken \\x escape"},
        Wrong{"Character", "T.evaluate($)", "k.py:4:16: unexpected character '$'"},
        Wrong{"Binary", "T.evaluate(\x01)", "k.py:4:16: unexpected byte 1"},
        Wrong{"Tab", "pass\n\tB[0] = 1", "k.py:5:1: expected spaces as indentation, got a tab"},
        Wrong{"Dedent", "pass\n  B[0] = 1", "k.py:5:3: indentation matches no enclosing block"},
        Wrong{"MetadataLeftOut", "T.evaluate(metadata[\"a\"][0])",
              "k.py:4:16: a value that was left out of the text (print the module with show_meta=True)"},
        Wrong{"BufferProperty", "s = T.alloc_buffer((4,), sope=\"x\")", "k.py:4:35: 'sope' is not a property of a buffer"},
        Wrong{"Attributes", "T.func_attr([1])", "k.py:4:20: expected a dictionary of attributes"},
        Wrong{"CallWithoutName", "T.evaluate(T.call_intrin(\"int32\", \"\"))", "k.py:4:16: a call without a name"},
        Wrong{"NoArgument", "T.evaluate(T.exp())", "k.py:4:16: T.exp needs an argument"},
        Wrong{"NoResultDtype", "T.evaluate(T.tvm_struct_get(A, 0, 1))",
              "k.py:4:16: T.tvm_struct_get needs the dtype of its result as its last argument"},
        Wrong{"TwoExpressions", "T.evaluate(n n)", "k.py:4:18: expected ')', got 'n'"},
        Wrong{"TypeAsValue", "T.evaluate(T.handle(\"float32\"))", "k.py:4:16: a type where a value was expected"}),
    [](const auto& info) { return info.param.name; });

TEST(ScriptLimit, DeepTextIsOneError) {
  std::string head = "@T.prim_func\ndef f(n: T.int32):\n    ";
  auto repeat = [](std::string_view s, int n) {
    std::string out;
    for (int i = 0; i < n; ++i) out += s;
    return out;
  };
  for (std::string_view open : {"(", "~", "-", "not ", "T.exp(", "T.Cast(\"int32\", ", "n + ("}) {
    EXPECT_NE(error_of(head + "T.evaluate(" + repeat(open, 5000)).find("nested more than 1000 levels deep"), std::string::npos) << open;
  }
  EXPECT_NE(error_of(head + "T.evaluate(" + repeat("n + ", 5000) + "n)").find("nested more than 1000 levels deep"), std::string::npos);
  EXPECT_NE(error_of(head + "T.func_attr(" + repeat("[", 5000)).find("nested more than"), std::string::npos);
  EXPECT_NE(error_of(head + repeat("T.attr(0, \"a\", 1)\n    ", 5000)).find("nested more than 1000 levels deep"), std::string::npos);
}

TEST(ScriptLimit, BracketsAreCountedBeforeTheyAreTokens) {
  EXPECT_EQ(error_of(std::string(20000, '[')), "k.py:1:16001: brackets are nested too deeply");
}

TEST(ScriptLimit, CutTextIsOneErrorOrAModule) {
  std::string text =
      "@I.ir_module\nclass Module:\n    @T.prim_func\n    def f(A: T.handle(\"float32\", \"global\"), n: T.int32) -> T.int32:\n"
      "        T.func_attr({\"a\": [1, {\"b\": T.target({\"kind\": \"c\"})}]})\n        B = T.decl_buffer((64,), \"float32\", data=A, "
      "scope=\"global\")\n"
      "        for i, j in T.grid(2, 3):\n            with T.attr(0, \"k\", 1):\n                B[i * 4:i * 4 + 4] = "
      "T.Broadcast(T.float32(-1.5e-3), 4)\n"
      "            if not n < 4:\n                x: T.int32 = T.Let(y + 1, where={y: T.if_then_else(n > 0, 1, 2)})\n        assert n == "
      "1, (\"E\", [\"m\"])\n"
      "        bx = T.launch_thread(\"blockIdx.x\", 8)\n        return T.call_intrin(\"int32\", \"tl.x\", n, annotations={\"z\": None})\n";
  for (size_t n = 0; n <= text.size(); ++n) (void)parse(text.substr(0, n), "k.py");
  for (size_t n = 0; n < text.size(); ++n) {
    for (char c : {'(', ')', '"', ' ', '\n', ':', '\0', '.', 'T', '0', '\xff'}) {
      std::string changed = text;
      changed[n] = c;
      auto m = parse(changed, "k.py");
      if (m.ok()) (void)print(**m);
    }
  }
  EXPECT_EQ(error_of(text), "none");
}

}  // namespace
}  // namespace kiln::ir
