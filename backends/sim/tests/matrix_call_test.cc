// Operators on matrices that no module of the corpus has, through the whole backend.
#include <dlpack/dlpack.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "driver/driver.h"
#include "import/import.h"
#include "runtime/call.h"

namespace kiln::sim {
namespace {

// One warp: lines of its body, after which each thread writes F[0] to F[3] to A.
std::vector<float> run(const std::vector<std::string>& lines, const std::string& arch) {
  std::string text =
      "@I.ir_module\nclass Module:\n    @T.prim_func\n    def k(A: T.handle(\"float32\", \"global\")):\n"
      "        T.func_attr({\"global_symbol\": \"k\", \"tirx.is_global_func\": True, \"tirx.kernel_launch_params\": [\"threadIdx.x\"]})\n"
      "        A_1 = T.decl_buffer((128,), \"float32\", data=A)\n"
      "        F = T.alloc_buffer((4,), \"float32\", scope=\"local\")\n"
      "        U = T.alloc_buffer((64,), \"uint32\", scope=\"local\")\n"
      "        t = T.alloc_buffer((4,), \"uint32\", scope=\"shared\")\n"
      "        tx = T.launch_thread(\"threadIdx.x\", 32)\n"
      "        for i in range(4):\n            F[i] = T.float32(0)\n";
  for (const std::string& line : lines) text += "        " + line + "\n";
  text += "        for i in range(4):\n            A_1[tx * 4 + i] = F[i]\n";
  std::vector<float> out(128, -1);
  auto module = IRModule::parse(text, "test.ir");
  if (!module) return ADD_FAILURE() << module.error().to_string(), out;
  driver::BuildOptions options;
  options.target = "cuda -keys=sim,cuda,gpu -arch=" + arch;
  auto built = driver::build(*module, options);
  if (!built) return ADD_FAILURE() << built.error().to_string(), out;
  int64_t shape = 128;
  DLTensor tensor{};
  tensor.data = out.data(), tensor.device = {kDLCPU, 0}, tensor.ndim = 1, tensor.dtype = {kDLFloat, 32, 1}, tensor.shape = &shape;
  std::vector<runtime::Argument> args = {runtime::Argument::of(&tensor), runtime::Argument::of(int64_t{32})};
  Status s = runtime::call(built->module, "k", args);
  EXPECT_TRUE(s.ok()) << (s ? "" : s.error().to_string());
  return out;
}

TEST(SimMatrixCalls, ScaleTheirOperands) {
  // Ones of e4m3; the scales that are chosen are 1 and 2, others would be NaN.
  std::vector<float> out =
      run({"for i in range(16):", "    U[i] = T.uint32(0x38383838)", "U[20] = T.uint32(0xFFFFFF7F)", "U[21] = T.uint32(0xFF80FFFF)",
           "T.call_intrin(\"handle\", \"tl.ptx_mma_block_scale\", \"float32\", \"m16n8k32\", \"row\", \"col\", "
           "\"mxf8f6f4\", 1, \"e4m3\", \"e4m3\", \"ue8m0\", U.data, 0, U.data, 8, F.data, 0, T.address_of(U[20]), "
           "T.address_of(U[21]), 0, 1, 2, 1)"},
          "sm_120a");
  EXPECT_EQ(out, std::vector<float>(128, 64));
}

TEST(SimMatrixCalls, MoveAnyNumberOfRowsOfTensorMemory) {
  std::vector<float> out = run({"T.call_intrin(\"handle\", \"tl.ptx_init_tensor_memory\", T.address_of(t[0]), 32)",
                                "for i in range(7):", "    U[i] = T.Cast(\"uint32\", tx * 10 + i)",
                                "T.call_intrin(\"handle\", \"tl.tcgen05_st\", 32, 7, T.bool(False), t[0], 4, 32, T.address_of(U[0]))",
                                "T.call_intrin(\"handle\", \"tl.tcgen05_ld\", 32, 7, T.bool(False), t[0], 4, 32, T.address_of(U[32]))",
                                "for i in range(4):", "    F[i] = T.Cast(\"float32\", U[35 + i])",
                                "T.call_intrin(\"handle\", \"tl.ptx_deallocate_tensor_memory\", T.address_of(t[0]), 32)"},
                               "sm_100a");
  for (int l = 0; l < 32; ++l) {
    for (int i = 0; i < 4; ++i) EXPECT_EQ(out[l * 4 + i], static_cast<float>(l * 10 + 3 + i));
  }
}

}  // namespace
}  // namespace kiln::sim
