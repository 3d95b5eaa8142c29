// Kernels through the whole backend: printed, compiled, run by the simulator, against what CUDA's threads would compute.
#include <dlpack/dlpack.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "driver/driver.h"
#include "import/import.h"
#include "runtime/call.h"

namespace kiln::sim {
namespace {

using runtime::Argument;

// Builds a module of TVMScript.
Result<Module> build(const std::string& text) {
  auto module = IRModule::parse(text, "test.ir");
  if (!module) return module.error();
  driver::BuildOptions options;
  options.target = "cuda -keys=sim,cuda,gpu -arch=sm_90a";
  auto built = driver::build(*module, options);
  if (!built) return built.error();
  return built->module;
}
std::string golden(const std::string& name) {
  std::ifstream file(std::filesystem::path(KILN_SOURCE_DIR) / "backends/sim/tests/golden" / (name + ".ir"));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// A tensor of one dimension over a vector.
template <class T>
struct Tensor {
  explicit Tensor(std::vector<T>& v) : shape(static_cast<int64_t>(v.size())) {
    tensor.data = v.data();
    tensor.device = {kDLCPU, 0};
    tensor.ndim = 1;
    tensor.dtype = {static_cast<uint8_t>(std::is_floating_point_v<T> ? kDLFloat : kDLInt), 8 * sizeof(T), 1};
    tensor.shape = &shape;
  }
  int64_t shape;
  DLTensor tensor{};
};

// Runs kernel(A, B, numbers...).
template <class T>
void run(const Result<Module>& module, const std::string& kernel, std::vector<T>& a, std::vector<T>& b,
         const std::vector<int64_t>& numbers) {
  ASSERT_TRUE(module.ok()) << module.error().to_string();
  Tensor<T> x(a), y(b);
  std::vector<Argument> args = {Argument::of(&x.tensor), Argument::of(&y.tensor)};
  for (int64_t n : numbers) args.push_back(Argument::of(n));
  Status s = runtime::call(*module, kernel, args);
  ASSERT_TRUE(s.ok()) << s.error().to_string();
}

std::vector<int32_t> counted(int n, int factor = 1) {
  std::vector<int32_t> out(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) out[static_cast<size_t>(i)] = i * factor;
  return out;
}

TEST(SimCodegen, SharedMemoryIsExchangedAtBarriers) {
  std::vector<float> a(4096), b(256), expected(256);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 97);
  const int n = 5;
  run<float>(build(golden("barrier_loop")), "barrier_loop", a, b, {n, 4, 64});
  for (size_t i = 0; i < 256; ++i) {
    for (size_t k = 0; k < n; ++k) expected[i] += a[k * 64 + 63 - i % 64];
  }
  EXPECT_EQ(b, expected);
}

TEST(SimCodegen, LanesOfABranchExchangeValuesAmongThemselves) {
  std::vector<int32_t> a = counted(64), b(64), expected(64);
  run<int32_t>(build(golden("divergent_shuffle")), "divergent_shuffle", a, b, {64});
  for (int i = 0; i < 64; ++i) expected[static_cast<size_t>(i)] = (2 * i < 40 ? 2 * (i ^ 1) + 1 : 2 * i) + (i < 32 ? 1000 : 0);
  EXPECT_EQ(b, expected);
}

TEST(SimCodegen, ThreadsThatReturnedTakePartNoMore) {
  for (int n : {1, 31, 32, 40, 64}) {
    std::vector<int32_t> a = counted(64, 3), b(64, -1), expected(64, -1);
    run<int32_t>(build(golden("early_return")), "early_return", a, b, {n, 64});
    for (int i = 0; i < n; ++i) expected[static_cast<size_t>(i)] = 3 * (n - 1 - i);
    EXPECT_EQ(b, expected) << n;
  }
}

TEST(SimCodegen, LanesLeaveALoopEachInItsTurn) {
  std::vector<int32_t> a(32), b(32), expected(32);
  for (int i = 0; i < 32; ++i) a[static_cast<size_t>(i)] = (7 * i) % 29;
  run<int32_t>(build(golden("varying_loop")), "varying_loop", a, b, {32});
  for (int t = 0; t < 32; ++t) {
    for (int i = 0; i < a[static_cast<size_t>(t)]; ++i) {
      if (i == t) continue;
      if (i == 20) break;
      expected[static_cast<size_t>(t)] += i;
    }
  }
  EXPECT_EQ(b, expected);
}

// A body of a kernel over 64 threads with arrays A and B of 64 int32.
std::string kernel(const std::string& body, const std::string& threads = "64", const std::string& dtype = "int32") {
  std::string text =
      "@I.ir_module\nclass Module:\n    @T.prim_func\n    def f(A: T.handle(\"" + dtype + "\", \"global\"), B: T.handle(\"" + dtype +
      "\", \"global\")):\n"
      "        T.func_attr({\"global_symbol\": \"f\", \"tirx.noalias\": True, \"tirx.kernel_launch_params\": [\"threadIdx.x\"]})\n"
      "        tx = T.launch_thread(\"threadIdx.x\", " +
      threads + ")\n        A_1 = T.decl_buffer((64,), \"" + dtype + "\", data=A)\n        B_1 = T.decl_buffer((64,), \"" + dtype +
      "\", data=B)\n";
  size_t at = 0;
  while (at < body.size()) {
    size_t end = std::min(body.find('\n', at), body.size());
    text += "        " + body.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return text;
}

TEST(SimCodegen, AReturnInsideALoopLeavesTheOthersInIt) {
  std::vector<int32_t> a = counted(64), b(64, -1), expected(64, -1);
  auto module =
      build(kernel("for k in range(4):\n"
                   "    if A_1[tx] % 4 == k:\n"
                   "        T.thread_return()\n"
                   "    B_1[tx] = T.call_intrin(\"int32\", \"tirx.tvm_warp_shuffle_xor\", T.call_intrin(\"uint32\", "
                   "\"tirx.tvm_warp_activemask\"), k * 100 + tx, 0, 32, 32)\n"));
  run<int32_t>(module, "f", a, b, {64});
  for (int t = 0; t < 64; ++t) {
    for (int k = 0; k < 4 && t % 4 != k; ++k) expected[static_cast<size_t>(t)] = k * 100 + t;
  }
  EXPECT_EQ(b, expected);
}

TEST(SimCodegen, TheLastWarpOfABlockMayHaveFewerLanes) {
  std::vector<int32_t> a = counted(64), b(64, -1), expected(64, -1);
  auto module =
      build(kernel("s = T.alloc_buffer((64,), \"int32\", scope=\"shared\")\n"
                   "s[tx] = A_1[tx]\nT.tvm_storage_sync(\"shared\")\nB_1[tx] = s[39 - tx]\n",
                   "40"));
  run<int32_t>(module, "f", a, b, {40});
  for (int t = 0; t < 40; ++t) expected[static_cast<size_t>(t)] = 39 - t;
  EXPECT_EQ(b, expected);
}

TEST(SimCodegen, AnArrayDeclaredInABranchIsSharedByTheBlock) {
  std::vector<int32_t> a = counted(64), b(64, -1), expected(64);
  auto module =
      build(kernel("if A_1[0] == 0:\n"
                   "    s = T.alloc_buffer((64,), \"int32\", scope=\"shared\")\n"
                   "    s[tx] = A_1[tx]\n"
                   "    T.tvm_storage_sync(\"shared\")\n"
                   "    for i in range(2):\n"
                   "        B_1[tx] = s[63 - tx] + i\n"));
  run<int32_t>(module, "f", a, b, {64});
  for (int t = 0; t < 64; ++t) expected[static_cast<size_t>(t)] = 64 - t;
  EXPECT_EQ(b, expected);
}

TEST(SimCodegen, OneLaneOfAWarpIsElected) {
  std::vector<int32_t> a = counted(64), b(64, 0);
  auto module = build(kernel("if T.tl_shuffle_elect(32):\n    B_1[tx] = 1\nif T.tl_shuffle_elect(0):\n    B_1[tx] = B_1[tx] + 10\n"));
  run<int32_t>(module, "f", a, b, {64});
  int ones = 0, sum = 0;
  for (int t = 0; t < 64; ++t) ones += b[static_cast<size_t>(t)] % 10, sum += b[static_cast<size_t>(t)];
  EXPECT_EQ(ones, 2);
  EXPECT_EQ(sum, 12);
}

TEST(SimCodegen, AtomicUpdatesCountEveryThread) {
  std::vector<int32_t> a = counted(64), b(64, 0);
  auto module = build(kernel("T.atomic_add_elem_op(T.address_of(B_1[A_1[tx] % 2]), 1)\n"));
  run<int32_t>(module, "f", a, b, {64});
  EXPECT_EQ(b[0], 32);
  EXPECT_EQ(b[1], 32);
}

// Functions of CUDA by name, all in one kernel. Values from the CUDA Math API and PTX ISA 9.0 (cvt, dp2a, dp4a, fns).
TEST(SimCodegen, FunctionsThatCudaHasByName) {
  struct Row {
    std::string call, argument;
    int64_t value;
  };
  const std::vector<Row> rows = {{"__float2int_rn", "T.float32(2.5)", 2},
                                 {"__float2int_rz", "T.float32(-2.9)", -2},
                                 {"__float2int_ru", "T.float32(2.1)", 3},
                                 {"__float2int_rd", "T.float32(-2.1)", -3},
                                 {"__float2int_rn", "T.float32(3e9)", 2147483647},
                                 {"__float2ll_rz", "T.float32(-3e9)", -3000000000},
                                 {"__double2ll_rn", "T.float64(1e300)", 9223372036854775807},
                                 {"__double2int_rd", "T.float64(-0.5)", -1},
                                 {"__dp2a_lo", "T.int32(0x00020003), T.int32(0x01020405), T.int32(10)", 10 + 3 * 5 + 2 * 4},
                                 {"__dp2a_hi", "T.int32(0x00020003), T.int32(0x01020405), T.int32(10)", 10 + 3 * 2 + 2 * 1},
                                 {"__dp4a", "T.int32(-1), T.int32(0x01020304), T.int32(0)", -10},
                                 {"__ffs", "T.int32(0)", 0},
                                 {"__ffsll", "T.int64(1099511627776)", 41},
                                 {"__fns", "T.uint32(11), T.uint32(0), T.int32(2)", 1},
                                 {"__fns", "T.uint32(11), T.uint32(2), T.int32(-1)", 1},
                                 {"__fns", "T.uint32(11), T.uint32(3), T.int32(2)", 4294967295}};
  std::string body;
  for (size_t i = 0; i < rows.size(); ++i) {
    bool wide = rows[i].call.find("ll") != std::string::npos;
    body += "B_1[" + std::to_string(i) + "] = T.Cast(\"int64\", T.call_pure_extern(\"" + (wide ? "int64" : "int32") + "\", \"" +
            rows[i].call + "\", " + rows[i].argument + "))\n";
  }
  std::vector<int64_t> a(64), b(64);
  run<int64_t>(build(kernel(body, "1", "int64")), "f", a, b, {64});
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(b[i], rows[i].value) << rows[i].call << "(" << rows[i].argument << ")";
}

TEST(SimCodegen, ProductsOfUnsignedBytes) {
  std::vector<int64_t> a(64), b(64);
  run<int64_t>(
      build(kernel("B_1[0] = T.Cast(\"int64\", T.call_pure_extern(\"uint32\", \"__dp4a\", T.uint32(0xFFFFFFFF), T.uint32(0xFFFFFFFF), "
                   "T.uint32(1)))\n",
                   "1", "int64")),
      "f", a, b, {64});
  EXPECT_EQ(b[0], 4 * 255 * 255 + 1);
}

TEST(SimCodegen, AtomicExtremaOfShortIntegersKeepTheirSign) {
  std::vector<int16_t> a(64, -7), b(64, 3);
  run<int16_t>(build(kernel("T.atomic_min_elem_op(T.address_of(B_1[0]), A_1[0])\n", "1", "int16")), "f", a, b, {64});
  EXPECT_EQ(b[0], -7);
}

TEST(SimCodegen, AnOperatorThatTheSimulatorLacksIsRefusedByName) {
  auto module = build(kernel("T.call_intrin(\"int32\", \"tirx.call_llvm_intrin\", 1, 2)\n"));
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().code, Code::kUnsupported);
  EXPECT_THAT(module.error().message, testing::HasSubstr("codegen 'sim' has no operator 'tirx.call_llvm_intrin'"));
}

TEST(SimCodegen, ALoopIsLeftOutsideOne) {
  auto module = build(kernel("T.call_intrin(\"handle\", \"tl.loop_break\")\n"));
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().message, "'tl.loop_break' is outside a loop");
}

TEST(SimCodegen, AnOperatorThatTheArchitectureLacksIsRefused) {
  auto module = IRModule::parse(kernel("T.ptx_commit_group()\n"), "test.ir");
  ASSERT_TRUE(module.ok()) << module.error().to_string();
  driver::BuildOptions options;
  options.target = "cuda -keys=sim,cuda,gpu -arch=sm_75";
  auto built = driver::build(*module, options);
  ASSERT_FALSE(built.ok());
  EXPECT_THAT(built.error().message, testing::HasSubstr("'tirx.ptx_commit_group'"));
  EXPECT_EQ(built.error().hint, "it needs sm_80 or newer");
}

TEST(SimCodegen, AnAssertionThatFailsIsAnError) {
  auto module = build(kernel("assert A_1[tx] < 60, \"too large\"\nB_1[tx] = 1\n"));
  ASSERT_TRUE(module.ok()) << module.error().to_string();
  std::vector<int32_t> a = counted(64), b(64, 0);
  Tensor<int32_t> x(a), y(b);
  std::vector<Argument> args = {Argument::of(&x.tensor), Argument::of(&y.tensor), Argument::of(int64_t{64})};
  Status s = runtime::call(*module, "f", args);
  ASSERT_FALSE(s.ok());
  EXPECT_THAT(s.error().message, testing::HasSubstr("too large"));
}

}  // namespace
}  // namespace kiln::sim
