// Operators and functions of threads, warps, bits and numbers: what each becomes, and that all of it compiles.
#include <gmock/gmock.h>

#include <algorithm>

#include "backends/cuda/print.h"
#include "backends/cuda/toolchain.h"
#include "import/import.h"
#include "intrinsics/functions.h"

namespace kiln::cuda {
namespace {

using testing::HasSubstr;

std::string module_of(const std::vector<std::string>& body) {
  std::string text = "@I.ir_module\nclass Module:\n    @T.prim_func\n    def k(";
  const char* dtypes[] = {"int32", "float32", "uint32", "int64", "uint64", "float16", "bfloat16", "int8", "uint8", "bool", "float64"};
  const char* names[] = {"I", "F", "U", "L", "UL", "H", "B", "C", "UC", "P", "D"};
  for (int i = 0; i < 11; ++i) text += std::string(i ? ", " : "") + names[i] + ": T.handle(\"" + dtypes[i] + "\", \"global\")";
  text +=
      "):\n        T.func_attr({\"global_symbol\": \"k\", \"tirx.is_global_func\": True, \"tirx.kernel_launch_params\": "
      "[\"threadIdx.x\"]})\n";
  for (int i = 0; i < 11; ++i) {
    text += std::string("        ") + names[i] + "_ = T.decl_buffer((64,), \"" + dtypes[i] + "\", data=" + names[i] + ")\n";
  }
  text += "        tx = T.launch_thread(\"threadIdx.x\", 32)\n";
  for (const std::string& line : body) text += "        " + line + "\n";
  return text;
}

Result<Source> source(const std::vector<std::string>& body, const std::string& arch) {
  auto module = parse_module(module_of(body), "k.py");
  if (!module) return module.error();
  return print_source(**module, *arch_of(*Target::parse("cuda -arch=" + arch)));
}

std::string intrinsic(const std::string& to, const std::string& dtype, const std::string& name, const std::string& args) {
  return to + " = T.call_intrin(\"" + dtype + "\", \"" + name + "\"" + (args.empty() ? "" : ", " + args) + ")";
}
std::string function(const std::string& to, const std::string& dtype, const std::string& name, const std::string& args) {
  return to + " = T.call_pure_extern(\"" + dtype + "\", \"" + name + "\"" + (args.empty() ? "" : ", " + args) + ")";
}

struct Row {
  std::string line, expected;  // a statement, and a part of what it becomes
};
const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {intrinsic("I_[0]", "int32", "tl.get_lane_idx", ""), "lane_index()"},
      {intrinsic("I_[0]", "int32", "tl.get_warp_idx", "32"), "warp_index(32)"},
      {intrinsic("I_[0]", "int32", "tl.get_warp_idx_sync", ""), "warp_index_sync()"},
      {intrinsic("I_[0]", "int32", "tl.get_warp_group_idx", "32, 4"), "warp_group_index(32, 4)"},
      {intrinsic("UL_[0]", "uint64", "tl.ballot", "I_[1] > 0"), "__ballot_sync("},
      {intrinsic("UL_[0]", "uint64", "tl.ballot_sync", "T.uint32(255), I_[1]"), "__ballot_sync("},
      {intrinsic("I_[0]", "int32", "tl.any_sync", "T.uint32(255), I_[1]"), "__any_sync("},
      {intrinsic("U_[0]", "uint32", "tl.match_any_sync", "T.uint32(255), L_[1]"), "__match_any_sync("},
      {intrinsic("U_[0]", "uint32", "tl.match_all_sync", "T.uint32(255), F_[1]"), "match_all("},
      {intrinsic("I_[0]", "int32", "tl.syncthreads_count", "I_[1]"), "__syncthreads_count(I[1])"},
      {intrinsic("I_[0]", "int32", "tl.__ffs", "I_[1]"), "__ffs(I[1])"},
      {intrinsic("I_[0]", "int32", "tl.__ffs", "L_[1]"), "__ffsll(L[1])"},
      {intrinsic("U_[0]", "uint32", "tl.__fns", "U_[1], U_[2], I_[1]"), "__fns(U[1], U[2], I[1])"},
      {intrinsic("I_[0]", "int32", "tirx.popcount", "I_[1]"), "__popc("},
      {intrinsic("L_[0]", "int64", "tirx.clz", "L_[1]"), "__clzll("},
      {intrinsic("F_[0]", "float32", "tl.pow_of_int", "F_[1], 3"), "pow_of_int<3>(F[1])"},
      {intrinsic("I_[0]", "int32", "tl.pack_b8x4", "C_[0], C_[1], C_[2], C_[3]"), "<< 24"},
      {intrinsic("I_[0]", "int32", "tl.pack_b16", "H_[0], H_[1]"), "<< 16"},
      {intrinsic("I_[0]", "int32", "tirx.dp4a", "C_[0:4], C_[4:8], I_[1]"), "__dp4a("},
      {intrinsic("U_[0]", "uint32", "tirx.dp4a", "UC_[0:4], UC_[4:8], U_[1]"), "__dp4a("},
      {intrinsic("L_[0]", "int64", "tirx.cuda.clock64", ""), "clock64()"},
      {intrinsic("I_[0]", "int32", "tirx.cuda.thread_rank", ""), "thread_rank()"},
      {intrinsic("U_[0]", "uint32", "tirx.cuda.reduce_add_sync_u32", "T.uint32(255), U_[1]"), "__reduce_add_sync("},
      {intrinsic("F_[0]", "float32", "tirx.cuda.half2float", "H_[1]"), "f16_to_f32(H[1])"},
      {intrinsic("F_[0]", "float32", "tirx.cuda.fdividef", "F_[1], F_[2]"), "__fdividef(F[1], F[2])"},
      {intrinsic("I_[0]", "int32", "tl.warp_reduce_sum", "I_[1]"), "__reduce_add_sync(0xFFFFFFFF, x)"},
      {intrinsic("U_[0]", "uint32", "tl.warp_reduce_bitand", "U_[1]"), "__reduce_and_sync(0xFFFFFFFF, x)"},
      {intrinsic("F_[0]", "float32", "tl.warp_reduce_max", "F_[1]"), "__shfl_xor_sync(0xFFFFFFFF, x, 16)"},
      {intrinsic("H_[0]", "float16", "tl.shfl_sync", "T.uint32(255), H_[1], 3, 32"), "__shfl_sync("},
      {intrinsic("B_[0]", "bfloat16", "tl.shfl_xor_sync", "T.uint32(255), B_[1], 3, 32"), "__shfl_xor_sync("},
      {intrinsic("D_[0]", "float64", "tl.shfl_up_sync", "T.uint32(255), D_[1], 3, 32"), "__shfl_up_sync("},
      {intrinsic("L_[0]", "int64", "tl.shfl_down_sync", "T.uint32(255), L_[1], 3, 32"), "__shfl_down_sync("},
      {function("P_[0]", "bool", "tl::Any", "T.address_of(I_[0]), 8"), "any_of(I, 8)"},
      {function("P_[0]", "bool", "tl::All", "T.address_of(F_[0]), 8"), "all_of(F, 8)"},
      {function("F_[0]", "float32", "tl::AllReduce<tl::SumOp, 32, 1, 0>::run", "H_[1]"), "all_reduce_sum_f32_32_1(f16_to_f32(H[1]))"},
      {"T.evaluate(T.call_extern(\"handle\", \"tl::CumSum1D<32, false>::run\", T.address_of(C_[0]), T.address_of(C_[0]), 64))",
       "scan_1d<false, false>(C, C, 64);"},
      {"T.evaluate(T.call_extern(\"handle\", \"tl::CumSum1D<32, true>::run\", T.address_of(H_[0]), T.address_of(H_[0]), 64))",
       "scan_1d<false, true, scan_by<f16_to_f32>, scan_by<f32_to_f16>>(H, H, 64);"},
      {"T.evaluate(T.call_extern(\"handle\", \"tl::CumMax2D<64, 0, false>::run\", T.address_of(B_[0]), T.address_of(B_[0]), 4, 4, 4, 4))",
       "scan_2d<true, false, 64, 0, scan_by<bf16_to_f32>, scan_by<f32_to_bf16>>(B, B, 4, 4, 4, 4);"},
      {function("I_[0]", "int32", "__float2int_rd", "F_[1]"), "__float2int_rd(F[1])"},
      {function("U_[0]", "uint32", "__funnelshift_l", "U_[1], U_[2], U_[3]"), "__funnelshift_l("},
      {function("I_[0]", "int32", "__dp2a_lo", "I_[1], I_[2], I_[3]"), "__dp2a_lo("},
      {function("F_[0]", "float32", "__ldcg", "T.address_of(F_[1])"), "__ldcg(&F[1])"},
      {function("H_[0]", "float16", "__ldcs", "T.address_of(H_[1])"), "__ldcs(&H[1])"},
      {function("D_[0]", "float64", "__ll2double_rz", "L_[1]"), "__ll2double_rz(L[1])"},
      {"T.evaluate(T.call_intrin(\"handle\", \"tirx.cuda.nano_sleep\", 100))", "__nanosleep(100);"},
      {"T.evaluate(T.call_intrin(\"handle\", \"tirx.cuda.thread_fence\"))", "__threadfence();"},
      {"T.evaluate(T.call_intrin(\"handle\", \"tirx.cuda.warp_sync\"))", "__syncwarp();"},
      {"T.evaluate(T.call_intrin(\"handle\", \"tl.sync_grid\"))", "grid_sync();"},
      {"T.evaluate(T.call_intrin(\"handle\", \"tirx.cuda.printf\", \"%d \\\"%f\\\"\\n\", I_[0], H_[0]))",
       "printf(\"%d \\\"%f\\\"\\n\", I[0], (double)f16_to_f32(H[0]));"},
      {"T.evaluate(T.call_intrin(\"handle\", \"tirx.cuda.cta_sync\"))", "__syncthreads();"},
      {"T.evaluate(T.call_intrin(\"handle\", \"tirx.cuda.trap_when_assert_failed\", I_[0] > 0))", "if (I[0] <= 0) fail("},
  };
  return all;
}

