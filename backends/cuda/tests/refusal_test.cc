// What a module asks for and no architecture, or not this one, has: one error before anything is printed.
#include <gmock/gmock.h>

#include "backends/cuda/print.h"
#include "import/import.h"
#include "kiln/device_codegen.h"

namespace kiln::cuda {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Form {
  std::string threads = "32", blocks = "1", attributes = "";
};

// What is printed for a kernel over O (int32[64]) with these lines, or the error.
std::string result(const std::vector<std::string>& lines, const std::string& arch = "sm_90a", const Form& form = {}) {
  std::string text =
      "@I.ir_module\nclass Module:\n    @T.prim_func\n    def k(O: T.handle(\"int32\", \"global\")):\n"
      "        T.func_attr({\"global_symbol\": \"k\", \"tirx.is_global_func\": True, \"tirx.kernel_launch_params\": "
      "[\"blockIdx.x\", \"threadIdx.x\"]" +
      form.attributes + "})\n        O_1 = T.decl_buffer((64,), \"int32\", data=O)\n        bx = T.launch_thread(\"blockIdx.x\", " +
      form.blocks + ")\n        tx = T.launch_thread(\"threadIdx.x\", " + form.threads + ")\n";
  for (const std::string& line : lines) text += "        " + line + "\n";
  auto module = parse_module(text, "k.py");
  if (!module) return "not read: " + module.error().to_string();
  auto parsed = arch_of(*Target::parse("cuda -arch=" + arch));
  if (!parsed) return parsed.error().to_string();
  auto source = print_source(**module, *parsed);
  return source ? source->text : source.error().to_string();
}

std::string launched(const std::string& threads, const std::string& blocks = "1") {
  return result({"O_1[tx] = 1"}, "sm_90a", {.threads = threads, .blocks = blocks});
}

std::string with_attributes(const std::string& attributes, const std::string& arch = "sm_90a") {
  return result({"O_1[tx] = 1"}, arch, {.attributes = ", " + attributes});
}

std::string shared(const std::vector<std::string>& buffers, const std::string& arch) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < buffers.size(); ++i) lines.push_back("s" + std::to_string(i) + " = T.alloc_buffer(" + buffers[i] + ")");
  for (size_t i = 0; i < buffers.size(); ++i) lines.push_back("s" + std::to_string(i) + "[tx] = 1");
  return result(lines, arch);
}

TEST(CudaRefuses, MoreSharedMemoryThanThereIs) {
  EXPECT_THAT(shared({"(2147483647,), \"int32\", scope=\"shared\""}, "sm_75"),
              HasSubstr("buffer 's0' in scope 'shared' takes 8589934588 bytes, expected at most 49152 bytes of static shared memory"));
  EXPECT_THAT(shared({"(2147483647,), \"int32\", scope=\"shared\""}, "sm_75"), testing::StartsWith("k.py:"));
  EXPECT_THAT(shared({"(8192,), \"int32\", scope=\"shared\"", "(4097,), \"int32\", scope=\"shared\""}, "sm_90a"),
              HasSubstr("buffer 's1' in scope 'shared' takes 16388 bytes after 32768 bytes of others, expected at most 49152 bytes"));
  EXPECT_THAT(shared({"(8192,), \"int32\", scope=\"shared\"", "(4096,), \"int32\", scope=\"shared\""}, "sm_75"), HasSubstr("s1[4096];"));
  EXPECT_THAT(shared({"(65536,), \"uint8\", scope=\"shared.dyn\""}, "sm_75"), HasSubstr("dynamic_shared"));
  EXPECT_THAT(shared({"(65537,), \"uint8\", scope=\"shared.dyn\""}, "sm_75"),
              HasSubstr("expected at most 65536 bytes of a block on sm_75"));
  EXPECT_THAT(shared({"(2147483647,), \"int32\", scope=\"local\""}, "sm_90a"), HasSubstr("expected at most 524288 bytes of a thread"));
}

TEST(CudaRefuses, ExtentsThatNoLaunchHas) {
  EXPECT_THAT(launched("4096"), HasSubstr("extent of threadIdx.x is 4096, expected 1 to 1024 on sm_90a"));
  EXPECT_THAT(launched("0"), HasSubstr("extent of threadIdx.x is 0, expected 1 to 1024"));
  EXPECT_THAT(launched("-1"), HasSubstr("extent of threadIdx.x is -1, expected 1 to 1024"));
  EXPECT_THAT(launched("T.int64(1099511627776)"), HasSubstr("extent of threadIdx.x is 1099511627776,"));
  EXPECT_THAT(launched("32", "T.int64(8589934592)"), HasSubstr("extent of blockIdx.x is 8589934592, expected 0 to 2147483647"));
  EXPECT_THAT(launched("32", "-1"), HasSubstr("extent of blockIdx.x is -1, expected 0 to 2147483647"));
  EXPECT_THAT(launched("1024", "0"), HasSubstr("__launch_bounds__(1024, 1)"));
  EXPECT_THAT(result({"ty = T.launch_thread(\"threadIdx.y\", 33)", "O_1[tx] = ty"}),
              HasSubstr("a block has 1056 threads with threadIdx.y, expected at most 1024"));
  EXPECT_THAT(result({"tz = T.launch_thread(\"threadIdx.z\", 65)", "O_1[tx] = tz"}), HasSubstr("expected 1 to 64"));
  EXPECT_THAT(result({"by = T.launch_thread(\"blockIdx.y\", 65536)", "O_1[tx] = by"}), HasSubstr("expected 0 to 65535"));
}

