// What printers of C-like languages are told about functions: kernels, parameters, symbols, math functions.
#include <gmock/gmock.h>

#include "emit/c_family.h"
#include "emit/functions.h"
#include "emit/math_functions.h"
#include "import/import.h"

namespace kiln::emit {
namespace {

using testing::ElementsAre;

ir::ModulePtr module_of(const std::string& functions) {
  auto module = parse_module("@I.ir_module\nclass Module:\n" + functions, "test.py");
  EXPECT_TRUE(module.ok()) << module.error().to_string();
  return *module;
}

std::string kernel(const std::string& name, const std::string& attributes, const std::string& params, const std::string& body) {
  return "    @T.prim_func\n    def " + name + "(" + params + "):\n        T.func_attr({\"global_symbol\": \"" + name + "\"" + attributes +
         "})\n" + body;
}

std::string c_type(ir::DataType t) { return t.is_void() ? "void" : t == ir::kFloat32 ? "float" : "int"; }

const std::string buffers = R"(        a = T.decl_buffer((4, n), data=A)
        b = T.decl_buffer((8,), data=B)
        b[0] = a[0, 0]
)";
const std::string pointers = R"(A: T.handle("float32", "global"), B: T.handle("float32", "global"), n: T.int32)";

TEST(Parameters, AreConstOnlyWhereMarkedAndNotWritten) {
  auto module = module_of(kernel("k", ", \"tl.readonly_param_indices\": [0, 1]", pointers, buffers));
  std::vector<Parameter> p = parameters(module->functions[0]);
  ASSERT_EQ(p.size(), 3u);
  EXPECT_EQ(p[0].type(c_type), "const float*");
  EXPECT_EQ(p[1].type(c_type), "float*");  // the body stores to it, whatever the mark says
  EXPECT_EQ(p[2].type(c_type), "int");
  EXPECT_FALSE(p[2].info.is_pointer);
}

TEST(Parameters, HaveTheDeclaredShape) {
  auto module = module_of(kernel("k", "", pointers, buffers));
  std::vector<Parameter> p = parameters(module->functions[0]);
  EXPECT_THAT(p[0].info.shape, ElementsAre(4, -1));
  EXPECT_THAT(p[1].info.shape, ElementsAre(8));
}

TEST(Parameters, AreAloneWhereTheModuleSaysSo) {
  auto module = module_of(kernel("k", ", \"tirx.noalias\": True, \"tl.non_restrict_params\": [1]", pointers, buffers) +
                          kernel("l", "", pointers, buffers));
  std::vector<Parameter> p = parameters(module->functions[0]);
  EXPECT_TRUE(p[0].alone);
  EXPECT_FALSE(p[1].alone);
  EXPECT_FALSE(p[2].alone);
  EXPECT_FALSE(parameters(module->functions[1])[0].alone);
}

TEST(Parameters, ATensorMapIsHandedOverByValue) {
  auto module = module_of(kernel("k", "", R"(D: T.handle("uint8x128", "grid_constant"))", "        T.evaluate(0)\n"));
  std::vector<Parameter> p = parameters(module->functions[0]);
  EXPECT_FALSE(p[0].info.is_pointer);
  EXPECT_TRUE(p[0].info.dtype.is_handle());
}

TEST(Symbols, AreUniqueAndFree) {
  std::string nothing = "        T.evaluate(0)\n";
  auto module = module_of(kernel("main", "", "n: T.int32", nothing) + kernel("main_kernel", "", "n: T.int32", nothing) +
                          kernel("fine", "", "n: T.int32", nothing));
  auto names = symbols({module->functions.begin(), module->functions.end()}, [](std::string_view name) { return name != "main"; });
  EXPECT_EQ(names["main"], "main_kernel");
  EXPECT_EQ(names["main_kernel"], "main_kernel_1");
  EXPECT_EQ(names["fine"], "fine");
}

TEST(ImportedSource, IsCollectedFromBothAttributes) {
  auto module = module_of(kernel("k", ", \"code_block_source\": \"int one;\"", "n: T.int32", "        T.evaluate(0)\n") +
                          kernel("l", "", "n: T.int32", R"(        with T.attr(0, "pragma_import_c", "int two;"):
            T.evaluate(0)
)"));
  EXPECT_EQ(imported_source(*module), "int one;\nint two;\n");
  EXPECT_TRUE(has_imported_body(module->functions[0]));
  EXPECT_FALSE(has_imported_body(module->functions[1]));
}

TEST(Words, AreTheIdentifiersOfAText) {
  Names words;
  add_words("f32_to_f16(x[1].y)+_z;", words);
  EXPECT_THAT(words, ElementsAre("_z", "f32_to_f16", "x", "y"));
}

TEST(MathFunctions, AreFoundByTheirNamesInALibrary) {
  ASSERT_TRUE(math_function(std::string_view("expf")));
  EXPECT_EQ(math_function(std::string_view("expf"))->name, "exp");
  EXPECT_EQ(math_function(std::string_view("erf"))->name, "erf");  // ends in an f by itself
  EXPECT_EQ(math_function(std::string_view("fma"))->args, 3);
  EXPECT_EQ(math_function(std::string_view("sigmoid")), nullptr);  // a helper's, which no library has
  EXPECT_EQ(math_function(std::string_view("sigmoid_")), nullptr);
  EXPECT_EQ(math_function(std::string_view("f")), nullptr);
  EXPECT_EQ(math_function(std::string_view("")), nullptr);
}

TEST(MathFunctions, AreSpelledByWidth) {
  EXPECT_EQ(common_spelling(*math_function(ir::Op::tirx_exp), ir::kFloat64), "exp");
  EXPECT_EQ(common_spelling(*math_function(ir::Op::tirx_exp), ir::kFloat32), "expf");
  EXPECT_EQ(common_spelling(*math_function(ir::Op::tirx_exp), ir::kFloat16), "expf");
  EXPECT_EQ(common_spelling(*math_function(ir::Op::tirx_sigmoid), ir::kFloat64), "sigmoid_f64");
  EXPECT_FALSE(math_function(ir::Op::tirx_exp)->is_fast);
  EXPECT_TRUE(math_function(ir::Op::tl___exp)->is_fast);
  EXPECT_EQ(math_function(ir::Op::kUnknown), nullptr);
}

TEST(Literals, ReadAsTheValueAgain) {
  EXPECT_EQ(decimal(1.0f), "1.0");
  EXPECT_EQ(decimal(0.1f), "0.1");
  EXPECT_EQ(decimal(0.1), "0.1");
  EXPECT_EQ(decimal(1e-5), "1e-05");
  EXPECT_EQ(hex(0xAB, 4), "0x00AB");
  EXPECT_EQ(hex(0x12345, 2), "0x45");
}

}  // namespace
}  // namespace kiln::emit