TEST(CudaIntrinsics, EachIsPrinted) {
  for (const Row& row : rows()) {
    auto s = source({row.line}, "sm_80");
    ASSERT_TRUE(s.ok()) << row.line << ": " << s.error().to_string();
    EXPECT_THAT(s->text, HasSubstr(row.expected)) << row.line;
  }
}

TEST(CudaIntrinsics, AFunctionIsListedOnce) {
  std::vector<std::string_view> names = intrinsics::function_names();
  std::sort(names.begin(), names.end());
  auto twice = std::adjacent_find(names.begin(), names.end());
  EXPECT_EQ(twice, names.end()) << *twice;
}

TEST(CudaIntrinsics, AllOfThemCompile) {
  std::vector<std::string> body;
  for (const Row& row : rows()) body.push_back(row.line);
  auto s = source(body, "sm_80");
  ASSERT_TRUE(s.ok()) << s.error().to_string();
  auto ptx = artifacts_of(*s, *arch_of(*Target::parse("cuda -arch=sm_80"))).at("ptx")();
  EXPECT_TRUE(ptx.ok()) << ptx.error().to_string();
}

const char* const kSeed = "T.evaluate(T.call_intrin(\"void\", \"tl.rng_init\", 7, tx, 0, \"curandStatePhilox4_32_10_t\"))";

