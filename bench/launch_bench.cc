// What a launch costs the host: kiln's function with DLPack tensors, beside the driver's bare call with the same arguments.
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
      !find(d.launch, "cuLaunchKernel") || !find(d.synchronize, "cuCtxSynchronize"))
    return false;
  if (d.init(0) || d.retain(&context, 0) || d.set_context(context)) return false;
  for (uint64_t& m : d.memory) {
    if (d.allocate(&m, kElements * sizeof(float))) return false;
  }
  return true;
}

Result<Module> build() {
  auto module = IRModule::parse(kScript, "launch_bench.py");
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

const bool registered = [] {
  benchmark::RegisterBenchmark("launch/bare", launch_bare);
  benchmark::RegisterBenchmark("launch/kiln", launch_kiln);
  return true;
}();

}  // namespace
