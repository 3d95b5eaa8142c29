#include "backends/c/print.h"

#include <gmock/gmock.h>

#include "import/import.h"

namespace kiln::c {
namespace {

using testing::HasSubstr;
using testing::Not;

// A kernel k over A (float32[8], or `dtype`) with the given lines as its body.
std::string kernel(const std::string& body, const std::string& dtype = "float32") {
  return "@I.ir_module\nclass Module:\n    @T.prim_func\n    def k(A: T.handle(\"" + dtype +
         "\", \"global\"), n: T.int32) -> T.int32:\n"
         "        T.func_attr({\"global_symbol\": \"k\", \"tirx.noalias\": True})\n"
         "        A_1 = T.decl_buffer((8,), \"" +
         dtype + "\", data=A)\n        " + body + "\n        return 0\n";
}

Result<Source> print(const std::string& text) {
  auto module = parse_module(text, "k.py");
  if (!module) return module.error();
  return print_source(**module, *Target::parse("c"));
}

std::string printed(const std::string& body, const std::string& dtype = "float32") {
  auto source = print(kernel(body, dtype));
  return source ? source->text : "error: " + source.error().to_string();
}

std::string refusal(const std::string& body, const std::string& dtype = "float32") {
  auto source = print(kernel(body, dtype));
  return source ? "printed" : source.error().message;
}

TEST(CPrint, RefusesTypesThatCLacks) {
  EXPECT_THAT(refusal("A_1[0] = T.Cast(\"float32\", T.Cast(\"int2\", A_1[0]))"), HasSubstr("no type for dtype 'int2'"));
  EXPECT_THAT(refusal("A_1[0] = T.Cast(\"float32\", T.Cast(\"float6_e3m2fn\", A_1[0]))"), HasSubstr("'float6_e3m2fn'"));
}

TEST(CPrint, RefusesOperatorsByNameAndType) {
  EXPECT_EQ(refusal("A_1[0] = T.call_pure_extern(\"float32\", \"unheard_of\", A_1[1])"),
            "external function 'unheard_of' is not in the C library and the module brings no C source");
  EXPECT_THAT(refusal("A_1[0] = T.call_pure_extern(\"float32\", \"system(\\\"x\\\")\", A_1[1])"), HasSubstr("is not a C identifier"));
  EXPECT_THAT(refusal("A_1[0] = T.call_llvm_pure_intrin(\"float32\", \"llvm.exp\", A_1[1])"),
              HasSubstr("no operator 'tirx.call_llvm_pure_intrin' on float32"));
  EXPECT_THAT(refusal("A_1[0] = T.exp(A_1[0])", "int8"), HasSubstr("no operator 'tirx.exp' on int8"));
}

TEST(CPrint, ALoopIsLeftOutsideOne) {
  EXPECT_EQ(refusal("T.evaluate(T.call_intrin(\"handle\", \"tl.loop_break\"))"), "'tl.loop_break' is outside a loop");
  EXPECT_THAT(printed("for i in range(8):\n            T.evaluate(T.call_intrin(\"handle\", \"tl.loop_break\"))"), HasSubstr("break;"));
}

TEST(CPrint, CallsTheWidthOfTheOperand) {
  EXPECT_THAT(printed("A_1[0] = T.exp(A_1[1])"), HasSubstr("A[0] = expf(A[1]);"));
  EXPECT_THAT(printed("A_1[0] = T.exp(A_1[1])", "float64"), HasSubstr("A[0] = exp(A[1]);"));
  EXPECT_THAT(printed("A_1[0] = T.exp(A_1[1])", "bfloat16"), HasSubstr("A[0] = f32_to_bf16(expf(bf16_to_f32(A[1])));"));
}

TEST(CPrint, LiteralsHaveTheirTypeWhereNoOtherOperandGivesIt) {
  EXPECT_THAT(printed("A_1[0] = T.shift_right(T.bitwise_not(T.uint64(5)), T.uint64(1))", "uint64"), HasSubstr("A[0] = ~5ULL >> 1;"));
  EXPECT_THAT(printed("A_1[0] = T.int64(-2147483648)", "int64"), HasSubstr("A[0] = -2147483648LL;"));
  EXPECT_THAT(printed("T.evaluate(T.call_extern(\"int32\", \"printf\", \"%lld %d\", T.int64(5), A_1[0]))", "int32"),
              HasSubstr("printf(\"%lld %d\", 5LL, A[0]);"));
}

TEST(CPrint, FunctionsKnownByNameTakeSmallFloatsInFloat32) {
  for (std::string form : {"T.call_extern(", "T.call_pure_extern("}) {
    EXPECT_THAT(printed("A_1[0] = " + form + "\"float16\", \"expf\", A_1[1])", "float16"),
                HasSubstr("A[0] = f32_to_f16(expf(f16_to_f32(A[1])));"));
    EXPECT_THAT(printed("A_1[0] = " + form + "\"bfloat16\", \"powf\", A_1[1], A_1[2])", "bfloat16"),
                HasSubstr("A[0] = f32_to_bf16(powf(bf16_to_f32(A[1]), bf16_to_f32(A[2])));"));
  }
}

TEST(CPrint, TruthOfEveryLane) {
  EXPECT_THAT(printed("A_1[0:4] = T.Cast(\"float32x4\", T.isnan(A_1[4:8]))"), HasSubstr("= (float)(isnan(A[4 + e]) != 0);"));
}

TEST(CPrint, RoundsOnceFromWideTypes) {
  EXPECT_THAT(printed("A_1[0] = T.Cast(\"bfloat16\", T.int64(3) + T.Cast(\"int64\", n))", "bfloat16"),
              HasSubstr("f64_to_bf16(i64_to_f64("));
  EXPECT_THAT(printed("A_1[0] = T.Cast(\"float16\", T.float64(0.1))", "float16"), HasSubstr("f64_to_f16(0.1)"));
}

TEST(CPrint, EmbedsOnlyTheHelpersInUse) {
  std::string text = printed("A_1[0] = A_1[1] + A_1[2]");
  EXPECT_THAT(text, Not(HasSubstr("static inline")));
  EXPECT_THAT(text, Not(HasSubstr("math.h")));
}

TEST(CPrint, ParenthesesOnlyWherePrecedenceAsks) {
  EXPECT_THAT(printed("A_1[0] = A_1[0] + n * 2 - (n - 3)", "int32"), HasSubstr("A[0] = A[0] + n * 2 - (n - 3);"));
  EXPECT_THAT(printed("A_1[0] = A_1[3] - (A_1[1] + A_1[2])"), HasSubstr("A[0] = A[3] - (A[1] + A[2]);"));
  EXPECT_THAT(printed("A_1[0] = A_1[3] + (A_1[1] + A_1[2])"), HasSubstr("A[0] = A[3] + (A[1] + A[2]);"));
}

TEST(CPrint, UpdatesInPlace) {
  EXPECT_THAT(printed("A_1[n] = A_1[n] * (A_1[1] + A_1[2])"), HasSubstr("A[n] *= A[1] + A[2];"));
  EXPECT_THAT(printed("A_1[n] = A_1[n] - A_1[1] - A_1[2]"), HasSubstr("A[n] = A[n] - A[1] - A[2];")) << "another order of rounding";
  EXPECT_THAT(printed("A_1[n] = A_1[0] - A_1[n]"), HasSubstr("A[n] = A[0] - A[n];"));
  EXPECT_THAT(printed("A_1[n] = A_1[n] + T.int8(1)", "int8"), HasSubstr("A[n] = (int8_t)(A[n] + 1);")) << "C adds in int";
}

TEST(CPrint, BreaksLongLinesAtTheirOutermostOperators) {
  std::string sum = "A_1[n]";
  for (int i = 0; i < 16; ++i) sum += " + A_1[n * 100 + " + std::to_string(i) + "]";
  std::string text = printed("A_1[0] = " + sum);
  size_t at = text.find("  A[0] = "), end = text.find(";\n", at);
  ASSERT_NE(end, std::string::npos);
  std::string statement = text.substr(at, end - at);
  EXPECT_THAT(statement, HasSubstr(" +\n      A[n * 100 + "));
  for (size_t line = 0; line < statement.size();) {
    size_t next = std::min(statement.find('\n', line), statement.size());
    EXPECT_LE(next - line, 120u);
    line = next + 1;
  }
}

TEST(CPrint, LiteralsHaveNoNames) {
  EXPECT_THAT(printed("x: T.float32 = 0.5\n        A_1[0:4] = T.Broadcast(x, 4)"), HasSubstr("A[e] = 0.5f;"));
}

TEST(CPrint, RenamesMacrosOfTheHeaders) {
  for (const char* name : {"INT32_MAX", "WCHAR_MAX", "M_PI", "SEEK_SET", "FP_NAN", "P_tmpdir"}) {
    EXPECT_THAT(printed(std::string(name) + ": T.int32 = n + 1\n        A_1[" + name + "] = A_1[0]"),
                HasSubstr(std::string("int32_t ") + name + "_1 = n + 1;"));
  }
}

TEST(CPrint, RenamesKernelsWhoseNamesAreTaken) {
  auto symbol = [](const std::string& name) {
    auto source = print("@T.prim_func\ndef k() -> T.int32:\n    T.func_attr({\"global_symbol\": \"" + name + "\"})\n    return 0\n");
    return source ? source->kernels[0].name + " " + source->kernels[0].symbol : source.error().to_string();
  };
  EXPECT_EQ(symbol("main"), "main main_kernel");
  EXPECT_EQ(symbol("int_fast8_t"), "int_fast8_t int_fast8_t_kernel");
  EXPECT_EQ(symbol("args"), "args args_kernel");
  EXPECT_EQ(symbol("kiln_entry_0"), "kiln_entry_0 kernel_kiln_entry_0");
  EXPECT_EQ(symbol("_Bool"), "_Bool kernel__Bool");
  EXPECT_EQ(symbol("__LINE__"), "__LINE__ kernel___LINE__");
  EXPECT_EQ(symbol("__tvm_ffi_add"), "__tvm_ffi_add __tvm_ffi_add");
}

TEST(CPrint, ReturnsSuccessFromTheMiddleOfAKernelThatCanFail) {
  auto source =
      print("@T.prim_func\ndef k(n: T.int32):\n    if n == 0:\n        return\n    assert n > 0, (\"ValueError\", [\"negative\"])\n");
  ASSERT_TRUE(source) << source.error().to_string();
  EXPECT_THAT(source->text, HasSubstr("int32_t k(int32_t n) {\n  if (n == 0) {\n    return 0;\n  }\n"));
}

TEST(CPrint, PrintsTheValueOfASmallFloat) {
  EXPECT_THAT(printed("T.call_extern(\"int32\", \"printf\", \"%f\", A_1[0])", "float16"),
              HasSubstr("printf(\"%f\", (double)f16_to_f32(A[0]));"));
}

TEST(CPrint, DescribesKernels) {
  auto source = print(kernel("A_1[0] = T.Cast(\"float32\", n)"));
  ASSERT_TRUE(source.ok());
  ASSERT_EQ(source->kernels.size(), 1u);
  const KernelInfo& k = source->kernels[0];
  EXPECT_EQ(k.name, "k");
  EXPECT_EQ(k.params[0].dtype, ir::kFloat32);
  EXPECT_TRUE(k.params[0].is_pointer);
  EXPECT_EQ(k.params[0].shape, std::vector<int64_t>{8});
  EXPECT_EQ(k.params[1].dtype, ir::kInt32);
  EXPECT_EQ(source->entry_text,
            "int32_t kiln_entry_0(void* const* args) {\n  return k(*(float* const*)args[0], *(int32_t const*)args[1]);\n}\n");
}

TEST(CPrint, CountsToAnEndThatTheVariableCannotHold) {
  EXPECT_THAT(printed("for i in T.serial(T.int8(100), extent=T.int8(28), dtype=\"int8\"):\n            A_1[0] = A_1[1]"),
              HasSubstr("for (int32_t i = 100; i < 128; ++i)"));
  EXPECT_THAT(printed("for i in T.serial(T.uint8(200), extent=T.uint8(56), dtype=\"uint8\"):\n            A_1[0] = A_1[1]"),
              HasSubstr("for (int32_t i = 200; i < 256; ++i)"));
  EXPECT_THAT(printed("for i in T.serial(2147483640, extent=8):\n            A_1[0] = A_1[1]"),
              HasSubstr("for (int64_t i = 2147483640; i < 2147483648LL; ++i)"));
}

TEST(CPrint, ReadsAllLanesOfAPredicateBeforeTheFirstStore) {
  std::string text =
      printed("T.BufferStore(A_1, T.Broadcast(T.float32(0.0), 4), [T.Ramp(1, 1, 4)], predicate=A_1[0:4] > T.Broadcast(T.float32(4.0), 4))");
  EXPECT_THAT(text, HasSubstr("mask[e] = A[e] > 4.0f;"));
  EXPECT_THAT(text, HasSubstr("if (mask[e]) {"));
}

TEST(CPrint, ReadsAllIndicesBeforeTheFirstStore) {
  std::string text = printed("A_1[A_1[0:4]] = T.Ramp(0, 1, 4)", "int32");
  EXPECT_THAT(text, HasSubstr("places[e] = A[e];"));
  EXPECT_THAT(text, HasSubstr("A[places[e]] = lanes[e];"));
}

// Calls of a function that asserts, with `result` as its type and its last lines, called by `call`.
std::string with_callee(const std::string& result, const std::string& end, const std::string& call) {
  auto source = print("@I.ir_module\nclass Module:\n    @T.prim_func(private=True)\n    def helper(n: T.int32)" + result +
                      ":\n        assert n < 3, (\"ValueError\", [\"too large\"])\n" + end +
                      "    @T.prim_func\n    def k(n: T.int32) -> T.int32:\n        T.func_attr({\"global_symbol\": \"k\"})\n        " +
                      call + "\n        return 0\n");
  return source ? source->text : source.error().message;
}

TEST(CPrint, PassesOnFailuresOfCallees) {
  std::string tested = "if (helper(n) != 0) return -1;";
  EXPECT_THAT(with_callee("", "", "Module.helper(n)"), HasSubstr(tested));
  EXPECT_THAT(with_callee(" -> T.int32", "        return 0\n", "Module.helper(n)"), HasSubstr(tested));
  EXPECT_EQ(with_callee(" -> T.int32", "        return n\n", "Module.helper(n)"),
            "function 'helper' may fail, and its caller uses its result");
  EXPECT_EQ(with_callee(" -> T.int32", "        return 0\n", "assert Module.helper(n) == 0, (\"ValueError\", [\"no\"])"),
            "function 'helper' may fail, and its caller uses its result");
}

TEST(CPrint, SameInputSameText) {
  std::string text = kernel("A_1[0:4] = A_1[1:5] + T.Broadcast(T.float32(1.0), 4)");
  EXPECT_EQ(print(text)->text, print(text)->text);
}

}  // namespace
}  // namespace kiln::c