TEST(CudaRandom, EachLaneDrawsANumber) {
  auto s = source({kSeed, intrinsic("U_[0]", "uint32", "tl.rng_rand", ""),
                   "F_[0:4] = T.Broadcast(T.call_intrin(\"float32\", \"tl.rng_rand_float\", \"normal\"), 4)",
                   "D_[0:2] = T.Broadcast(T.call_intrin(\"float64\", \"tl.rng_rand_float\", \"uniform\"), 2)",
                   "D_[2] = T.call_intrin(\"float64\", \"tl.rng_rand_float\", \"uniform\")", kSeed,
                   intrinsic("D_[3]", "float64", "tl.rng_rand_float", "\"normal\"")},
                  "sm_80");
  ASSERT_TRUE(s.ok()) << s.error().to_string();
  for (const char* line : {"  philox random;\n  philox random_1;\n", "random_init(random, 7, tx, 0);", "U[0] = random_u32(random);",
                           "= random_normal_f32(random);", "= random_uniform_pair_f64(random);", "D[2] = random_uniform_f64(random);",
                           "random_init(random_1, 7, tx, 0);", "D[3] = random_normal_f64(random_1);"}) {
    EXPECT_THAT(s->text, HasSubstr(line));
  }
  auto cubin = artifacts_of(*s, *arch_of(*Target::parse("cuda -arch=sm_80"))).at("cubin")();
  EXPECT_TRUE(cubin.ok()) << cubin.error().to_string();
}

TEST(CudaRandom, OtherGeneratorsAndDrawsWithoutASeedAreRefused) {
  auto other = source({"T.evaluate(T.call_intrin(\"void\", \"tl.rng_init\", 7, tx, 0, \"curandStateXORWOW_t\"))"}, "sm_80");
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().to_string(),
              HasSubstr("has no generator 'curandStateXORWOW_t' for 'tl.rng_init' on sm_80 (use curandStatePhilox"));
  auto none = source({intrinsic("U_[0]", "uint32", "tl.rng_rand", "")}, "sm_80");
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().to_string(), HasSubstr("'tl.rng_rand' comes before tl.rng_init"));
}

// Without arguments or with one of the wrong kind: printed as what it is, or refused by its name.
TEST(CudaIntrinsics, EveryOperatorIsPrintedOrRefusedByName) {
  const char* names[] = {
#define KILN_OP(enumerator, name, args, result, effect) name,
#include "ir/ops.def"
#undef KILN_OP
  };
  for (const char* name : names) {
    for (const char* args : {"", ", F_[0]", ", \"text\"", ", I_[0], I_[1], I_[2], I_[3]", ", T.address_of(F_[0]), F_[1], 9"}) {
      auto s = source({"T.evaluate(T.call_intrin(\"float32\", \"" + std::string(name) + "\"" + args + "))"}, "sm_100a");
      if (!s) {
        EXPECT_THAT(s.error().to_string(), testing::AnyOf(HasSubstr(name), HasSubstr("external function"))) << args;
      }
    }
  }
}

}  // namespace
}  // namespace kiln::cuda
