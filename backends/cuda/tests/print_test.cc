#include "backends/cuda/print.h"

#include <gmock/gmock.h>

#include "backends/cuda/intrinsics.h"
#include "backends/cuda/toolchain.h"
#include "emit/functions.h"
#include "import/import.h"
#include "kiln/device_codegen.h"

namespace kiln::cuda {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A kernel k over A (float32[64], or `dtype`) with the given line as its body, for 32 threads.
std::string kernel(const std::string& body, const std::string& dtype) {
  return "@I.ir_module\nclass Module:\n    @T.prim_func\n    def k(A: T.handle(\"" + dtype +
         "\", \"global\")):\n"
         "        T.func_attr({\"global_symbol\": \"k\", \"tirx.noalias\": True, \"tirx.is_global_func\": True, "
         "\"tirx.kernel_launch_params\": [\"threadIdx.x\"]})\n"
         "        A_1 = T.decl_buffer((64,), \"" +
         dtype +
         "\", data=A)\n        m = T.alloc_buffer((2,), \"uint64\", scope=\"shared.barrier\")\n        tx = "
         "T.launch_thread(\"threadIdx.x\", 32)\n        " +
         body + "\n";
}

Result<Source> print(const std::string& body, const std::string& arch, const std::string& dtype = "float32") {
  auto module = parse_module(kernel(body, dtype), "k.py");
  if (!module) return module.error();
  auto parsed = arch_of(*Target::parse("cuda -arch=" + arch));
  if (!parsed) return parsed.error();
  return print_source(**module, *parsed);
}

std::string printed(const std::string& body, const std::string& arch = "sm_80", const std::string& dtype = "float32") {
  auto source = print(body, arch, dtype);
  return source ? source->text : "error: " + source.error().to_string();
}

std::string refusal(const std::string& body, const std::string& arch, const std::string& dtype = "float32") {
  auto source = print(body, arch, dtype);
  return source ? "printed" : source.error().to_string();
}

TEST(CudaPrint, RefusesWhatTheArchitectureLacks) {
  EXPECT_THAT(refusal("T.mbarrier_wait_parity(m[0], 0)", "sm_86"),
              HasSubstr("no operator 'tl.mbarrier_wait_parity' on uint64 for sm_86 (it needs sm_90 or newer)"));
  EXPECT_THAT(refusal("T.warpgroup_arrive()", "sm_100a"), HasSubstr("for sm_100a (it needs sm_90a)"));
  EXPECT_THAT(refusal("T.warpgroup_arrive()", "sm_90"), HasSubstr("for sm_90 (it needs sm_90a)"));
  EXPECT_THAT(refusal("T.set_max_nreg(40, 0)", "sm_89"), HasSubstr("for sm_89 (it needs sm_90a)"));
  EXPECT_THAT(refusal("T.set_max_nreg(40, 0)", "sm_120"), HasSubstr("for sm_120 (it needs sm_120a)"));
  EXPECT_THAT(refusal("T.ptx_commit_group()", "sm_75"), HasSubstr("for sm_75 (it needs sm_80 or newer)"));
  EXPECT_THAT(refusal("A_1[tx] = A_1[tx]", "sm_70"), HasSubstr("codegen 'cuda' has no architecture 'sm_70'"));
}

TEST(CudaPrint, AsynchronousCopiesCountElements) {
  std::string copy = "T.evaluate(T.ptx_cp_async(T.address_of(A_1[8]), T.address_of(A_1[0]), ";
  EXPECT_THAT(printed(copy + "8))", "sm_80", "float16"), HasSubstr("cp_async<16>(shared_address("));
  EXPECT_THAT(printed(copy + "4))", "sm_80", "float32"), HasSubstr("cp_async<16>("));
  EXPECT_THAT(printed(copy + "4))", "sm_80", "int8"), HasSubstr("cp_async<4>("));
  EXPECT_THAT(refusal(copy + "8))", "sm_80", "float32"), HasSubstr("a copy is of 4, 8 or 16 bytes"));
}

TEST(CudaPrint, HalvesAreComputedInTheirFormat) {
  std::string scaled = printed("A_1[tx] = A_1[tx] * A_1[0] - A_1[1]", "sm_80", "float16");
  EXPECT_THAT(scaled, HasSubstr("A[tx] = f16_sub(f16_mul(A[tx], A[0]), A[1]);"));
  EXPECT_THAT(scaled, HasSubstr("mul.rn.f16 "));
  EXPECT_THAT(printed("A_1[tx] = A_1[tx] + A_1[0]", "sm_90a", "bfloat16"), HasSubstr("add.rn.bf16 "));
  // There the format has no sums of its own.
  EXPECT_THAT(printed("A_1[tx] = A_1[tx] + A_1[0]", "sm_86", "bfloat16"),
              HasSubstr("return f32_to_bf16(bf16_to_f32(a) + bf16_to_f32(b));"));
  EXPECT_THAT(printed("A_1[tx] = A_1[tx] / A_1[0]", "sm_90a", "float16"), HasSubstr("f32_to_f16(f16_to_f32(A[tx]) / f16_to_f32(A[0]))"));
}

TEST(CudaPrint, RefusesTypesAndFunctionsThatCudaLacks) {
  EXPECT_THAT(refusal("A_1[0] = T.Cast(\"float32\", T.Cast(\"int2\", A_1[0]))", "sm_80"), HasSubstr("no type for dtype 'int2'"));
  EXPECT_THAT(refusal("A_1[0:8] = T.Cast(\"float32x8\", T.Cast(\"float6_e3m2fnx8\", A_1[0:8]))", "sm_100a"),
              HasSubstr("'float6_e3m2fnx8'"));
  EXPECT_THAT(refusal("A_1[0] = T.call_extern(\"float32\", \"mine\", A_1[0])", "sm_80"),
              HasSubstr("external function 'mine' is not one of CUDA's"));
  EXPECT_THAT(refusal("A_1[0] = T.call_pure_extern(\"int8\", \"__expf\", A_1[0])", "sm_80", "int8"), HasSubstr("'__expf' on dtype int8"));
}

TEST(CudaPrint, PlainKernelsNeedNoHelper) {
  EXPECT_THAT(printed("A_1[tx] = A_1[tx] + T.float32(1.5)"), StartsWith("extern \"C\" __global__ void __launch_bounds__(32, 1) k("));
}

// Helpers are found by the words of the text, comments included: a name that is an English word would bring its helper in.
TEST(CudaPrint, AHelpersNameIsNoWordOfAnothersComments) {
  for (const Helper& h : helpers()) {
    for (size_t at = h.text.find("//"); at != h.text.npos; at = h.text.find("//", at + 2)) {
      emit::Names words;
      emit::add_words(h.text.substr(at, h.text.find('\n', at) - at), words);
      for (const Helper& other : helpers()) {
        for (std::string_view name : other.names) {
          bool plain = name.find('_') == name.npos && name.find_first_of("0123456789") == name.npos;
          EXPECT_FALSE(plain && &other != &h && words.contains(name)) << name << " in " << h.stem;
        }
      }
    }
  }
}

// How often `text` names the atomic.
int atomics(const std::string& text) {
  int n = 0;
  for (size_t at = text.find("atomicAdd("); at != text.npos; at = text.find("atomicAdd(", at + 1)) ++n;
  return n;
}

TEST(CudaPrint, AnEffectIsEvaluatedAsOftenAsTheModuleSays) {
  const std::string one = "T.call_extern(\"float32\", \"atomicAdd\", T.address_of(A_1[0]), T.float32(1))";
  const std::string turns = "T.call_extern(\"int32\", \"atomicAdd\", T.address_of(A_1[0]), 1)";
  std::string loop = printed("for i in T.serial(" + turns + ", 10):\n            A_1[i] = 0", "sm_80", "int32");
  EXPECT_EQ(atomics(loop), 2) << loop;  // the start, and the extent of start and end
  loop = printed("for i in T.serial(T.shfl_xor_sync(T.uint32(0xFFFFFFFF), tx, 1, 32)):\n            A_1[i] = 0", "sm_80", "int32");
  EXPECT_THAT(loop, HasSubstr("int result = __shfl_xor_sync("));
  EXPECT_THAT(loop, HasSubstr("i < result;"));
  EXPECT_EQ(atomics(printed("A_1[tx] = T.floormod(" + one + ", T.float32(3))")), 1);
  EXPECT_EQ(atomics(printed("if T.isnan(" + one + "):\n            A_1[tx] = 0.0")), 1);
  EXPECT_EQ(atomics(printed("A_1[tx] = T.Cast(\"int32\", T.isnan(" + turns + "))", "sm_80", "int32")), 1);
  EXPECT_EQ(atomics(printed("A_1[" + turns + "] = A_1[" + turns + "] + 1", "sm_80", "int32")), 2);
  EXPECT_EQ(atomics(printed("A_1[0:4] = T.Broadcast(" + one + ", 4)")), 1);
  EXPECT_EQ(atomics(printed("A_1[0:4] = A_1[T.Ramp(" + turns + ", 2, 4)]", "sm_80", "int32")), 1);
  EXPECT_THAT(printed("A_1[tx] = " + one), HasSubstr("A[tx] = atomicAdd(A, 1.0f);"));  // where one evaluation is sure, nothing is bound
}

TEST(CudaPrint, LiteralsAreExact) {
  EXPECT_THAT(printed("A_1[tx] = T.float32(\"-inf\")"), HasSubstr("A[tx] = __int_as_float(0xFF800000);"));
  EXPECT_THAT(printed("A_1[tx] = T.float32(1e-40)"), HasSubstr("A[tx] = 1e-40f;"));
  EXPECT_THAT(printed("A_1[tx] = T.float16(1.0)", "sm_80", "float16"), HasSubstr("A[tx] = 0x3C00;"));
}

TEST(CudaPrint, LiteralsHaveTheirTypeWhereNoOtherOperandGivesIt) {
  EXPECT_THAT(printed("A_1[tx] = T.shift_right(T.bitwise_not(T.uint64(5)), T.uint64(1))", "sm_80", "uint64"), HasSubstr("= ~5ULL >> 1;"));
  EXPECT_THAT(printed("A_1[tx] = T.Cast(\"int64\", T.bitwise_not(T.uint32(5)))", "sm_80", "int64"), HasSubstr("= (long long)~5u;"));
  EXPECT_THAT(printed("A_1[tx] = T.bitwise_not(T.int64(5)) + T.bitwise_not(T.int64(2147483647))", "sm_80", "int64"),
              HasSubstr("= ~5LL + ~2147483647LL;"));
  EXPECT_THAT(printed("A_1[tx] = T.int64(-2147483648)", "sm_80", "int64"), HasSubstr("A[tx] = -2147483648LL;"));
  EXPECT_THAT(printed("A_1[tx] = A_1[0] + T.int64(-2147483648)", "sm_80", "int64"), HasSubstr("= A[0] + (-2147483648LL);"));
  EXPECT_THAT(
      printed("T.evaluate(T.call_extern(\"int32\", \"printf\", \"%lld %llu %d\", T.int64(5), T.uint64(7), A_1[0]))", "sm_80", "int32"),
      HasSubstr("printf(\"%lld %llu %d\", 5LL, 7ULL, A[0]);"));
  EXPECT_THAT(printed("A_1[tx] = T.call_intrin(\"int64\", \"tl.pow_of_int\", T.int64(10), 12)", "sm_80", "int64"),
              HasSubstr("pow_of_int<12>(10LL)"));
}

TEST(CudaPrint, PowersOfIntegersHaveABoundedExponent) {
  std::string power = "A_1[tx] = T.call_intrin(\"float32\", \"tl.pow_of_int\", A_1[0], ";
  EXPECT_THAT(refusal(power + "-2)", "sm_80"), HasSubstr("the exponent of 'tl.pow_of_int' is from 0 to 1024, got -2"));
  EXPECT_THAT(refusal(power + "T.int64(1099511627776))", "sm_80"), HasSubstr("is from 0 to 1024, got 1099511627776"));
  EXPECT_THAT(printed(power + "1024)"), HasSubstr("pow_of_int<1024>(A[0])"));
}

TEST(CudaPrint, FunctionsKnownByNameTakeSmallFloatsInFloat32) {
  struct Row {
    std::string dtype, call, expected;
  };
  const Row rows[] = {
      {"float16", "\"float16\", \"hexp\", A_1[tx]", "= f32_to_f16(expf(f16_to_f32(A[tx])));"},
      {"float16", "\"float16\", \"__expf\", A_1[tx]", "= f32_to_f16(__expf(f16_to_f32(A[tx])));"},
      {"float16", "\"float16\", \"powf\", T.float32(2), A_1[tx]", "= f32_to_f16(powf(2.0f, f16_to_f32(A[tx])));"},
      {"float16", "\"float16\", \"__hfma\", A_1[0], A_1[1], A_1[2]", "fmaf(f16_to_f32(A[0]), f16_to_f32(A[1]), f16_to_f32(A[2]))"},
      {"float16", "\"float16\", \"__saturatef\", A_1[tx]", "= f32_to_f16(__saturatef(f16_to_f32(A[tx])));"},
      {"float16", "\"float16\", \"__sinf\", T.float16(1.5)", "= f32_to_f16(__sinf(1.5f));"},
      {"bfloat16", "\"bfloat16\", \"__hmax\", A_1[0], A_1[1]", "= f32_to_bf16(fmaxf(bf16_to_f32(A[0]), bf16_to_f32(A[1])));"},
      {"float8_e4m3fn", "\"float8_e4m3fn\", \"expf\", A_1[tx]", "= f32_to_f8_e4m3(expf(f8_e4m3_to_f32(A[tx])));"},
      {"float16", "\"float16\", \"__ldg\", T.address_of(A_1[tx])", "= __ldg(&A[tx]);"}};
  for (const Row& row : rows) {
    for (const char* form : {"T.call_extern(", "T.call_pure_extern("}) {
      EXPECT_THAT(printed("A_1[tx] = " + (form + row.call) + ")", "sm_90a", row.dtype), HasSubstr(row.expected)) << form << row.call;
    }
  }
  EXPECT_THAT(printed("m[tx] = T.Cast(\"uint64\", T.call_extern(\"int32\", \"__float_as_int\", A_1[tx]))", "sm_90a", "float16"),
              HasSubstr("__float_as_int(f16_to_f32(A[tx]))"));
}

TEST(CudaPrint, FunctionsThatReadMemoryTakeItsFormat) {
  EXPECT_THAT(refusal("m[0] = T.Cast(\"uint64\", T.call_extern(\"float32\", \"__ldg\", T.address_of(A_1[tx])))", "sm_80", "float16"),
              HasSubstr("'__ldg' accesses elements of dtype 'float16' as 'float32'"));
  EXPECT_THAT(refusal("T.evaluate(T.call_extern(\"void\", \"__stcg\", T.address_of(A_1[tx]), T.float16(1)))", "sm_80"),
              HasSubstr("'__stcg' accesses elements of dtype 'float32' as 'float16'"));
  EXPECT_THAT(refusal("A_1[tx] = T.call_extern(\"float32\", \"__ldg\", A_1[tx])", "sm_80"),
              HasSubstr("'__ldg' takes an address, got dtype float32"));
  EXPECT_THAT(refusal("A_1[tx] = T.call_extern(\"float32\", \"powf\", A_1[tx], T.address_of(A_1[tx]))", "sm_80"),
              HasSubstr("no operator 'tirx.call_extern'"));
}

TEST(CudaPrint, KernelsDoNotTakeNamesOfTheRuntime) {
  for (std::string name : {"va_list", "va_start", "norm3df", "cudaEvent_t", "cudaErrorAssert", "CUDA_C_16F"}) {
    std::string text = kernel("A_1[tx] = T.float32(0.0)", "float32");
    text.replace(text.find("\"k\""), 3, '"' + name + '"');
    auto source = print_source(**parse_module(text, "k.py"), *arch_of(*Target::parse("cuda -arch=sm_80")));
    ASSERT_TRUE(source.ok()) << source.error().to_string();
    bool api = name[0] == 'c' || name[0] == 'C';  // a suffix would leave how it begins
    EXPECT_THAT(source->text, HasSubstr(api ? " kernel_" + name + "(float*" : " " + name + "_kernel(float*"));
    auto ptx = artifacts_of(*source, *arch_of(*Target::parse("cuda -arch=sm_80"))).at("ptx")();
    EXPECT_TRUE(ptx.ok()) << name << ": " << ptx.error().to_string();
  }
}

// Macros of headers that NVRTC includes unasked.
TEST(CudaPrint, VariablesDoNotTakeNamesOfMacros) {
  auto text_of = [](const std::string& name) {
    return printed(
        name + ": T.int32 = tx // 2\n        A_1[" + name + "] = T.Cast(\"float32\", " + name + ")\n        A_1[" + name + " + 1] = 1.0",
        "sm_80");
  };
  for (std::string name : {"cudaStreamDefault", "cudaHostAllocDefault", "CUDARTAPI", "CU_UUID_HAS_BEEN_DEFINED"}) {
    std::string text = text_of(name);
    EXPECT_THAT(text, HasSubstr("int v_" + name + " = "));
    Source source;
    source.text = text;
    auto ptx = compile(source, *arch_of(*Target::parse("cuda -arch=sm_80")), {}, Format::kPtx);
    EXPECT_TRUE(ptx.ok()) << name << ": " << ptx.error().to_string();
  }
  EXPECT_THAT(text_of("cuda_index"), HasSubstr("int cuda_index = "));
}

TEST(CudaPrint, ConversionsOfFloat8AreTheHardwaresWhereItHasThem) {
  std::string body = "A_1[tx] = T.Cast(\"float8_e4m3fn\", T.float32(1.0) * T.Cast(\"float32\", tx))";
  EXPECT_THAT(printed(body, "sm_89", "float8_e4m3fn"), HasSubstr("cvt.rn.satfinite.e4m3x2.f32"));
  EXPECT_THAT(printed(body, "sm_80", "float8_e4m3fn"), Not(HasSubstr("satfinite")));
}

TEST(CudaPrint, TellsTheLaunchItsParameters) {
  auto source = print("A_1[tx] = T.float32(0.0)", "sm_80");
  ASSERT_TRUE(source.ok());
  ASSERT_EQ(source->kernels.size(), 1u);
  EXPECT_THAT(source->kernels[0].launch_params, testing::ElementsAre("threadIdx.x"));
}

TEST(CudaToolchain, ModulesCarryTheirArtifacts) {
  auto target = Target::parse("cuda -arch=sm_80");
  auto module = IRModule::parse(kernel("A_1[tx] = T.float32(2.0)", "float32"), "k.py");
  ASSERT_TRUE(module.ok());
  auto codegen = resolve_device_codegen(*target);
  ASSERT_TRUE(codegen.ok()) << codegen.error().to_string();
  auto built = (*codegen)->lower(*module, *target, false);
  ASSERT_TRUE(built.ok()) << built.error().to_string();
  EXPECT_THAT(built->inspect_source("cuda"), HasSubstr("A[tx] = 2.0f;"));
  EXPECT_TRUE(built->artifact("ptx").ok());
}

}  // namespace
}  // namespace kiln::cuda
