// Launches on a driver that only remembers them.
#include "backends/cuda/launch.h"

#include <dlfcn.h>
#include <dlpack/dlpack.h>
#include <gmock/gmock.h>
#include <tvm/ffi/tvm_ffi.h>

#include <cstdlib>
#include <cstring>
#include <thread>

#include "backends/cuda/device_api.h"
#include "backends/cuda/tensor_map.h"
#include "runtime/call.h"

namespace kiln::cuda {
namespace {

using runtime::Argument;
using testing::HasSubstr;

// As in fake_driver.c.
struct FakeAttribute {
  int id, pad;
  uint32_t words[16];
};
struct FakeLaunch {
  char symbol[64];
  int device;
  uint32_t grid[3], block[3], shared_bytes, attribute_count;
  FakeAttribute attributes[4];
  void* stream;
  unsigned char args[8][128];
};
struct FakeState {
  int launch_count, loads, shared_attribute, shared_attribute_calls, launch_result, static_shared, max_threads, large_clusters, max_cluster,
      encodes;
  int arg_bytes[8];
  char code[64];
  FakeLaunch last;
};

constexpr const char* kFake = KILN_TEST_PLUGINS "/libkiln_cuda_fake_driver.so";
// Before the first use of a driver in this process.
const int kSet = setenv("KILN_CUDA_DRIVER", kFake, 1);

FakeState& fake() {
  static void* library = dlopen(kFake, RTLD_NOW);
  return *static_cast<FakeState*>(dlsym(library, "fake_driver_state"));
}

class Launch : public testing::Test {
 protected:
  void SetUp() override { fake() = FakeState(), fake().static_shared = 16, fake().max_threads = 1024; }

  static Source source() {
    KernelInfo k;
    k.name = "scale", k.symbol = "scale_1";
    k.params.resize(3);
    k.params[0].name = "A", k.params[0].dtype = ir::kFloat32, k.params[0].is_pointer = true;
    k.params[1].name = "n", k.params[1].dtype = ir::kInt32;
    k.params[2].name = "alpha", k.params[2].dtype = ir::kFloat32;
    k.launch_params = {"blockIdx.y", "blockIdx.x", "threadIdx.x", "tirx.use_dyn_shared_memory"};
    Source s;
    s.format = "cuda", s.kernels = {k};
    return s;
  }
  static Module module(Source s, Arch arch = {90, 'a'}) {
    auto launcher = make_launcher(s, arch, "the cubin", [] { return Result<std::string>("the ptx"); });
    return launcher ? runtime::make_launched_module(std::move(s), *launcher) : Module();
  }
  DLTensor tensor(int device = 0, DLDeviceType type = kDLCUDA) {
    return {memory_, {type, device}, 1, {kDLFloat, 32, 1}, shape_, nullptr, 0};
  }
  static std::vector<Argument> args(const DLTensor& t, int64_t y, int64_t x, int64_t threads, int64_t shared) {
    return {Argument::of(&t), Argument::of(int64_t{-3}), Argument::of(0.5),   Argument::of(y),
            Argument::of(x),  Argument::of(threads),     Argument::of(shared)};
  }
  static std::string error(const Status& s) { return s ? "" : s.error().message; }

