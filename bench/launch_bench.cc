// What a launch costs the host: kiln's function with DLPack tensors, beside the driver's bare call with the same arguments.
// "/maps": the same beside three tensor maps, which a host makes before each launch.
//   kiln_bench --benchmark_filter='^launch/'
// Needs a GPU of sm_80 or newer.
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <dlpack/dlpack.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/tvm_ffi.h>

#include "driver/driver.h"

namespace {

using namespace kiln;
namespace ffi = tvm::ffi;

constexpr int64_t kElements = 1024;
constexpr int kBlock = 128;
constexpr int kBatch = 512;  // launches between two waits: fewer than the driver's queue holds

// C = A + B over 1024 float32 by blocks of 128 threads.
constexpr const char* kScript = R"(@I.ir_module
class Module:
    @T.prim_func
    def add(A: T.handle("float32", "global"), B: T.handle("float32", "global"), C: T.handle("float32", "global")):
        T.func_attr({"global_symbol": "add", "tirx.noalias": True, "tirx.is_global_func": True, "tirx.kernel_launch_params": ["blockIdx.x", "threadIdx.x"]})
        A_1 = T.decl_buffer((1024,), "float32", data=A)
        B_1 = T.decl_buffer((1024,), "float32", data=B)
        C_1 = T.decl_buffer((1024,), "float32", data=C)
        bx = T.launch_thread("blockIdx.x", 8)
        tx = T.launch_thread("threadIdx.x", 128)
        C_1[bx * 128 + tx] = A_1[bx * 128 + tx] + B_1[bx * 128 + tx]
)";

// Takes three tensor maps and stores one number. What it costs the host to hand them over is the same as for a kernel that copies by them.
constexpr const char* kMapsScript = R"(@I.ir_module
class Module:
    @T.prim_func
    def maps(A: T.handle("uint8x128", "grid_constant"), B: T.handle("uint8x128", "grid_constant"), C: T.handle("uint8x128", "grid_constant"), D: T.handle("float32", "global")):
        T.func_attr({"global_symbol": "maps", "tirx.noalias": True, "tirx.is_global_func": True, "tirx.kernel_launch_params": ["blockIdx.x", "threadIdx.x"]})
        D_1 = T.decl_buffer((1024,), "float32", data=D)
        bx = T.launch_thread("blockIdx.x", 8)
        tx = T.launch_thread("threadIdx.x", 128)
        D_1[bx * 128 + tx] = T.float32(1)
)";
constexpr int kFloat16 = 6, kSwizzle128 = 3, kPromote256 = 3;  // CUtensorMapDataType and so on
constexpr int64_t kSide = 128;                                 // of a map's tensor, in elements; its box is 64 x 8

// The driver's own functions, by the CUDA Driver API reference.
struct Driver {
  int (*init)(unsigned) = nullptr;
  int (*retain)(void**, int) = nullptr;
  int (*set_context)(void*) = nullptr;
  int (*allocate)(uint64_t*, size_t) = nullptr;
  int (*load)(void**, const void*) = nullptr;
  int (*function)(void**, void*, const char*) = nullptr;
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**) = nullptr;
  int (*synchronize)() = nullptr;
  int (*encode)(void*, int, uint32_t, void*, const uint64_t*, const uint64_t*, const uint32_t*, const uint32_t*, int, int, int,
                int) = nullptr;
  uint64_t memory[3] = {};
};