TEST(CudaRefuses, ClustersThatNoLaunchHas) {
  for (const char* dims : {"[0, 0, 0]", "[-2, 1, 1]", "[2, 1, 1, 1]", "[64, 1, 1]", "[1.5, 1, 1]", "\"abc\""}) {
    EXPECT_THAT(with_attributes("\"cluster_dims\": " + std::string(dims)),
                HasSubstr("attribute cluster_dims expects one to three extents of at least 1, at most 16 blocks in all, got "))
        << dims;
  }
  EXPECT_THAT(with_attributes("\"cluster_dims\": [-2, 1, 1]"), HasSubstr("got [-2, 1, 1]"));
  EXPECT_THAT(with_attributes("\"cluster_dims\": [2, 1, 1]", "sm_80"),
              HasSubstr("no clusters of blocks (attribute cluster_dims) on sm_80 (they need sm_90 or newer)"));
  EXPECT_THAT(with_attributes("\"cluster_dims\": [2, 1, 1]"), HasSubstr("__cluster_dims__(2, 1, 1)"));
}

TEST(CudaRefuses, BlocksThatNoMultiprocessorHas) {
  for (const char* n : {"-3", "0", "33", "T.int64(99999999999)"}) {
    EXPECT_THAT(result({"with T.attr(0, \"tl.min_blocks_per_sm\", " + std::string(n) + "):", "    O_1[tx] = 1"}),
                HasSubstr("attribute tl.min_blocks_per_sm expects a constant of 1 to 32, got "))
        << n;
  }
}

TEST(CudaRefuses, ArchitecturesThatDoNotExist) {
  auto of = [](const std::string& arch) { return result({"O_1[tx] = 1"}, arch); };
  for (const char* arch : {"sm_75a", "sm_80a", "sm_89a"})
    EXPECT_THAT(of(arch), HasSubstr("the suffix a is of sm_90 and of sm_100 and newer, use sm_"));
  EXPECT_THAT(of("sm_80f"), HasSubstr("no architecture 'sm_80f' (the suffix f is of sm_100 and newer, use sm_80)"));
  EXPECT_THAT(of("sm_90f"), HasSubstr("(the suffix f is of sm_100 and newer, use sm_90a)"));
  EXPECT_THAT(of("sm_200"), HasSubstr("no architecture 'sm_200' (it prints for sm_75 to sm_121)"));
  EXPECT_THAT(of("sm_090"), HasSubstr("is 'sm_090', expected sm_ and a number"));
  for (const char* arch : {"sm_75", "sm_90", "sm_90a", "sm_100f", "sm_103a", "sm_120f", "sm_121a"})
    EXPECT_THAT(of(arch), HasSubstr("__global__")) << arch;
}

TEST(CudaRefuses, BarriersThatABlockHasNot) {
  auto arrive = [](const std::string& args) {
    return result({"T.evaluate(T.call_intrin(\"handle\", \"tl.named_barrier_arrive\", " + args + "))"});
  };
  EXPECT_THAT(arrive("17, 32"), HasSubstr("'tl.named_barrier_arrive' is of barrier 17, expected 0 to 15"));
  EXPECT_THAT(arrive("3, 33"), HasSubstr("'tl.named_barrier_arrive' is for 33 threads, expected a multiple of 32 up to 1024"));
  EXPECT_THAT(arrive("15, 1024"), HasSubstr("named_barrier_arrive(15, 1024);"));
  EXPECT_THAT(result({"T.tvm_storage_sync(\"shared\", 16, 32)"}), HasSubstr("is of barrier 16, expected 0 to 15"));
  EXPECT_THAT(result({"T.tvm_storage_sync(\"shared\", 1, 33)"}), HasSubstr("is for 33 threads"));
}

TEST(CudaRefuses, UnrollFactorsOutOfRange) {
  auto loop = [](const std::string& n) {
    return result({"for i in T.serial(64, annotations={\"pragma_unroll_factor\": " + n + "}):", "    O_1[i] = i"});
  };
  for (const char* n : {"-4", "0", "1025", "\"x\""}) {
    EXPECT_THAT(loop(n), HasSubstr("annotation pragma_unroll_factor expects a constant of 1 to 1024, got ")) << n;
  }
  EXPECT_THAT(loop("4"), HasSubstr("#pragma unroll 4\n"));
}

