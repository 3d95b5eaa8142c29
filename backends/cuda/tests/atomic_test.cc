// Atomics: every dtype, order and scope is an instruction of the PTX ISA or a loop of compare and swap, and compiles.
#include <gmock/gmock.h>

#include "backends/cuda/print.h"
#include "backends/cuda/toolchain.h"
#include "import/import.h"

namespace kiln::cuda {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string kernel(const std::vector<std::string>& body, const std::string& dtype) {
  std::string text =
      "@I.ir_module\nclass Module:\n    @T.prim_func\n    def k(A: T.handle(\"" + dtype +
      "\", \"global\")):\n"
      "        T.func_attr({\"global_symbol\": \"k\", \"tirx.is_global_func\": True, \"tirx.kernel_launch_params\": [\"threadIdx.x\"]})\n"
      "        A_1 = T.decl_buffer((256,), \"" +
      dtype + "\", data=A)\n        tx = T.launch_thread(\"threadIdx.x\", 32)\n";
  for (const std::string& line : body) text += "        " + line + "\n";
  return text;
}

Result<Source> source(const std::vector<std::string>& body, const std::string& arch, const std::string& dtype) {
  auto module = parse_module(kernel(body, dtype), "k.py");
  if (!module) return module.error();
  return print_source(**module, *arch_of(*Target::parse("cuda -arch=" + arch)));
}

std::string printed(const std::string& body, const std::string& arch, const std::string& dtype) {
  auto s = source({body}, arch, dtype);
  return s ? s->text : "error: " + s.error().to_string();
}

std::vector<std::string> every_form(const std::string& dtype) {
  std::vector<std::string> lines;
  bool floating = dtype.find("float") != std::string::npos;
  auto operation = [&](const std::string& name, const std::string& args, const std::string& result) {
    lines.push_back("A_1[3] = T.call_intrin(\"" + result + "\", \"tl.atomic_" + name + "_elem_op\", T.address_of(A_1[tx])" + args + ")");
  };
  for (int order = 0; order <= 5; ++order) {
    std::string with = ", " + std::to_string(order);
    for (const char* name : {"add_ret", "max_ret", "min_ret"}) operation(name, ", A_1[1]" + with, dtype);
    if (!floating) lines.push_back("T.atomic_or_elem_op(T.address_of(A_1[tx]), A_1[1]" + with + ")");
    if (order != 3 && order != 4) operation("load", with, dtype);
    if (order == 0 || order == 3 || order == 5) lines.push_back("T.atomic_store_elem_op(T.address_of(A_1[tx]), A_1[1]" + with + ")");
  }
  for (const char* scope : {"", "_block", "_system"}) {
    std::vector<std::string> names = {"Add", "Exch", "Min", "Max"};
    if (!dtype.starts_with("float8")) names.emplace_back("Sub");
    if (!floating) names.insert(names.end(), {"And", "Or", "Xor"});
    if (dtype == "uint32") names.insert(names.end(), {"Inc", "Dec"});
    for (const std::string& name : names) {
      lines.push_back("A_1[5] = T.call_extern(\"" + dtype + "\", \"atomic" + name + scope + "\", T.address_of(A_1[tx]), A_1[1])");
    }
    lines.push_back("A_1[5] = T.call_extern(\"" + dtype + "\", \"atomicCAS" + scope + "\", T.address_of(A_1[tx]), A_1[1], A_1[2])");
  }
  return lines;
}

class CudaAtomics : public testing::TestWithParam<const char*> {};

TEST_P(CudaAtomics, EveryFormCompiles) {
  for (const char* arch : {"sm_75", "sm_90a"}) {
    auto s = source(every_form(GetParam()), arch, GetParam());
    ASSERT_TRUE(s.ok()) << s.error().to_string();
    auto cubin = artifacts_of(*s, *arch_of(*Target::parse(std::string("cuda -arch=") + arch))).at("cubin")();
    EXPECT_TRUE(cubin.ok()) << cubin.error().to_string();
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, CudaAtomics,
                         testing::Values("int8", "uint16", "int32", "uint32", "int64", "uint64", "float8_e4m3fn", "float16", "bfloat16",
                                         "float32", "float64"),
                         [](const auto& info) { return std::string(info.param); });

TEST(CudaAtomic, OrdersAreThoseOfPtx) {
  auto add = [](int order) { return "T.atomic_add_elem_op(T.address_of(A_1[tx]), A_1[1], " + std::to_string(order) + ")"; };
  EXPECT_THAT(printed(add(0), "sm_80", "float32"), HasSubstr("atomicAdd(&A[tx], A[1]);"));
  EXPECT_THAT(printed(add(1), "sm_80", "float32"), HasSubstr("atom.acquire.gpu.add.f32"));
  EXPECT_THAT(printed(add(2), "sm_80", "float32"), HasSubstr("atom.acquire.gpu.add.f32"));
  EXPECT_THAT(printed(add(3), "sm_80", "float32"), HasSubstr("atom.release.gpu.add.f32"));
  EXPECT_THAT(printed(add(4), "sm_80", "float32"), HasSubstr("atom.acq_rel.gpu.add.f32"));
  EXPECT_THAT(printed(add(5), "sm_80", "float32"), HasSubstr("fence.sc.gpu;"));
  EXPECT_THAT(printed(add(6), "sm_80", "float32"), HasSubstr("in an order that is none of C++'s"));
}

TEST(CudaAtomic, LoadsAndStoresHaveTheirOrders) {
  auto load = [](int order) {
    return printed("A_1[0] = T.call_intrin(\"int32\", \"tl.atomic_load_elem_op\", T.address_of(A_1[tx]), " + std::to_string(order) + ")",
                   "sm_90a", "int32");
  };
  EXPECT_THAT(load(0), HasSubstr("ld.relaxed.gpu.b32"));
  EXPECT_THAT(load(2), HasSubstr("ld.acquire.gpu.b32"));
  EXPECT_THAT(load(3), HasSubstr("no 'tl.atomic_load_elem_op' on int32 in order release"));
  std::string store = "T.atomic_store_elem_op(T.address_of(A_1[tx]), A_1[1], ";
  EXPECT_THAT(printed(store + "3)", "sm_90a", "int32"), HasSubstr("st.release.gpu.b32"));
  EXPECT_THAT(printed(store + "2)", "sm_90a", "int32"), HasSubstr("in order acquire"));
}

TEST(CudaAtomic, SmallFloatsHaveInstructionsWhereTheArchitectureHas) {
  std::string add = "T.atomic_add_elem_op(T.address_of(A_1[tx]), A_1[1])";
  EXPECT_THAT(printed(add, "sm_75", "float16"), HasSubstr("atom.relaxed.gpu.add.noftz.f16"));
  EXPECT_THAT(printed(add, "sm_90", "bfloat16"), HasSubstr("atom.relaxed.gpu.add.noftz.bf16"));
  EXPECT_THAT(printed(add, "sm_80", "bfloat16"), HasSubstr("atomicCAS(word, before, next)"));
}

TEST(CudaAtomic, TheValueIsConvertedToTheElement) {
  EXPECT_THAT(printed("T.atomic_max_elem_op(T.address_of(A_1[tx]), T.float32(42.0))", "sm_80", "float16"),
              HasSubstr("atomic_max_f16(&A[tx], f32_to_f16(42.0f))"));
}

TEST(CudaAtomic, VectorsAreAddedByOneInstructionWhereThereIsOne) {
  std::string four = "T.atomic_addx4_elem_op(T.address_of(A_1[tx * 4]), A_1[8:12]";
  EXPECT_THAT(printed(four + ")", "sm_90a", "float32"), HasSubstr("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};"));
  EXPECT_THAT(printed(four + ")", "sm_80", "float32"), HasSubstr("atomicAdd(&A[tx * 4 + 3], A[11]);"));
  EXPECT_THAT(printed(four + ", 4)", "sm_90a", "float32"), Not(HasSubstr("red.")));  // red is relaxed or releases
  std::string two = "T.atomic_addx2_elem_op(T.address_of(A_1[tx * 2]), T.address_of(A_1[8]))";
  EXPECT_THAT(printed(two, "sm_80", "float16"), HasSubstr("red.relaxed.gpu.add.noftz.f16x2"));
  EXPECT_THAT(printed(two, "sm_90", "bfloat16"), HasSubstr("red.relaxed.gpu.global.add.noftz.v2.bf16"));
}

}  // namespace
}  // namespace kiln::cuda
