// What the compilers make, what options change, and what messages say.
#include "backends/cuda/toolchain.h"

#include <gmock/gmock.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/tvm_ffi.h>

#include <cstring>
#include <thread>

#include "backends/cuda/print.h"
#include "base/process.h"
#include "import/import.h"

namespace kiln::cuda {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kModule =
    "@I.ir_module\nclass Module:\n    @T.prim_func\n    def k(A: T.handle(\"float32\", \"global\")):\n"
    "        T.func_attr({\"global_symbol\": \"k\", \"tirx.is_global_func\": True, \"tirx.kernel_launch_params\": [\"threadIdx.x\"]})\n"
    "        A_1 = T.decl_buffer((64,), \"float32\", data=A)\n"
    "        tx = T.launch_thread(\"threadIdx.x\", 32)\n"
    "        A_1[tx] = T.exp(A_1[tx])\n"
    "        A_1[tx + 32] = T.float32(1.0)\n";

ir::ModulePtr module_k(const char* file = "folder/k.py") {
  auto m = parse_module(kModule, file);
  return m ? *m : nullptr;
}

Options options(const std::string& target, const ir::Module& module = *module_k()) {
  auto parsed = Target::parse(target);
  if (!parsed) ADD_FAILURE() << parsed.error().to_string();
  auto o = options_of(*parsed, module);
  if (!o) ADD_FAILURE() << o.error().to_string();
  return o ? *o : Options{};
}

std::string refusal(const std::string& target) {
  auto o = options_of(*Target::parse(target), *module_k());
  return o ? "taken" : o.error().to_string();
}

runtime::Artifacts artifacts(const std::string& target) {
  auto module = module_k();
  Options o = options(target, *module);
  PrintFor print = [module](const Arch& arch) { return print_source(*module, arch); };
  auto source = print(o.arch);
  return artifacts_of(*source, o, print);
}

std::string made(const std::string& target, const std::string& format) {
  auto bytes = artifacts(target).at(format)();
  return bytes ? *bytes : "error: " + bytes.error().to_string();
}

// The number of the architecture that a cubin is for: since CUDA 13 bits 8 to 15 of an ELF header's e_flags.
int sm_of(const std::string& cubin) {
  uint32_t flags = 0;
  if (cubin.size() > 52) std::memcpy(&flags, cubin.data() + 48, 4);
  return static_cast<int>(flags >> 8 & 255);
}

TEST(CudaToolchain, CubinsAreForTheirArchitecture) {
  for (auto [target, number] : {std::pair("cuda -arch=sm_75", 75), std::pair("cuda -arch=sm_90a", 90), std::pair("cuda -arch=sm_100f", 100),
                                std::pair("cuda -arch=sm_103a", 103), std::pair("cuda -arch=sm_120a", 120)}) {
    std::string cubin = made(target, "cubin");
    EXPECT_THAT(cubin, StartsWith("\x7F"
                                  "ELF"));
    EXPECT_EQ(sm_of(cubin), number) << target;
  }
}

TEST(CudaToolchain, PtxNamesTheArchitectureWithItsSuffix) {
  EXPECT_THAT(made("cuda -arch=sm_100f", "ptx"), HasSubstr(".target sm_100f"));
  EXPECT_THAT(made("cuda -arch=sm_103a", "ptx"), HasSubstr(".target sm_103a"));
}

TEST(CudaToolchain, AFatBinaryHoldsEveryArchitecture) {
  std::string one = made("cuda -arch=sm_80", "fatbin"), three = made("cuda -arch=sm_80 -code=sm_80,sm_90a,sm_100f", "fatbin");
  EXPECT_THAT(one, StartsWith("\x50\xED\x55\xBA"));  // 0xBA55ED50
  EXPECT_THAT(three, StartsWith("\x50\xED\x55\xBA"));
  size_t elf = 0;
  for (size_t at = three.find("\x7F"
                              "ELF");
       at != three.npos; at = three.find("\x7F"
                                         "ELF",
                                         at + 1))
    ++elf;
  EXPECT_EQ(elf, 3u);
  EXPECT_GT(three.size(), one.size());
}

TEST(CudaToolchain, SameInputSameBytes) {
  auto source = print_source(*module_k(), *arch_of(*Target::parse("cuda -arch=sm_90a")));
  for (Format format : {Format::kPtx, Format::kCubin}) {
    auto once = nvrtc()->compile(*nvrtc(), source->text, {"--gpu-architecture=sm_90a"}, format);
    auto again = nvrtc()->compile(*nvrtc(), source->text, {"--gpu-architecture=sm_90a"}, format);
    ASSERT_TRUE(once.ok() && again.ok());
    EXPECT_EQ(once->code, again->code);
  }
  std::vector<FatbinPart> parts = {{Format::kPtx, "90a", made("cuda -arch=sm_90a", "ptx")}};
  EXPECT_EQ(*make_fatbin(parts), *make_fatbin(parts));
}

TEST(CudaToolchain, OptionsChangeTheCode) {
  std::string plain = made("cuda -arch=sm_80", "ptx");
  EXPECT_THAT(plain, HasSubstr("fma.rm.f32"));  // exp by the book, not ex2 alone
  EXPECT_THAT(plain, Not(HasSubstr(".loc")));
  EXPECT_THAT(made("cuda -arch=sm_80 -feature.fast_math", "ptx"),
              testing::AllOf(HasSubstr("ex2.approx.ftz"), Not(HasSubstr("fma.rm.f32"))));
  EXPECT_THAT(made("cuda -arch=sm_80 -feature.line_info", "ptx"), HasSubstr(".loc"));
  EXPECT_THAT(made("cuda -arch=sm_80 -feature.line_info", "cubin"), HasSubstr(".nv_debug_line"));
  EXPECT_THAT(made("cuda -arch=sm_80 -feature.compile_flags=--device-debug", "ptx"), HasSubstr(".target sm_80, debug"));
}

TEST(CudaOptions, BecomeFlagsThatBothCompilersTake) {
  EXPECT_THAT(options("cuda -feature.register_usage_level=7").flags, testing::ElementsAre("--ptxas-options=--register-usage-level=7"));
  EXPECT_THAT(options("cuda -feature.compile_flags='-Xptxas -O2 -DN=4'").flags, testing::ElementsAre("--ptxas-options=-O2", "-DN=4"));
  EXPECT_THAT(options(R"({"kind": "cuda", "feature.compile_flags": ["-lineinfo", "-I /opt/x"]})").flags,
              testing::ElementsAre("-lineinfo", "-I/opt/x"));
}

TEST(CudaOptions, ComeFromThePassConfigurationToo) {
  std::string text = kModule;
  std::string key = "\"tirx.is_global_func\": True";
  text.insert(text.find(key), "\"tl.enable_fast_math\": True, \"tl.ptxas_register_usage_level\": 10, ");
  auto module = parse_module(text, "k.py");
  ASSERT_TRUE(module.ok()) << module.error().to_string();
  EXPECT_THAT(options("cuda", **module).flags, testing::ElementsAre("--use_fast_math", "--ptxas-options=--register-usage-level=10"));
  EXPECT_THAT(options("cuda -feature.fast_math=false", **module).flags, testing::ElementsAre("--ptxas-options=--register-usage-level=10"));
}

// Stand-ins for TVM's pass context, and for the node by which it holds a number.
struct LiveNumber : tvm::ffi::Object {
  int64_t value = 0;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("kiln.test.LiveNumber", LiveNumber, tvm::ffi::Object);
};
struct LiveContext : tvm::ffi::Object {
  tvm::ffi::Map<tvm::ffi::String, tvm::ffi::Any> config;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("kiln.test.LiveContext", LiveContext, tvm::ffi::Object);
};

TEST(CudaOptions, ComeFromTheProcesssCompilerToo) {
  namespace ffi = tvm::ffi;
  ffi::reflection::ObjectDef<LiveNumber>().def_ro("value", &LiveNumber::value);
  ffi::reflection::ObjectDef<LiveContext>().def_ro("config", &LiveContext::config);
  auto number = ffi::make_object<LiveNumber>();
  number->value = 7;
  auto context = ffi::make_object<LiveContext>();
  context->config = {{"tl.enable_fast_math", true},
                     {"tl.ptxas_register_usage_level", ffi::ObjectRef(number)},
                     {"tl.device_compile_flags", ffi::Array<ffi::String>{"-DN=4", "-lineinfo"}}};
  EXPECT_THAT(options("cuda").flags, testing::IsEmpty());
  ffi::ObjectRef current(context);
  ffi::Function::SetGlobal("transform.GetCurrentPassContext", ffi::Function::FromTyped([&] { return current; }));
  EXPECT_THAT(options("cuda").flags,
              testing::ElementsAre("--use_fast_math", "--ptxas-options=--register-usage-level=7", "-DN=4", "-lineinfo"));
  EXPECT_THAT(options("cuda -feature.fast_math=false -feature.compile_flags=-DM").flags,
              testing::ElementsAre("--ptxas-options=--register-usage-level=7", "-DM"));
  number->value = 70;
  EXPECT_THAT(refusal("cuda"), HasSubstr("'tl.ptxas_register_usage_level' must be a number from 0 to 10"));
  ffi::Function::RemoveGlobal("transform.GetCurrentPassContext");
  EXPECT_THAT(options("cuda").flags, testing::IsEmpty());
}

TEST(CudaOptions, FlagsThatDoMoreThanChangeCodeAreRefused) {
  for (const char* flag : {"-o", "-time=x", "--create-pch=x", "--options-file=x", "@x", "--Ofast-compile=max", "-Xptxas=-o",
                           "--ptxas-options=-v,-o", "-include=x", "x.cu", "--maxrregcount=;ls"}) {
    EXPECT_THAT(refusal(std::string("cuda -feature.compile_flags=") + flag), HasSubstr("is not one that is passed on")) << flag;
  }
}

TEST(CudaOptions, ValuesOutOfRangeAreRefused) {
  for (const char* flag : {"-ftz=maybe", "--fmad=1", "--prec-div=on", "--maxrregcount=many", "-std=c++99"}) {
    EXPECT_THAT(refusal(std::string("cuda -feature.compile_flags=") + flag),
                HasSubstr(std::string("compile flag '") + flag + "' has no such value"));
  }
  for (const char* flag : {"-ftz=true", "--fmad=false", "--maxrregcount=64", "--std=c++20", "-diag-suppress=177"}) {
    EXPECT_EQ(refusal(std::string("cuda -feature.compile_flags=") + flag), "taken") << flag;
  }
  EXPECT_THAT(refusal("cuda -feature.register_usage_level=11"), HasSubstr("must be a number from 0 to 10"));
  EXPECT_THAT(refusal("cuda -feature.fast_math=perhaps"), HasSubstr("'feature.fast_math' must be true or false"));
  EXPECT_THAT(refusal("cuda -code=sm_80,compute_90"), HasSubstr("target attribute code is 'compute_90'"));
}

TEST(CudaToolchain, AnErrorShowsTheLinesAroundIt) {
  Source source;
  source.text = "__device__ int a;\n__device__ int b;\nextern \"C\" __global__ void k() {\n  undeclared = 1;\n}\n__device__ int c;\n";
  auto cubin = compile(source, *arch_of(*Target::parse("cuda -arch=sm_80")), {}, Format::kCubin);
  ASSERT_FALSE(cubin.ok());
  EXPECT_EQ(cubin.error().message,
            "NVRTC failed for sm_80: identifier \"undeclared\" is undefined\n"
            "  2 | __device__ int b;\n"
            "  3 | extern \"C\" __global__ void k() {\n"
            "> 4 |   undeclared = 1;\n"
            "    |   ^\n"
            "  5 | }\n"
            "  6 | __device__ int c;");
  EXPECT_EQ(cubin.error().place, "line 4 of the printed source");
}

TEST(CudaToolchain, AnErrorIsPlacedInTheUsersFile) {
  auto source = print_source(*module_k(), *arch_of(*Target::parse("cuda -arch=sm_80")));
  ASSERT_TRUE(source.ok());
  size_t at = source->text.find("A[tx + 32] = 1.0f;");
  ASSERT_NE(at, std::string::npos) << source->text;
  source->text.replace(at, 2, "B[");
  auto cubin = compile(*source, *arch_of(*Target::parse("cuda -arch=sm_80")), {}, Format::kCubin);
  ASSERT_FALSE(cubin.ok());
  EXPECT_EQ(cubin.error().place, "k.py:9");
}

TEST(CudaToolchain, ErrorsOfUsersFilesNameThem) {
  auto ptx = compile({"cuda", "#include \"absent.h\"\n", "", {}, {}}, *arch_of(*Target::parse("cuda -arch=sm_80")), {}, Format::kPtx);
  ASSERT_FALSE(ptx.ok());
  EXPECT_THAT(ptx.error().message, HasSubstr("absent.h"));
}

TEST(CudaToolchain, ArchitecturesThatNvrtcLacksAreNamedWithThoseThatItHas) {
  EXPECT_THAT(made("cuda -arch=sm_77", "cubin"), testing::AllOf(HasSubstr("makes no code for sm_77"), HasSubstr("sm_80")));
}

TEST(CudaToolchain, CompilesInManyThreads) {
  std::vector<std::string> cubins(8);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < cubins.size(); ++i) {
    threads.emplace_back([&, i] {
      Source source;
      source.text = "extern \"C\" __global__ void k" + std::to_string(i) + "(float* a) { a[threadIdx.x] = 1.0f; }\n";
      auto cubin = compile(source, *arch_of(*Target::parse("cuda -arch=sm_80")), {}, Format::kCubin);
      if (cubin) cubins[i] = *cubin;
    });
  }
  for (std::thread& t : threads) t.join();
  for (size_t i = 0; i < cubins.size(); ++i) EXPECT_THAT(cubins[i], HasSubstr("k" + std::to_string(i)));
}