// NVRTC unrolls what it is told to, for minutes.
TEST(CudaPrint, LongLoopsAreNotUnrolled) {
  for (const char* kind : {"unroll", "vectorized"}) {
    auto loop = [&](const std::string& n) { return result({"for i in T." + std::string(kind) + "(" + n + "):", "    O_1[i] = i"}); };
    EXPECT_THAT(loop("8192"), testing::AllOf(HasSubstr("i < 8192"), Not(HasSubstr("#pragma unroll")))) << kind;
  }
  EXPECT_THAT(result({"for i in T.unroll(1024):", "    O_1[i] = i"}), HasSubstr("#pragma unroll\n"));
}

// Copies multiply: 64 of 64 are 4096.
TEST(CudaPrint, OfLoopsInOneAnotherTheInnerAreUnrolled) {
  std::string nest = result({"for i in T.unroll(64):", "    for j in T.unroll(64):", "        O_1[j] = i + j"});
  EXPECT_THAT(nest, HasSubstr("    #pragma unroll\n    for (int j = 0; j < 64; ++j) {"));
  EXPECT_THAT(nest, Not(HasSubstr("#pragma unroll\n  for (int i")));
  std::string two = result({"for i in T.unroll(32):", "    for j in T.unroll(32):", "        O_1[j] = i + j"});
  EXPECT_THAT(two, HasSubstr("#pragma unroll\n  for (int i"));
  std::string asked = result(
      {"for i in T.serial(64, annotations={\"pragma_unroll_factor\": 64}):", "    for j in T.unroll(64):", "        O_1[j] = i + j"});
  EXPECT_THAT(asked, Not(HasSubstr("#pragma unroll 64")));
  std::string beside = result(
      {"for i in T.unroll(64):", "    for j in T.unroll(16):", "        O_1[j] = i", "    for j in T.unroll(16):", "        O_1[j] = j"});
  EXPECT_THAT(beside, HasSubstr("#pragma unroll\n  for (int i"));
  std::vector<std::string> lines;
  for (size_t depth = 0; depth < 60; ++depth)
    lines.push_back(std::string(4 * depth, ' ') + "for i" + std::to_string(depth) + " in T.unroll(2):");
  lines.push_back(std::string(4 * lines.size(), ' ') + "O_1[i0] = i1");
  std::string deep = result(lines);  // 1024 copies: the innermost ten
  size_t unrolled = 0;
  for (size_t at = deep.find("#pragma unroll"); at != deep.npos; at = deep.find("#pragma unroll", at + 1)) ++unrolled;
  EXPECT_EQ(unrolled, 10u) << deep;
}

TEST(CudaRefuses, NamesInErrorsStayOnTheirLine) {
  std::string error = shared({"(8,), \"int32\", scope=\"sha\\nred\\x1b\""}, "sm_90a");
  EXPECT_THAT(error, HasSubstr("has no storage scope 'sha\\x0ared\\x1b' for buffer 's0'"));
  EXPECT_EQ(error.find('\n'), error.npos);
}

TEST(CudaRefuses, CallsWithoutAValueWhereOneIsNeeded) {
  auto value = [](const std::string& call) { return result({"O_1[tx] = " + call}); };
  EXPECT_THAT(value("T.call_extern(\"int32\", \"__syncthreads\")"), HasSubstr("'__syncthreads' gives no value, and is used as one"));
  EXPECT_THAT(value("T.call_intrin(\"int32\", \"tl.fence_proxy_async\")"), HasSubstr("'tl.fence_proxy_async' gives no value"));
  EXPECT_THAT(value("T.call_intrin(\"int32\", \"tirx.ptx_wait_group\", 0)"), HasSubstr("gives no value, and is used as one"));
  EXPECT_THAT(value("T.call_intrin(\"int32\", \"tl.fence_proxy_async\")"), testing::StartsWith("k.py:9:"));
  EXPECT_THAT(result({"T.evaluate(T.call_extern(\"int32\", \"__syncthreads\"))"}), HasSubstr("__syncthreads();"));
  EXPECT_THAT(value("T.call_extern(\"int32\", \"clock\")"), HasSubstr("= clock();"));
}

TEST(CudaRefuses, ALoopIsLeftOutsideOne) {
  EXPECT_THAT(result({"T.evaluate(T.call_intrin(\"handle\", \"tl.loop_break\"))"}), HasSubstr("'tl.loop_break' is outside a loop"));
  EXPECT_THAT(result({"for i in range(64):", "    if O_1[i] > 1:", "        T.evaluate(T.call_intrin(\"handle\", \"tl.loop_break\"))"}),
              HasSubstr("break;"));
}

}  // namespace
}  // namespace kiln::cuda