  alignas(16) float memory_[4] = {};
  int64_t shape_[1] = {4};
};

TEST_F(Launch, PassesValuesAndExtentsInTheKernelsOrder) {
  fake().arg_bytes[0] = 8, fake().arg_bytes[1] = 4, fake().arg_bytes[2] = 4;
  DLTensor t = tensor();
  Module m = module(source());
  ASSERT_EQ(error(runtime::call(m, "scale", args(t, 3, 5, 256, 1024))), "");
  const FakeLaunch& l = fake().last;
  EXPECT_STREQ(l.symbol, "scale_1");
  EXPECT_STREQ(fake().code, "the cubin");
  EXPECT_THAT(l.grid, testing::ElementsAre(5, 3, 1));
  EXPECT_THAT(l.block, testing::ElementsAre(256, 1, 1));
  EXPECT_EQ(l.shared_bytes, 1024u);
  EXPECT_EQ(l.attribute_count, 0u);
  void* pointer;
  int32_t n;
  float alpha;
  std::memcpy(&pointer, l.args[0], 8), std::memcpy(&n, l.args[1], 4), std::memcpy(&alpha, l.args[2], 4);
  EXPECT_EQ(pointer, memory_);
  EXPECT_EQ(n, -3);
  EXPECT_EQ(alpha, 0.5f);
}

TEST_F(Launch, SaysWhatIsWrongBeforeTheLaunch) {
  Module m = module(source());
  DLTensor t = tensor(), host = tensor(0, kDLCPU);
  EXPECT_THAT(error(runtime::call(m, "scale", args(t, 1, 1, 2048, 0))), HasSubstr("expected block.x of 1 to 1024, got 2048"));
  EXPECT_THAT(error(runtime::call(m, "scale", args(t, 65536, 1, 32, 0))), HasSubstr("expected grid.y of at most 65535, got 65536"));
  EXPECT_THAT(error(runtime::call(m, "scale", args(t, 1, 1, 32, 232448))),
              HasSubstr("expected at most 232448 bytes of shared memory, got 232448 dynamic and 16 static"));
  EXPECT_THAT(error(runtime::call(m, "scale", args(host, 1, 1, 32, 0))), HasSubstr("expected a tensor on cuda, got one on cpu:0"));
  EXPECT_THAT(error(runtime::call(m, "scale", args(t, -1, 1, 32, 0))), HasSubstr("launch value 'blockIdx.y' (argument 3)"));
  fake().max_threads = 128;
  Module bounded = module(source());
  EXPECT_THAT(error(runtime::call(bounded, "scale", args(t, 1, 1, 256, 0))), HasSubstr("expected a block of at most 128 threads"));
  EXPECT_THAT(error(runtime::call(m, "scale", args(t, 1, (int64_t{1} << 32) + 1, 32, 0))),
              HasSubstr("launch value 'blockIdx.x' (argument 4): expected 0 to 4294967295"));
  EXPECT_EQ(fake().launch_count, 0);
}

TEST_F(Launch, WantsTheAlignmentOfVectorAccesses) {
  Source s = source();
  s.kernels[0].params[0].alignment = 16;
  Module m = module(s);
  DLTensor t = tensor();
  t.byte_offset = 4, shape_[0] = 3;
  std::string message = "parameter 'A' (argument 0): expected memory aligned to 16 bytes, got an address 4 past it";
  EXPECT_EQ(error(runtime::call(m, "scale", args(t, 1, 1, 32, 0))), message);
  std::vector<Argument> bare = args(t, 1, 1, 32, 0);
  bare[0] = Argument::of(static_cast<void*>(memory_ + 1));
  EXPECT_EQ(error(runtime::call(m, "scale", bare)), message);
}

TEST_F(Launch, SkipsEmptyGridsAndReportsTheDriversErrors) {
  Module m = module(source());
  DLTensor t = tensor();
  EXPECT_EQ(error(runtime::call(m, "scale", args(t, 0, 5, 32, 0))), "");
  EXPECT_EQ(fake().launch_count, 0);
  fake().launch_result = 700;
  EXPECT_THAT(error(runtime::call(m, "scale", args(t, 1, 5, 32, 0))), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS (700)"));
}

TEST_F(Launch, ReservesSharedMemoryOnceForEachHighWaterMark) {
  Module m = module(source());
  DLTensor t = tensor();
  for (int64_t bytes : {49152 - 16, 49152, 49152, 65536, 50000}) (void)runtime::call(m, "scale", args(t, 1, 1, 32, bytes));
  EXPECT_EQ(fake().shared_attribute_calls, 2);
  EXPECT_EQ(fake().shared_attribute, 65536);
  EXPECT_EQ(fake().launch_count, 5);
}

TEST_F(Launch, ChoosesTheCodeByTheDevice) {
  DLTensor first = tensor(0), second = tensor(1);
  EXPECT_THAT(error(runtime::call(module(source()), "scale", args(second, 1, 1, 32, 0))), HasSubstr("is compiled for sm_90a"));
  Module older = module(source(), {80, 0});
  EXPECT_EQ(error(runtime::call(older, "scale", args(second, 1, 1, 32, 0))), "");
  EXPECT_STREQ(fake().code, "the cubin");
  EXPECT_EQ(fake().last.device, 1);
  EXPECT_EQ(error(runtime::call(older, "scale", args(first, 1, 1, 32, 0))), "");
  EXPECT_STREQ(fake().code, "the ptx");
  EXPECT_EQ(fake().last.device, 0);
}

TEST_F(Launch, TellsTheDriverOfClustersAndCooperation) {
  Source s = source();
  s.kernels[0].launch_params.insert(s.kernels[0].launch_params.begin(), "tir.cluster_dim_x");
  s.kernels[0].cooperative = s.kernels[0].dependent_launch = true;
  DLTensor t = tensor();
  std::vector<Argument> a = args(t, 1, 4, 32, 0);
  a.insert(a.begin() + 3, Argument::of(int64_t{2}));
  ASSERT_EQ(error(runtime::call(module(s), "scale", a)), "");
  const FakeLaunch& l = fake().last;
  ASSERT_EQ(l.attribute_count, 3u);
  EXPECT_EQ(l.attributes[0].id, 4);
  EXPECT_EQ(l.attributes[0].words[0], 2u);
  EXPECT_EQ(l.attributes[1].id, 2);
  EXPECT_EQ(l.attributes[2].id, 6);
}

TEST_F(Launch, AllowsLargeClustersWhereTheDeviceHoldsThem) {
  Source s = source();
  s.kernels[0].launch_params.insert(s.kernels[0].launch_params.begin(), "tirx.cluster_dim_x");
  Module m = module(s);
  DLTensor t = tensor();
  auto launch = [&](int64_t cluster, int64_t blocks, int64_t shared = 0) {
    std::vector<Argument> a = args(t, 1, blocks, 32, shared);
    a.insert(a.begin() + 3, Argument::of(cluster));
    return error(runtime::call(m, "scale", a));
  };
  fake().max_cluster = 16;
  EXPECT_EQ(launch(8, 32), "");
  EXPECT_EQ(fake().large_clusters, 0);
  EXPECT_EQ(launch(16, 32), "");
  EXPECT_EQ(launch(16, 64), "");
  EXPECT_EQ(fake().large_clusters, 1);
  EXPECT_EQ(fake().last.attributes[0].words[0], 16u);
  fake().max_cluster = 12;
  EXPECT_EQ(launch(16, 32, 65536), "expected a cluster of at most 12 blocks, which the device holds of this kernel at once, got 16");
  EXPECT_EQ(launch(32, 32), "expected a cluster of at most 16 blocks, got (32, 1, 1)");
  EXPECT_EQ(launch(2, 3), "expected a grid that clusters of (2, 1, 1) blocks divide, got (3, 1, 1)");
  EXPECT_THAT(launch(0, 3), HasSubstr("clusters of (0, 1, 1) blocks"));
  EXPECT_EQ(fake().launch_count, 3);
}

// Little-endian bytes, worked out by hand.
TEST_F(Launch, PassesScalarsOfEveryDtypeByValue) {
  using ir::TypeCode;
  struct Scalar {
    ir::DataType dtype;
    Argument value;
    std::vector<unsigned char> bytes;
  };
  auto integer = [](int64_t v) { return Argument::of(v); };
  const Scalar scalars[] = {
      {{TypeCode::kInt, 8, 1}, integer(-2), {0xfe}},
      {{TypeCode::kInt, 16, 1}, integer(-2), {0xfe, 0xff}},
      {{TypeCode::kInt, 32, 1}, integer(-2), {0xfe, 0xff, 0xff, 0xff}},
      {{TypeCode::kInt, 64, 1}, integer(INT64_MIN), {0, 0, 0, 0, 0, 0, 0, 0x80}},
      {{TypeCode::kUInt, 8, 1}, integer(200), {200}},
      {{TypeCode::kUInt, 16, 1}, integer(0xabcd), {0xcd, 0xab}},
      {{TypeCode::kUInt, 32, 1}, integer(0xdeadbeef), {0xef, 0xbe, 0xad, 0xde}},
      {{TypeCode::kUInt, 64, 1}, integer(-1), {255, 255, 255, 255, 255, 255, 255, 255}},
      {ir::kBool, integer(1), {1}},
      {{TypeCode::kFloat, 16, 1}, Argument::of(1.5), {0x00, 0x3e}},
      {{TypeCode::kBFloat, 16, 1}, Argument::of(-1.0), {0x80, 0xbf}},
      {{TypeCode::kFloat8E4M3FN, 8, 1}, Argument::of(1.0), {0x38}},
      {{TypeCode::kFloat8E5M2, 8, 1}, Argument::of(-1.0), {0xbc}},
      {{TypeCode::kFloat, 32, 1}, Argument::of(0.1), {0xcd, 0xcc, 0xcc, 0x3d}},
      {{TypeCode::kFloat, 64, 1}, integer(2), {0, 0, 0, 0, 0, 0, 0, 0x40}},
  };
  for (const Scalar& scalar : scalars) {
    Source s = source();
    s.kernels[0].params.resize(1);
    s.kernels[0].params[0] = {}, s.kernels[0].params[0].name = "x", s.kernels[0].params[0].dtype = scalar.dtype;
    s.kernels[0].launch_params = {"blockIdx.x"};
    fake().arg_bytes[0] = static_cast<int>(scalar.bytes.size());
    ASSERT_EQ(error(runtime::call(module(s), "scale", std::vector<Argument>{scalar.value, integer(1)})), "") << ir::to_string(scalar.dtype);
    const unsigned char* got = fake().last.args[0];
    EXPECT_EQ(std::vector<unsigned char>(got, got + scalar.bytes.size()), scalar.bytes) << ir::to_string(scalar.dtype);
  }
}

TEST_F(Launch, PassesTensorMapsByValue) {
  Source s = source();
  s.kernels[0].params.resize(1);
  s.kernels[0].params[0] = {};
  s.kernels[0].params[0].name = "map", s.kernels[0].params[0].dtype = ir::kHandle, s.kernels[0].params[0].is_tensor_map = true;
  s.kernels[0].launch_params = {"blockIdx.x"};
  fake().arg_bytes[0] = 128;
  alignas(64) unsigned char map[128];
  runtime::TensorMap m;
  m.dtype = 9, m.base = memory_, m.dims = {64, 32}, m.strides = {128}, m.box = {16, 8}, m.element_strides = {1, 1};
  m.swizzle = 3;
  ASSERT_EQ(error(device_api().encode(0, m, map)), "");
  std::vector<Argument> a = {Argument::of(static_cast<void*>(map)), Argument::of(int64_t{1})};
  Module module_with_map = module(s);
  ASSERT_EQ(error(runtime::call(module_with_map, "scale", a)), "");
  uint64_t seen[8];
  std::memcpy(seen, fake().last.args[0], sizeof seen);
  EXPECT_THAT(seen, testing::ElementsAre(9u, 2u, reinterpret_cast<uintptr_t>(memory_), 64u, 32u, 128u, 16u, 3u));
  a[0] = Argument::of(static_cast<void*>(nullptr));
  EXPECT_THAT(error(runtime::call(module_with_map, "scale", a)), HasSubstr("expected a pointer to a tensor map, got a null pointer"));
  m.box = {16};
  EXPECT_THAT(error(device_api().encode(0, m, map)), HasSubstr("expected lists of one rank"));
}

TEST_F(Launch, EncodesATensorMapAgainWhenAFieldChanged) {
  runtime::TensorMap m;
  m.dtype = 9, m.base = memory_, m.dims = {64, 31}, m.strides = {128}, m.box = {16, 8}, m.element_strides = {1, 1};
  alignas(64) unsigned char map[128], again[128];
  auto encode = [&](unsigned char* out) { return error(device_api().encode(0, m, out)); };
  EXPECT_EQ(encode(map) + encode(again), "");
  EXPECT_EQ(fake().encodes, 1);
  EXPECT_EQ(std::memcmp(map, again, 128), 0);
  m.base = memory_ + 2;
  EXPECT_EQ(encode(again), "");
  EXPECT_EQ(fake().encodes, 2);
  uint64_t seen[16];
  std::memcpy(seen, again, sizeof seen);
  EXPECT_EQ(seen[2], reinterpret_cast<uintptr_t>(memory_ + 2));
  m.oob_fill = 1;  // a field that the fake's map does not show
  EXPECT_EQ(encode(again), "");
  EXPECT_EQ(fake().encodes, 3);
}

TEST_F(Launch, MakesTensorMapsForHostsInOtherLanguages) {
  register_tensor_map_functions();
  register_tensor_map_functions();
  alignas(64) unsigned char map[128] = {};
  // As TVM's host code calls it: the map, dtype, rank, tensor, dimensions, strides with the innermost, box, element strides, four
  // enumerators.
  auto tiled = *tvm::ffi::Function::GetGlobal("__tvm_tensormap_create_tiled");
  void *out = map, *base = memory_;
  tiled(out, 6, 2, base, 60, 30, 2, 120, 16, 8, 1, 1, 0, 3, 2, 0);
  uint64_t seen[16];
  std::memcpy(seen, map, sizeof seen);
  EXPECT_THAT(std::vector<uint64_t>(seen, seen + 8),
              testing::ElementsAre(6u, 2u, reinterpret_cast<uintptr_t>(memory_), 60u, 30u, 120u, 16u, 3u));
  auto im2col = *tvm::ffi::Function::GetGlobal("kiln.tensormap_create_im2col");
  im2col(out, 6, 4, base, 8, 9, 9, 2, 2, 16, 144, 1296, 1, 1, 1, 1, -1, -2, 1, 2, 32, 64, 0, 3, 2, 0);
  std::memcpy(seen, map, sizeof seen);
  EXPECT_THAT(std::vector<uint64_t>(seen, seen + 5), testing::ElementsAre(6u, 4u, static_cast<uint64_t>(-1), 64u, 32u));
}

TEST_F(Launch, SaysWhatIsWrongWithATensorMapsArguments) {
  register_tensor_map_functions();
  alignas(64) unsigned char map[128] = {};
  void *out = map, *base = memory_, *none = nullptr;
  auto tiled = *tvm::ffi::Function::GetGlobal("kiln.tensormap_create_tiled");
  auto message = [&](auto... args) {
    try {
      tiled(args...);
    } catch (const tvm::ffi::Error& e) {
      return std::string(e.kind()) + ": " + std::string(e.message());
    }
    return std::string();
  };
  EXPECT_EQ(message(out, 6), "ValueError: tensor map: expected more arguments, the rank next, got 2");
  EXPECT_EQ(message(none, 6), "ValueError: tensor map: expected a pointer that is not null for the map (argument 0)");
  EXPECT_EQ(message(out, 6, 6, base), "ValueError: tensor map: expected a rank of 1 to 5, got 6");
  EXPECT_EQ(message(out, 6, 1, base, "x"), "ValueError: tensor map: expected an integer for a dimension (argument 4)");
  EXPECT_EQ(message(out, 6, 1, base, 64, 2, 16, 1, 0, 0, 0, 0, 0),
            "ValueError: tensor map: expected 12 arguments for a tensor map of that rank, got 13");
}

TEST_F(Launch, ThreadsMakeTensorMapsAtOnce) {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      alignas(64) unsigned char map[128];
      for (int64_t round = 0; round < 200; ++round) {
        runtime::TensorMap m;
        m.base = memory_, m.dims = {1000 + round % 100, 7 + i}, m.strides = {8}, m.box = {1, 1}, m.element_strides = {1, 1};
        uint64_t seen[16] = {};
        bool made = device_api().encode(0, m, map).ok();
        std::memcpy(seen, map, sizeof seen);
        wrong += !made || seen[3] != static_cast<uint64_t>(1000 + round % 100) || seen[4] != static_cast<uint64_t>(7 + i);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Launch, LoadsOnceWhenThreadsRace) {
  Module m = module(source());
  DLTensor t = tensor();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { (void)runtime::call(m, "scale", args(t, 1, 1, 32, 0)); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fake().loads, 1);
  EXPECT_EQ(fake().launch_count, 8);
}

}  // namespace
}  // namespace kiln::cuda