TEST(CudaToolchain, NvccMakesTheSameArtifacts) {
  if (!nvcc()) return;  // a fallback; what it says when it is missing is tested below
  auto source = print_source(*module_k(), *arch_of(*Target::parse("cuda -arch=sm_90a")));
  auto cubin = nvcc()->compile(*nvcc(), source->text, {"--gpu-architecture=sm_90a"}, Format::kCubin);
  ASSERT_TRUE(cubin.ok()) << cubin.error().to_string();
  EXPECT_EQ(sm_of(cubin->code), 90) << cubin->log;
  auto wrong = nvcc()->compile(*nvcc(), "__global__ void k() { undeclared = 1; }\n", {"--gpu-architecture=sm_90a"}, Format::kPtx);
  ASSERT_TRUE(wrong.ok());
  EXPECT_THAT(wrong->log, HasSubstr("kernel.cu(1): error: identifier \"undeclared\" is undefined"));
}

TEST(CudaToolchain, WithoutACompilerThePlacesAreNamed) {
  std::string module = std::string(KILN_SOURCE_DIR) + "/backends/cuda/tests/golden/vector_add.ir";
  auto run = run_process({"env", "KILN_NVRTC=/nowhere/libnvrtc.so", "KILN_NVCC=/nowhere/nvcc", KILN_TEST_CLI, "build", module, "--target",
                          "cuda", "--emit", "ptx"},
                         60);
  ASSERT_TRUE(run.ok());
  EXPECT_NE(run->status, 0);
  EXPECT_THAT(run->output, HasSubstr("NVRTC is not found; looked in KILN_NVRTC (/nowhere/libnvrtc.so)"));
  EXPECT_THAT(run->output, HasSubstr("nvcc is not found; looked for /nowhere/nvcc"));
  EXPECT_THAT(run->output, HasSubstr("nvidia-cuda-nvrtc"));
}