// The context that kiln uses, too: the device's primary one.
bool open(Driver& d) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  auto find = [&](auto& f, const char* name) {
    f = reinterpret_cast<std::remove_reference_t<decltype(f)>>(dlsym(library, name));
    return f != nullptr;
  };
  void* context = nullptr;
  if (!library || !find(d.init, "cuInit") || !find(d.retain, "cuDevicePrimaryCtxRetain") || !find(d.set_context, "cuCtxSetCurrent") ||
      !find(d.allocate, "cuMemAlloc_v2") || !find(d.load, "cuModuleLoadData") || !find(d.function, "cuModuleGetFunction") ||
      !find(d.launch, "cuLaunchKernel") || !find(d.encode, "cuTensorMapEncodeTiled") || !find(d.synchronize, "cuCtxSynchronize"))
    return false;
  if (d.init(0) || d.retain(&context, 0) || d.set_context(context)) return false;
  for (uint64_t& m : d.memory) {
    if (d.allocate(&m, kSide * kSide * sizeof(float))) return false;
  }
  return true;
}

Result<Module> build(const char* script = kScript) {
  auto module = IRModule::parse(script, "launch_bench.py");
  if (!module) return module.error();
  driver::BuildOptions options;
  options.target = "cuda -arch=sm_80";
  auto built = driver::build(*module, options);
  if (!built) return built.error();
  return built->module;
}

// Launches in batches; waiting for a batch is not timed.
template <class F>
void time_launches(benchmark::State& state, Driver& d, F&& launch) {
  int n = 0;
  for (auto _ : state) {
    if (!launch()) return state.SkipWithError("the launch failed");
    if (++n % kBatch) continue;
    state.PauseTiming();
    d.synchronize();
    state.ResumeTiming();
  }
  d.synchronize();
}

// The function is taken from the module once and called through tvm-ffi's C ABI, as a deployed program does.
void launch_kiln(benchmark::State& state) {
  Driver d;
  if (!open(d)) return state.SkipWithError("no CUDA driver or device here");
  auto module = build();
  if (!module) return state.SkipWithError(module.error().to_string().c_str());
  auto* object = ffi::details::ObjectUnsafe::RawObjectPtrFromUnowned<ffi::Object>(static_cast<TVMFFIObject*>(module->handle()));
  ffi::Function add = *static_cast<ffi::ModuleObj*>(object)->GetFunction("add");
  TVMFFIObjectHandle handle = ffi::details::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(add);
  int64_t shape[] = {kElements};
  DLTensor tensors[3];
  TVMFFIAny arguments[5] = {};
  for (int i = 0; i < 3; ++i) {
    tensors[i] = {reinterpret_cast<void*>(d.memory[i]), {kDLCUDA, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0};
    arguments[i].type_index = kTVMFFIDLTensorPtr, arguments[i].v_ptr = &tensors[i];
  }
  arguments[3].type_index = arguments[4].type_index = kTVMFFIInt;
  arguments[3].v_int64 = kElements / kBlock, arguments[4].v_int64 = kBlock;
  TVMFFIAny result = {};
  time_launches(state, d, [&] { return TVMFFIFunctionCall(handle, arguments, 5, &result) == 0; });
}

void launch_bare(benchmark::State& state) {
  Driver d;
  if (!open(d)) return state.SkipWithError("no CUDA driver or device here");
  auto module = build();
  if (!module) return state.SkipWithError(module.error().to_string().c_str());
  auto ptx = module->artifact("ptx");
  if (!ptx) return state.SkipWithError(ptx.error().to_string().c_str());
  void *code = nullptr, *add = nullptr;
  if (d.load(&code, ptx->c_str()) || d.function(&add, code, "add")) return state.SkipWithError("the module does not load");
  void* arguments[] = {&d.memory[0], &d.memory[1], &d.memory[2]};
  time_launches(state, d, [&] { return d.launch(add, kElements / kBlock, 1, 1, kBlock, 1, 1, 0, nullptr, arguments, nullptr) == 0; });
}

struct alignas(64) MapBytes {
  char bytes[128];
};

// Three maps by Kiln's function, as a host in any language makes them, then the launch.
void launch_kiln_maps(benchmark::State& state) {
  Driver d;
  if (!open(d)) return state.SkipWithError("no CUDA driver or device here");
  auto module = build(kMapsScript);
  if (!module) return state.SkipWithError(module.error().to_string().c_str());
  auto* object = ffi::details::ObjectUnsafe::RawObjectPtrFromUnowned<ffi::Object>(static_cast<TVMFFIObject*>(module->handle()));
  ffi::Function maps = *static_cast<ffi::ModuleObj*>(object)->GetFunction("maps");
  ffi::Function create = *ffi::Function::GetGlobal("kiln.tensormap_create_tiled");
  TVMFFIObjectHandle launch = ffi::details::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(maps);
  TVMFFIObjectHandle encode = ffi::details::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(create);
  MapBytes bytes[3];
  const int64_t fields[] = {kFloat16, 2, 0, kSide, kSide, 2, 2 * kSide, 64, 8, 1, 1, 0, kSwizzle128, kPromote256, 0};
  TVMFFIAny map[3][16] = {}, arguments[6] = {}, result = {};
  auto pointer = [](TVMFFIAny& a, void* p) { a.type_index = kTVMFFIOpaquePtr, a.v_ptr = p; };
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 15; ++k) map[i][k + 1].type_index = kTVMFFIInt, map[i][k + 1].v_int64 = fields[k];
    pointer(map[i][0], &bytes[i]), pointer(map[i][3], reinterpret_cast<void*>(d.memory[i]));
    pointer(arguments[i], &bytes[i]);
  }
  pointer(arguments[3], reinterpret_cast<void*>(d.memory[0]));
  arguments[4].type_index = arguments[5].type_index = kTVMFFIInt;
  arguments[4].v_int64 = kElements / kBlock, arguments[5].v_int64 = kBlock;
  time_launches(state, d, [&] {
    for (auto& m : map) {
      if (TVMFFIFunctionCall(encode, m, 16, &result) != 0) return false;
    }
    return TVMFFIFunctionCall(launch, arguments, 6, &result) == 0;
  });
}

