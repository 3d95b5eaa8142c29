// Operators on two elements: the instruction where the PTX ISA has one for the architecture, two of one element where it has none.
#include <gmock/gmock.h>

#include <map>

#include "backends/cuda/print.h"
#include "backends/cuda/toolchain.h"
#include "import/import.h"

namespace kiln::cuda {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string kernel(const std::string& dtype, const std::vector<std::string>& lines) {
  std::string text = "@I.ir_module\nclass Module:\n    @T.prim_func\n    def k(A: T.handle(\"" + dtype +
                     "\", \"global\")):\n        T.func_attr({\"global_symbol\": \"k\", \"tirx.is_global_func\": True, "
                     "\"tirx.kernel_launch_params\": [\"threadIdx.x\"]})\n        A_1 = T.decl_buffer((256,), \"" +
                     dtype + "\", data=A)\n        tx = T.launch_thread(\"threadIdx.x\", 32)\n";
  for (const std::string& line : lines) text += "        " + line + "\n";
  return text;
}

struct Compiled {
  std::string text, ptx;
};
Compiled compiled(const std::string& dtype, const std::string& arch_name, const std::vector<std::string>& lines) {
  Arch arch = *arch_of(*Target::parse("cuda -arch=" + arch_name));
  auto module = parse_module(kernel(dtype, lines), "k.py");
  if (!module) return {module.error().to_string(), ""};
  auto source = print_source(**module, arch);
  if (!source) return {source.error().to_string(), ""};
  auto artifacts = artifacts_of(*source, arch);
  auto ptx = artifacts.at("ptx")();
  auto cubin = artifacts.at("cubin")();
  EXPECT_TRUE(cubin.ok()) << cubin.error().to_string();
  return {source->text, ptx ? *ptx : ptx.error().to_string()};
}

std::string call(const std::string& dtype, const std::string& op, const std::vector<std::string>& args) {
  std::string text = "T.call_intrin(\"" + dtype + "x2\", \"tl." + op + "\"";
  for (const std::string& a : args) text += ", " + a;
  return text + ")";
}
const std::string kX = "A_1[tx * 8:tx * 8 + 2]", kY = "A_1[tx * 8 + 2:tx * 8 + 4]", kZ = "A_1[tx * 8 + 4:tx * 8 + 6]";

struct Row {
  const char *op, *dtype, *arch, *instruction;
};
const Row kRows[] = {
    {"add2", "float16", "sm_75", "add.rn.f16x2"},
    {"sub2", "float16", "sm_75", "sub.rn.f16x2"},
    {"mul2", "float16", "sm_75", "mul.rn.f16x2"},
    {"fma2", "float16", "sm_75", "fma.rn.f16x2"},
    {"abs2", "float16", "sm_75", "abs.f16x2"},
    {"max2", "float16", "sm_80", "max.f16x2"},
    {"min2_nan", "float16", "sm_80", "min.NaN.f16x2"},
    {"add2", "bfloat16", "sm_80", "fma.rn.bf16x2"},
    {"mul2", "bfloat16", "sm_89", "fma.rn.bf16x2"},
    {"fma2", "bfloat16", "sm_80", "fma.rn.bf16x2"},
    {"abs2", "bfloat16", "sm_80", "abs.bf16x2"},
    {"min2", "bfloat16", "sm_80", "min.bf16x2"},
    {"max2_nan", "bfloat16", "sm_80", "max.NaN.bf16x2"},
    {"add2", "bfloat16", "sm_90a", "add.rn.bf16x2"},
    {"sub2", "bfloat16", "sm_90a", "sub.rn.bf16x2"},
    {"mul2", "bfloat16", "sm_90a", "mul.rn.bf16x2"},
    {"add2", "float32", "sm_100a", "add.rn.f32x2"},
    {"sub2", "float32", "sm_100a", "sub.rn.f32x2"},
    {"mul2", "float32", "sm_100a", "mul.rn.f32x2"},
    {"fma2", "float32", "sm_100a", "fma.rn.f32x2"},
    // Where there is none: of one element, twice.
    {"max2", "float16", "sm_75", "max.f32"},
    {"add2", "bfloat16", "sm_75", "add.f32"},
    {"fma2", "float32", "sm_90a", "fma.rn.f32"},
    {"max2", "float32", "sm_100a", "max.f32"},
};

TEST(CudaPairs, AreOneInstructionWhereThereIsOne) {
  std::map<std::pair<std::string, std::string>, std::vector<const Row*>> kernels;  // by dtype and architecture, to compile few
  for (const Row& r : kRows) kernels[{r.dtype, r.arch}].push_back(&r);
  for (const auto& [where, rows] : kernels) {
    std::vector<std::string> lines;
    for (const Row* r : rows) {
      std::string op = r->op;
      std::vector<std::string> args = {kX, kY, kZ};
      args.resize(op == "fma2" ? 3 : op == "abs2" ? 1 : 2);
      lines.push_back("A_1[tx * 8:tx * 8 + 2] = " + call(r->dtype, op, args));
    }
    Compiled c = compiled(where.first, where.second, lines);
    for (const Row* r : rows) {
      EXPECT_THAT(c.ptx, HasSubstr(std::string(r->instruction) + " ")) << r->op << " of " << where.first << " on " << where.second;
    }
  }
}

TEST(CudaPairs, AWordStaysAWordBetweenOperators) {
  std::string product = call("float16", "mul2", {kX, kY});
  Compiled c = compiled("float16", "sm_80", {"A_1[tx * 8:tx * 8 + 2] = " + call("float16", "add2", {product, kZ})});
  EXPECT_THAT(c.text, HasSubstr("f16x2_add(f16x2_mul(pair_of_halves("));
}

TEST(CudaPairs, SumsOfBfloat16BeforeSm90AreExactlyThose) {
  // a * 1 + b, b * -1 + a, a * b + -0 round once, and give the zero of the sum or product: 1, -1 and -0 twice.
  Compiled c = compiled(
      "bfloat16", "sm_80",
      {"A_1[tx * 8:tx * 8 + 2] = " + call("bfloat16", "sub2", {kX, call("bfloat16", "mul2", {kY, call("bfloat16", "add2", {kX, kY})})})});
  EXPECT_THAT(c.text, HasSubstr("bf16x2_fma(a, 0x3F803F80, b)"));
  EXPECT_THAT(c.text, HasSubstr("bf16x2_fma(b, 0xBF80BF80, a)"));
  EXPECT_THAT(c.text, HasSubstr("bf16x2_fma(a, b, 0x80008000)"));
}

TEST(CudaPairs, AWarpsMaximumOfFloat32IsOneInstructionOnSm100a) {
  std::vector<std::string> line = {"A_1[tx] = T.call_intrin(\"float32\", \"tl.warp_reduce_max\", A_1[tx])"};
  EXPECT_THAT(compiled("float32", "sm_100a", line).ptx, HasSubstr("redux.sync.max.f32"));
  EXPECT_THAT(compiled("float32", "sm_90a", line).ptx, Not(HasSubstr("redux.sync")));
}

// For each number of lanes: B[tx * lanes:...] = Cast(A[tx * lanes:...]), and back.
Compiled converted(const std::string& from, const std::string& to, const std::vector<int>& lanes, const std::string& arch) {
  std::vector<std::string> lines = {"B = T.alloc_buffer((512,), \"" + to + "\", scope=\"shared\")"};
  for (int count : lanes) {
    std::string n = std::to_string(count), at = "[tx * " + n + ":tx * " + n + " + " + n + "]";
    lines.push_back("B" + at + " = T.Cast(\"" + to + "x" + n + "\", A_1" + at + ")");
    lines.push_back("A_1" + at + " = T.Cast(\"" + from + "x" + n + "\", B" + at + ")");
  }
  return compiled(from, arch, lines);
}
size_t count(const std::string& text, const std::string& what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(CudaPairs, Float8IsConvertedTwoElementsAtATime) {
  const size_t pairs = 1 + 2 + 4 + 8;
  for (auto [from, arch] : {std::pair("float32", "sm_89"), std::pair("float16", "sm_89"), std::pair("bfloat16", "sm_90a")}) {
    Compiled e4m3 = converted(from, "float8_e4m3fn", {2, 4, 8, 16}, arch), e5m2 = converted(from, "float8_e5m2", {2, 4, 8, 16}, arch);
    EXPECT_EQ(count(e4m3.ptx, "cvt.rn.satfinite.e4m3x2.f32 "), pairs) << from << " on " << arch;
    EXPECT_EQ(count(e4m3.ptx, "cvt.rn.f16x2.e4m3x2 "), pairs) << from << " on " << arch;
    EXPECT_EQ(count(e5m2.ptx, "cvt.rn.satfinite.e5m2x2.f32 "), pairs) << from << " on " << arch;
    EXPECT_EQ(count(e5m2.ptx, "cvt.rn.f16x2.e5m2x2 "), 0) << "a float8_e5m2 is the upper byte of a float16";
  }
}

TEST(CudaPairs, Float8IsConvertedWithoutInstructionsBeforeSm89) {
  for (const char* to : {"float8_e4m3fn", "float8_e5m2"}) {
    Compiled c = converted("float32", to, {2, 4}, "sm_80");
    EXPECT_THAT(c.ptx, AllOf(HasSubstr(".entry k"), Not(HasSubstr("satfinite"))));
  }
}

TEST(CudaPairs, TheFirstOfTwoFloat8IsTheLowerByte) {
  // The instruction puts its first operand above the second.
  Compiled c = converted("float32", "float8_e4m3fn", {4}, "sm_89");
  EXPECT_THAT(c.text, HasSubstr(R"(asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(second), "f"(first));)"));
  EXPECT_THAT(c.text, HasSubstr("pairs[e] = f32x2_to_f8_e4m3x2(wide[e * 2], wide[e * 2 + 1]);"));
  EXPECT_THAT(c.text, HasSubstr("(unsigned char)(unsigned short)(pairs[e / 2] >> (unsigned short)(e % 2 * 8));"));
}

}  // namespace
}  // namespace kiln::cuda