TEST(CudaPlaces, CommentsNameTheFileAndLineOnce) {
  auto source = print_source(*module_k(), *arch_of(*Target::parse("cuda -arch=sm_80")), {.comments = true});
  ASSERT_TRUE(source.ok());
  EXPECT_THAT(source->text, HasSubstr("A[tx + 32] = 1.0f;  // k.py:9\n"));
  EXPECT_THAT(source->text, Not(HasSubstr("folder")));
}

TEST(CudaPlaces, DirectivesNameTheFileAndLine) {
  auto source = print_source(*module_k(), *arch_of(*Target::parse("cuda -arch=sm_80")), {.directives = true});
  ASSERT_TRUE(source.ok());
  EXPECT_THAT(source->text, HasSubstr("#line 9 \"k.py\"\n  A[tx + 32] = 1.0f;\n"));
}

TEST(CudaPlaces, FileNamesCannotEndACommentOrAString) {
  auto module = module_k(
      "a*/ \"b\"?"
      "?/\n\\");
  ASSERT_TRUE(module);
  for (bool directives : {false, true}) {
    auto source = print_source(*module, *arch_of(*Target::parse("cuda -arch=sm_80")), {!directives, directives});
    ASSERT_TRUE(source.ok());
    EXPECT_TRUE(compile(*source, *arch_of(*Target::parse("cuda -arch=sm_80")), {}, Format::kPtx).ok()) << source->text;
  }
}

}  // namespace
}  // namespace kiln::cuda
