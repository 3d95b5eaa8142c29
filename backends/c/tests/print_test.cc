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

TEST(CPrint, CallsTheWidthOfTheOperand) {
  EXPECT_THAT(printed("A_1[0] = T.exp(A_1[1])"), HasSubstr("A[0] = expf(A[1]);"));
  EXPECT_THAT(printed("A_1[0] = T.exp(A_1[1])", "float64"), HasSubstr("A[0] = exp(A[1]);"));
  EXPECT_THAT(printed("A_1[0] = T.exp(A_1[1])", "bfloat16"), HasSubstr("A[0] = f32_to_bf16(expf(bf16_to_f32(A[1])));"));
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
  EXPECT_THAT(printed("A_1[0] = A_1[0] - (A_1[1] + A_1[2])"), HasSubstr("A[0] = A[0] - (A[1] + A[2]);"));
  EXPECT_THAT(printed("A_1[0] = A_1[0] + (A_1[1] + A_1[2])"), HasSubstr("A[0] = A[0] + (A[1] + A[2]);"));
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

TEST(CPrint, SameInputSameText) {
  std::string text = kernel("A_1[0:4] = A_1[1:5] + T.Broadcast(T.float32(1.0), 4)");
  EXPECT_EQ(print(text)->text, print(text)->text);
}

}  // namespace
}  // namespace kiln::c
