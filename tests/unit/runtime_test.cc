// Modules made from sources written here, compiled by the host's compiler.
#include <gmock/gmock.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/tvm_ffi.h>

#include <cmath>
#include <limits>
#include <thread>

#include "host_c/compiler.h"
#include "runtime/call.h"
#include "runtime/kernel_module.h"

namespace kiln::runtime {
namespace {

using testing::HasSubstr;

KernelParam pointer(std::string name, ir::DataType dtype, std::vector<int64_t> shape = {}) {
  return {std::move(name), dtype, true, false, std::move(shape)};
}
KernelParam scalar(std::string name, ir::DataType dtype) { return {std::move(name), dtype, false, false, {}}; }

// One kernel `k` with these parameters, whose entry is `body`, over `void* const* args`.
Source one_kernel(std::vector<KernelParam> params, const std::string& body) {
  Source s;
  s.format = "c";
  s.text = "#include <stdint.h>\n#include <string.h>\n";
  s.entry_text = "int32_t kiln_entry_0(void* const* args) { " + body + " }\n";
  s.kernels.push_back({"k", "k_", CallConvention::kPlain, std::move(params), {}});
  return s;
}

Module compiled(Source source) {
  auto library = host_c::compile_and_load(source);
  EXPECT_TRUE(library.ok()) << library.error().to_string();
  if (!library) return {};
  auto module = make_compiled_module(std::move(source), *library);
  EXPECT_TRUE(module.ok()) << module.error().to_string();
  return module ? *module : Module();
}

// A tensor over memory of the test.
struct Tensor {
  Tensor(void* data, const char* dtype, std::vector<int64_t> shape_, std::vector<int64_t> strides_ = {})
      : shape(std::move(shape_)), strides(std::move(strides_)) {
    ir::DataType t = *ir::parse_dtype(dtype);
    view.data = data;
    view.device = {kDLCPU, 0};
    view.ndim = static_cast<int32_t>(shape.size());
    view.dtype = {static_cast<uint8_t>(t.code), t.bits, t.lanes};
    view.shape = shape.data();
    view.strides = strides.empty() ? nullptr : strides.data();
    view.byte_offset = 0;
  }
  std::vector<int64_t> shape, strides;
  DLTensor view;
};

Status run(const Module& m, std::vector<Argument> args, std::string_view name = "k") { return call(m, name, args); }
std::string error_of(const Status& s) { return s ? "no error" : s.error().to_string(); }

// ---- calling ---------------------------------------------------------------------------------------------------

TEST(Runtime, AKernelGetsTensorsAndScalarsInItsOrder) {
  Module m = compiled(one_kernel({pointer("A", ir::kFloat32, {4}), scalar("n", ir::kInt32), scalar("x", ir::kFloat32)},
                                 "float* a = *(float**)args[0]; for (int32_t i = 0; i < *(int32_t*)args[1]; ++i) a[i] *= *(float*)args[2];"
                                 " return 0;"));
  float a[4] = {1, 2, 3, 4};
  Tensor t(a, "float32", {4});
  ASSERT_EQ(error_of(run(m, {Argument::of(&t.view), Argument::of(int64_t{3}), Argument::of(0.5)})), "no error");
  EXPECT_THAT(a, testing::ElementsAre(0.5f, 1.0f, 1.5f, 4.0f));
  ASSERT_EQ(error_of(run(m, {Argument::of(static_cast<void*>(a)), Argument::of(int64_t{4}), Argument::of(int64_t{2})})), "no error");
  EXPECT_THAT(a, testing::ElementsAre(1, 2, 3, 8)) << "a raw pointer and an integer for a float";
}

TEST(Runtime, TheByteOffsetOfATensorCounts) {
  Module m = compiled(one_kernel({pointer("A", ir::kInt32)}, "**(int32_t**)args[0] = 7; return 0;"));
  int32_t a[3] = {};
  Tensor t(a, "int32", {1});
  t.view.byte_offset = 8;
  ASSERT_EQ(error_of(run(m, {Argument::of(&t.view)})), "no error");
  EXPECT_THAT(a, testing::ElementsAre(0, 0, 7));
}

// The value that a scalar parameter has in the kernel, read back as 8 bytes.
uint64_t bits_in_kernel(const char* dtype, Argument value, Status* status = nullptr) {
  ir::DataType t = *ir::parse_dtype(dtype);
  Module m = compiled(
      one_kernel({pointer("out", ir::kUInt64), scalar("x", t)},
                 "uint64_t v = 0; memcpy(&v, args[1], " + std::to_string(t.element_bytes()) + "); **(uint64_t**)args[0] = v; return 0;"));
  uint64_t out = 0;
  Status s = run(m, {Argument::of(static_cast<void*>(&out)), value});
  if (status) *status = s;
  return out;
}

TEST(Runtime, ScalarsOfEveryKindArriveExactly) {
  EXPECT_EQ(bits_in_kernel("int8", Argument::of(int64_t{-8})), 0xF8u);
  EXPECT_EQ(bits_in_kernel("uint16", Argument::of(int64_t{65535})), 0xFFFFu);
  EXPECT_EQ(bits_in_kernel("int64", Argument::of(std::numeric_limits<int64_t>::min())), 0x8000000000000000u);
  EXPECT_EQ(bits_in_kernel("uint64", Argument::of(int64_t{-1})), 0xFFFFFFFFFFFFFFFFu);
  EXPECT_EQ(bits_in_kernel("bool", Argument::of(int64_t{1})), 1u);
  EXPECT_EQ(bits_in_kernel("float64", Argument::of(1.5)), 0x3FF8000000000000u);
  EXPECT_EQ(bits_in_kernel("float32", Argument::of(-2.0)), 0xC0000000u);
  EXPECT_EQ(bits_in_kernel("float16", Argument::of(42.0)), 0x5140u);
  EXPECT_EQ(bits_in_kernel("bfloat16", Argument::of(int64_t{1})), 0x3F80u);
  EXPECT_EQ(bits_in_kernel("float8_e4m3fn", Argument::of(448.0)), 0x7Eu);
}

TEST(Runtime, ScalarsOutOfRangeAreRefused) {
  auto refusal = [](const char* dtype, Argument value) {
    Status s = Ok{};
    bits_in_kernel(dtype, value, &s);
    return error_of(s);
  };
  EXPECT_EQ(refusal("int8", Argument::of(int64_t{128})), "k: parameter 'x' (argument 1): expected -128 to 127 for int8, got 128");
  EXPECT_EQ(refusal("uint8", Argument::of(int64_t{-1})), "k: parameter 'x' (argument 1): expected 0 to 255 for uint8, got -1");
  EXPECT_EQ(refusal("bool", Argument::of(int64_t{2})), "k: parameter 'x' (argument 1): expected 0 or 1 for bool, got 2");
  EXPECT_EQ(refusal("int32", Argument::of(1.0)), "k: parameter 'x' (argument 1): expected an integer for int32, got a floating number");
  EXPECT_EQ(refusal("float32", Argument{}), "k: parameter 'x' (argument 1): expected a number for float32, got none");
}

TEST(Runtime, MoreArgumentsThanFitOnTheStack) {
  std::vector<KernelParam> params = {pointer("out", ir::kInt64)};
  std::string sum = "0";
  std::vector<Argument> args;
  int64_t out = 0;
  args.push_back(Argument::of(static_cast<void*>(&out)));
  for (int i = 1; i <= 40; ++i) {
    params.push_back(scalar("s" + std::to_string(i), ir::kInt64));
    sum += " + *(int64_t*)args[" + std::to_string(i) + "]";
    args.push_back(Argument::of(int64_t{i}));
  }
  Module m = compiled(one_kernel(std::move(params), "**(int64_t**)args[0] = " + sum + "; return 0;"));
  ASSERT_EQ(error_of(run(m, args)), "no error");
  EXPECT_EQ(out, 820);
}

TEST(Runtime, PackedKernelsGetTheirArgumentsAsTheyAre) {
  Source s;
  s.format = "c";
  s.text =
      "#include <stdint.h>\ntypedef struct { int32_t type; uint32_t pad; union { int64_t i; void* p; } v; } any;\n"
      "int32_t packed(void* self, const any* args, int32_t n, any* result) {\n"
      "  (void)self; (void)result; *(int64_t*)args[0].v.p = n * 100 + args[1].type; return 0; }\n";
  s.kernels.push_back({"k", "packed", CallConvention::kTvmFfiPacked, {}, {}});
  Module m = compiled(s);
  int64_t out = 0;
  ASSERT_EQ(error_of(run(m, {Argument::of(static_cast<void*>(&out)), Argument::of(2.5), Argument{}})), "no error");
  EXPECT_EQ(out, 303);
}

// ---- faults ----------------------------------------------------------------------------------------------------

class Checks : public testing::Test {
 protected:
  static Module module(KernelParam p) { return compiled(one_kernel({std::move(p)}, "return 0;")); }
  static std::string fault(const Module& m, Tensor t) { return error_of(run(m, {Argument::of(&t.view)})); }
  alignas(64) static inline float memory[256];
};

TEST_F(Checks, DtypeRankShapeAndStrides) {
  Module m = module(pointer("A", ir::kFloat32, {2, -1, 3}));
  EXPECT_EQ(fault(m, {memory, "float32", {2, 5, 3}}), "no error");
  EXPECT_EQ(fault(m, {memory, "float16", {2, 5, 3}}), "k: parameter 'A' (argument 0): expected float32 tensor, got float16");
  EXPECT_EQ(fault(m, {memory, "float32x2", {2, 5, 3}}), "k: parameter 'A' (argument 0): expected float32 tensor, got float32x2");
  EXPECT_EQ(fault(m, {memory, "float32", {2, 3}}), "k: parameter 'A' (argument 0): expected 3 dimensions, got 2 in shape (2, 3)");
  EXPECT_EQ(fault(m, {memory, "float32", {2, 5, 4}}), "k: parameter 'A' (argument 0): expected shape (2, *, 3), got (2, 5, 4)");
  EXPECT_EQ(fault(m, {memory, "float32", {2, 2, 3}, {6, 1, 2}}),
            "k: parameter 'A' (argument 0): expected a compact row-major tensor, got strides (6, 1, 2) for shape (2, 2, 3)");
}

TEST_F(Checks, AFlattenedShapeBoundsTheElements) {
  Module m = module(pointer("A", ir::kFloat32, {64}));
  EXPECT_EQ(fault(m, {memory, "float32", {8, 8}}), "no error");
  EXPECT_EQ(fault(m, {memory, "float32", {7, 9}}), "k: parameter 'A' (argument 0): expected at least 64 elements, got 63 in shape (7, 9)");
  EXPECT_EQ(fault(module(pointer("A", ir::kFloat32, {-1})), {memory, "float32", {3}}), "no error");
}

TEST_F(Checks, StridesOfSizeOneAndEmptyTensorsAreFree) {
  Module m = module(pointer("A", ir::kFloat32));
  EXPECT_EQ(fault(m, {memory, "float32", {1, 4}, {999, 1}}), "no error");
  EXPECT_EQ(fault(m, {memory, "float32", {4, 1}, {1, -7}}), "no error");
  EXPECT_EQ(fault(m, {nullptr, "float32", {0, 4}, {5, 6}}), "no error");
  EXPECT_EQ(fault(m, {memory, "float32", {}}), "no error");
}

TEST_F(Checks, NullMisalignedAndElsewhere) {
  Module m = module(pointer("A", ir::kFloat32));
  EXPECT_EQ(fault(m, {nullptr, "float32", {4}}), "k: parameter 'A' (argument 0): expected memory, got a null pointer");
  EXPECT_EQ(fault(m, {reinterpret_cast<char*>(memory) + 2, "float32", {4}}),
            "k: parameter 'A' (argument 0): expected memory aligned to 4 bytes, got an address 2 past it");
  Tensor t(memory, "float32", {4});
  t.view.device = {kDLCUDA, 1};
  EXPECT_EQ(fault(m, t), "k: parameter 'A' (argument 0): expected a tensor on cpu, got one on cuda:1");
  EXPECT_EQ(error_of(run(m, {Argument::of(static_cast<void*>(nullptr))})),
            "k: parameter 'A' (argument 0): expected memory, got a null pointer");
  EXPECT_EQ(error_of(run(m, {Argument{}})), "k: parameter 'A' (argument 0): expected a float32 tensor, got none");
  EXPECT_EQ(error_of(run(m, {Argument::of(int64_t{3})})), "k: parameter 'A' (argument 0): expected a float32 tensor, got an integer");
}

TEST_F(Checks, HostileShapesAreRefused) {
  Module m = module(pointer("A", ir::kFloat32));
  EXPECT_THAT(fault(m, {memory, "float32", {int64_t{1} << 40, int64_t{1} << 40}}), HasSubstr("expected a shape that fits in memory"));
  EXPECT_THAT(fault(m, {memory, "float32", {-4}}), HasSubstr("expected a shape that fits in memory, got (-4,)"));
}

TEST_F(Checks, DtypesWithTheSameBitsPassForEachOther) {
  EXPECT_EQ(fault(module(pointer("A", ir::kBool)), {memory, "uint8", {4}}), "no error");
  EXPECT_EQ(fault(module(pointer("A", ir::kBool)), {memory, "int8", {4}}), "no error");
  EXPECT_EQ(fault(module(pointer("A", ir::kInt8)), {memory, "bool", {4}}), "no error");
  EXPECT_EQ(fault(module(pointer("A", *ir::parse_dtype("float8_e4m3"))), {memory, "float8_e4m3fn", {4}}), "no error");
  EXPECT_EQ(fault(module(pointer("A", ir::kBFloat16)), {memory, "uint16", {4}}), "no error");
  EXPECT_EQ(fault(module(pointer("A", ir::kVoid)), {memory, "int64", {4}}), "no error");
  EXPECT_THAT(fault(module(pointer("A", ir::kFloat16)), {memory, "bfloat16", {4}}), HasSubstr("expected float16 tensor, got bfloat16"));
  EXPECT_THAT(fault(module(pointer("A", ir::kInt32)), {memory, "uint32", {4}}), HasSubstr("expected int32 tensor, got uint32"));
}

TEST_F(Checks, TwoElementsOfFourBitsMayComeAsAByte) {
  Module m = module(pointer("A", *ir::parse_dtype("int4"), {2, 8}));
  EXPECT_EQ(fault(m, {memory, "int4", {2, 8}}), "no error");
  EXPECT_EQ(fault(m, {memory, "int4x2", {2, 4}}), "no error");
  EXPECT_EQ(fault(m, {memory, "uint8", {2, 4}}), "no error");
  EXPECT_EQ(fault(m, {memory, "int8", {2, 8}}), "k: parameter 'A' (argument 0): expected shape (2, 4), got (2, 8)");
  EXPECT_EQ(fault(m, {memory, "int16", {2, 2}}), "k: parameter 'A' (argument 0): expected int4 tensor, got int16");
  EXPECT_EQ(fault(module(pointer("A", *ir::parse_dtype("float4_e2m1fn"), {7})), {memory, "uint8", {3}}),
            "k: parameter 'A' (argument 0): expected at least 4 elements, got 3 in shape (3,)");
}

TEST_F(Checks, TheNumberOfArguments) {
  Module m = compiled(one_kernel({pointer("A", ir::kFloat32), scalar("n", ir::kInt32)}, "return 0;"));
  EXPECT_EQ(error_of(run(m, {})), "k: expected 2 arguments (A, n), got 0");
  EXPECT_EQ(run(m, {}).error().code, Code::kLaunch);
}

TEST(Runtime, AFunctionThatIsNotThereNamesThoseThatAre) {
  Module m = compiled(one_kernel({}, "return 0;"));
  Status s = run(m, {}, "other");
  EXPECT_EQ(error_of(s), "the module has no function 'other' (it has k)");
  EXPECT_EQ(s.error().code, Code::kInvalidArgument);
  EXPECT_EQ(error_of(run(Module(), {})), "k: an empty module has no functions");
}

TEST(Runtime, AKernelsOwnErrorComesBackWithItsKind) {
  Source s = one_kernel({scalar("i", ir::kInt32)}, "why = *(int32_t*)args[0] ? \"ValueError: i is not 0\" : \"\"; return 5;");
  s.text += "static _Thread_local const char* why;\nconst char* kiln_last_error(void) { return why; }\n";
  Module m = compiled(s);
  EXPECT_EQ(error_of(run(m, {Argument::of(int64_t{1})})), "k: i is not 0");
  EXPECT_EQ(error_of(run(m, {Argument::of(int64_t{0})})), "k: the kernel returned 5");
}

// ---- modules ---------------------------------------------------------------------------------------------------

TEST(Modules, ASourceAloneSaysThatItIsNotCompiled) {
  Source s = one_kernel({}, "return 0;");
  Module m = make_source_module(s);
  EXPECT_EQ(m.kind(), "kiln");
  EXPECT_EQ(m.inspect_source(), s.text);
  EXPECT_EQ(m.inspect_source("c"), s.text);
  EXPECT_EQ(m.inspect_source("cu"), "");
  EXPECT_TRUE(m.has_function("k"));
  EXPECT_FALSE(m.has_function("other"));
  EXPECT_THAT(m.functions(), testing::ElementsAre("k"));
  EXPECT_THAT(error_of(run(m, {})), HasSubstr("kernel 'k' is not compiled"));
}

TEST(Modules, ArtifactsAreMadeWhenAskedFor) {
  int made = 0;
  Module m =
      make_source_module(one_kernel({}, ""), {{"so", [&]() -> Result<std::string> { return std::string("\0so", 3) + char('0' + ++made); }},
                                              {"obj", []() -> Result<std::string> {
                                                 return Error{Code::kToolchain, "no", "", ""};
                                               }}});
  EXPECT_EQ(made, 0);
  EXPECT_EQ(*m.artifact("so"), std::string("\0so1", 4));
  EXPECT_EQ(m.artifact("obj").error().message, "no");
  EXPECT_EQ(*m.artifact("source"), m.inspect_source());
  EXPECT_EQ(*m.artifact("c"), m.inspect_source());
  EXPECT_EQ(m.artifact("ptx").error().to_string(), "this codegen does not make 'ptx' (it makes source, obj, so)");
  EXPECT_FALSE(Module().artifact("source").ok());
}

TEST(Modules, ALibraryWithoutTheEntryIsAnError) {
  Source s = one_kernel({}, "return 0;");
  auto library = host_c::compile_and_load(s);
  ASSERT_TRUE(library.ok());
  s.kernels.push_back({"second", "second", CallConvention::kPlain, {}, {}});
  auto m = make_compiled_module(s, *library);
  ASSERT_FALSE(m.ok());
  EXPECT_EQ(m.error().to_string(), "kernel second: the compiled library lacks the symbol 'kiln_entry_1'");
}

namespace ffi = tvm::ffi;

ffi::Function function_of(const Module& m, const char* name) {
  auto object = ffi::details::ObjectUnsafe::ObjectPtrFromUnowned<ffi::Object>(static_cast<TVMFFIObject*>(m.handle()));
  return ffi::details::ObjectUnsafe::ObjectRefFromObjectPtr<ffi::Module>(object)->GetFunction(name).value();
}

TEST(Modules, AFunctionKeepsItsLibrary) {
  ffi::Function f = [] {
    Module m = compiled(one_kernel({pointer("A", ir::kInt32)}, "**(int32_t**)args[0] += 1; return 0;"));
    return function_of(m, "k");
  }();
  int32_t a = 41;
  Tensor t(&a, "int32", {1});
  f(&t.view);
  EXPECT_EQ(a, 42);
}

TEST(Modules, ErrorsHaveTheirKindAtTheBoundary) {
  Module m = compiled(one_kernel({pointer("A", ir::kInt32, {8}), scalar("n", ir::kInt8)}, "return 0;"));
  ffi::Function f = function_of(m, "k");
  int32_t a[8];
  Tensor good(a, "int32", {8}), wrong(a, "float32", {8}), small(a, "int32", {7});
  auto kind = [&](DLTensor* t, int64_t n) {
    try {
      f(t, n);
    } catch (const ffi::Error& e) {
      return std::string(e.kind());
    }
    return std::string("none");
  };
  EXPECT_EQ(kind(&good.view, 1), "none");
  EXPECT_EQ(kind(&wrong.view, 1), "TypeError");
  EXPECT_EQ(kind(&small.view, 1), "ValueError");
  EXPECT_EQ(kind(&good.view, 1000), "ValueError");
  EXPECT_THROW(f(), ffi::Error);
}

TEST(Modules, MayBeCalledFromManyThreads) {
  Source s = one_kernel({pointer("A", ir::kInt64), scalar("n", ir::kInt64)},
                        "int64_t n = *(int64_t*)args[1]; if (n < 0) { why = \"ValueError: negative\"; return 1; } **(int64_t**)args[0] = n;"
                        " return 0;");
  s.text += "static _Thread_local const char* why = \"\";\nconst char* kiln_last_error(void) { return why; }\n";
  Module m = compiled(s);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int id = 0; id < 4; ++id) {
    threads.emplace_back([&, id] {
      Module mine = m;
      for (int64_t i = 0; i < 200; ++i) {
        int64_t out = -1, n = i % 5 ? i * 4 + id : -1;
        Status status = run(mine, {Argument::of(static_cast<void*>(&out)), Argument::of(n)});
        wrong[id] += n < 0 ? error_of(status) != "k: negative" : !status.ok() || out != n;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_THAT(wrong, testing::Each(0));
}

}  // namespace
}  // namespace kiln::runtime