// Bare: the driver encodes the three maps each time, or (`once`) before the first launch only.
void launch_bare_maps(benchmark::State& state, bool once) {
  Driver d;
  if (!open(d)) return state.SkipWithError("no CUDA driver or device here");
  auto module = build(kMapsScript);
  if (!module) return state.SkipWithError(module.error().to_string().c_str());
  auto ptx = module->artifact("ptx");
  if (!ptx) return state.SkipWithError(ptx.error().to_string().c_str());
  void *code = nullptr, *maps = nullptr;
  if (d.load(&code, ptx->c_str()) || d.function(&maps, code, "maps")) return state.SkipWithError("the module does not load");
  MapBytes bytes[3];
  void* arguments[] = {&bytes[0], &bytes[1], &bytes[2], &d.memory[0]};
  const uint64_t dims[] = {kSide, kSide}, strides[] = {2 * kSide};
  const uint32_t box[] = {64, 8}, element_strides[] = {1, 1};
  auto encode = [&] {
    for (int i = 0; i < 3; ++i) {
      void* base = reinterpret_cast<void*>(d.memory[i]);
      if (d.encode(&bytes[i], kFloat16, 2, base, dims, strides, box, element_strides, 0, kSwizzle128, kPromote256, 0)) return false;
    }
    return true;
  };
  if (!encode()) return state.SkipWithError("the driver makes no such tensor map");
  time_launches(state, d, [&] {
    return (once || encode()) && d.launch(maps, kElements / kBlock, 1, 1, kBlock, 1, 1, 0, nullptr, arguments, nullptr) == 0;
  });
}

const bool registered = [] {
  benchmark::RegisterBenchmark("launch/bare", launch_bare);
  benchmark::RegisterBenchmark("launch/kiln", launch_kiln);
  benchmark::RegisterBenchmark("launch/maps/bare", launch_bare_maps, false);
  benchmark::RegisterBenchmark("launch/maps/bare, encoded once", launch_bare_maps, true);
  benchmark::RegisterBenchmark("launch/maps/kiln", launch_kiln_maps);
  return true;
}();

}  // namespace
