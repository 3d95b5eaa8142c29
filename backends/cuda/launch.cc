#include "backends/cuda/launch.h"

#include <dlpack/dlpack.h>
#include <tvm/ffi/extra/c_env_api.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

#include "backends/cuda/driver.h"
#include "runtime/launch_values.h"

namespace kiln::cuda {

namespace {

using runtime::Fault;
using runtime::Slot;

constexpr int kMaxDevices = 64;
constexpr int kDefaultSharedBytes = 48 * 1024;  // more takes an attribute of the function
constexpr uint64_t kMostCluster = 16;           // blocks, on any device up to sm_120
constexpr uint64_t kPortableCluster = 8;        // blocks; more takes one, too

// A kernel on one device.
struct Loaded {
  Handle function = nullptr;
  int max_threads = 0, static_shared_bytes = 0;
  std::atomic<int> dynamic_shared_bytes = 0;  // that the function was told of
  std::atomic<uint64_t> large_cluster = 0;    // the last one that the device was found to hold, as `cluster_key` writes it
};

struct OnDevice {
  const Gpu* gpu = nullptr;
  Handle module = nullptr;
  std::vector<Loaded> kernels;
};

Fault fault(const Error& e) { return {"RuntimeError", e.message + (e.hint.empty() ? "" : " (" + e.hint + ")")}; }
Fault value_fault(std::string message) { return {"ValueError", std::move(message)}; }

std::string text(const uint32_t (&extents)[3]) {
  return "(" + std::to_string(extents[0]) + ", " + std::to_string(extents[1]) + ", " + std::to_string(extents[2]) + ")";
}

struct KernelPlan {
  std::string symbol;
  std::vector<int> places;  // of the launch values
  bool has_cluster = false, cooperative = false, dependent_launch = false;
};

class CudaLauncher final : public runtime::Launcher {
 public:
  CudaLauncher(std::vector<KernelPlan> plans, const Arch& arch, std::string cubin, runtime::ArtifactFn ptx)
      : plans_(std::move(plans)), arch_(arch), cubin_(std::move(cubin)), ptx_(std::move(ptx)) {}
  ~CudaLauncher() override {
    for (auto& slot : devices_) {
      std::unique_ptr<OnDevice> d(slot.load());
      if (!d) continue;
      CurrentContext current(*driver(), d->gpu->context);
      driver()->unload_module(d->module);  // at the process's end the driver may be gone: its refusal says nothing
    }
  }

  int device_type() const override { return kDLCUDA; }
  std::span<const int> reachable_types() const override {
    static constexpr int kTypes[] = {kDLCUDAHost, kDLCUDAManaged};
    return kTypes;
  }

  Fault launch(size_t index, void** args, const Slot* values, int device) const override {
    const Result<Driver>& found = driver();
    if (!found) return fault(found.error());
    const Driver& d = *found;
    if (device < 0) device = current_device(d);
    if (device >= kMaxDevices) return value_fault("expected a device below cuda:" + std::to_string(kMaxDevices));
    OnDevice* on = devices_[static_cast<size_t>(device)].load(std::memory_order_acquire);
    if (!on) {
      Result<OnDevice*> loaded = load(d, device);
      if (!loaded) return fault(loaded.error());
      on = *loaded;
    }
    return launch_on(d, *on, index, args, values);
  }

 private:
  static int current_device(const Driver& d) {
    Handle context = nullptr;
    int device = 0;
    if (d.current_context(&context) != 0 || !context || d.context_device(&device) != 0) return 0;
    return device;  // a CUdevice is the device's number
  }

  // The device's code: the cubin where the device runs it, else PTX for the driver to compile.
  Result<std::string> code_for(const Gpu& gpu) const {
    int major = arch_.number / 10, minor = arch_.number % 10;
    if (arch_.suffix == 'a' && (gpu.major != major || gpu.minor != minor)) return wrong_architecture(gpu);
    if (gpu.major == major && gpu.minor >= minor) return cubin_;
    if (arch_.suffix || gpu.major < major || (gpu.major == major && gpu.minor < minor)) return wrong_architecture(gpu);
    return ptx_();
  }
  Error wrong_architecture(const Gpu& gpu) const {
    std::string has = "sm_" + std::to_string(gpu.major * 10 + gpu.minor);
    return {Code::kLaunch,
            "the kernel is compiled for " + arch_.sm() + ", device cuda:" + std::to_string(gpu.index) + " (" + gpu.name + ") is " + has, "",
            "build for the target 'cuda -arch=" + has + "'"};
  }

  Result<OnDevice*> load(const Driver& d, int device) const {
    std::lock_guard lock(mutex_);
    auto& slot = devices_[static_cast<size_t>(device)];
    if (OnDevice* on = slot.load()) return on;  // another thread was first
    Result<const Gpu*> gpu_found = gpu(device);
    if (!gpu_found) return gpu_found.error();
    auto on = std::make_unique<OnDevice>();
    on->gpu = *gpu_found;
    Result<std::string> code = code_for(*on->gpu);
    if (!code) return code.error();
    CurrentContext current(d, on->gpu->context);
    if (int r = d.load_module(&on->module, code->c_str())) return failed(d, r, "loading the module");
    on->kernels = std::vector<Loaded>(plans_.size());
    for (size_t i = 0; i < plans_.size(); ++i) {
      Loaded& k = on->kernels[i];
      int r = d.get_function(&k.function, on->module, plans_[i].symbol.c_str());
      if (!r) r = d.function_attribute(&k.max_threads, FunctionAttribute::kMaxThreadsPerBlock, k.function);
      if (!r) r = d.function_attribute(&k.static_shared_bytes, FunctionAttribute::kSharedBytes, k.function);
      if (!r) continue;
      d.unload_module(on->module);
      return failed(d, r, "finding the kernel '" + plans_[i].symbol + "' in the module");
    }
    slot.store(on.get(), std::memory_order_release);
    return on.release();
  }

  Fault launch_on(const Driver& d, OnDevice& on, size_t index, void** args, const Slot* values) const {
    const KernelPlan& plan = plans_[index];
    Loaded& kernel = on.kernels[index];
    auto v = runtime::launch_values<uint32_t>(plan.places, values);
    LaunchConfig config = {{v[3], v[4], v[5]}, {v[6], v[7], v[8]}, v[runtime::kSharedBytes], nullptr, nullptr, 0};
    if (config.grid[0] == 0 || config.grid[1] == 0 || config.grid[2] == 0) return {};  // no block, nothing to do
    if (Fault f = check(*on.gpu, kernel, config)) return f;
    CurrentContext current(d, on.gpu->context);
    if (Fault f = reserve_shared(d, kernel, config.dynamic_shared_bytes)) return f;
    LaunchAttribute attributes[3];
    auto add = [&](LaunchAttribute::Id id, uint32_t x, uint32_t y, uint32_t z) {
      LaunchAttribute& a = attributes[config.attribute_count++];
      a.id = id, a.words[0] = x, a.words[1] = y, a.words[2] = z;
    };
    if (plan.has_cluster && (v[0] != 1 || v[1] != 1 || v[2] != 1)) {
      if (Fault f = check_cluster(*on.gpu, {v[0], v[1], v[2]}, config)) return f;
      add(LaunchAttribute::kClusterDimension, v[0], v[1], v[2]);
    }
    if (plan.cooperative) add(LaunchAttribute::kCooperative, 1, 0, 0);
    if (plan.dependent_launch) add(LaunchAttribute::kProgrammaticStreamSerialization, 1, 0, 0);
    config.attributes = attributes;
    if (uint64_t{v[0]} * v[1] * v[2] > kPortableCluster) {
      if (Fault f = admit_large_cluster(d, kernel, v[0] * v[1] * v[2], config)) return f;
    }
    config.stream = TVMFFIEnvGetStream(kDLCUDA, on.gpu->index);
    int r = d.launch(&config, kernel.function, args, nullptr);
    if (r) return fault(failed(d, r, "the launch with grid " + text(config.grid) + " and block " + text(config.block)));
    return {};
  }

  static Fault check(const Gpu& gpu, const Loaded& kernel, const LaunchConfig& c) {
    for (int i = 0; i < 3; ++i) {
      const char* axis[] = {"x", "y", "z"};
      if (c.grid[i] > static_cast<uint32_t>(gpu.max_grid[i])) {
        return value_fault("expected grid." + std::string(axis[i]) + " of at most " + std::to_string(gpu.max_grid[i]) + ", got " +
                           std::to_string(c.grid[i]));
      }
      if (c.block[i] == 0 || c.block[i] > static_cast<uint32_t>(gpu.max_block[i])) {
        return value_fault("expected block." + std::string(axis[i]) + " of 1 to " + std::to_string(gpu.max_block[i]) + ", got " +
                           std::to_string(c.block[i]));
      }
    }
    uint64_t threads = uint64_t{c.block[0]} * c.block[1] * c.block[2];
    int most = std::min(gpu.max_threads, kernel.max_threads);
    if (threads > static_cast<uint64_t>(most)) {
      return value_fault("expected a block of at most " + std::to_string(most) + " threads, got " + text(c.block) + " which are " +
                         std::to_string(threads));
    }
    uint64_t shared = uint64_t{c.dynamic_shared_bytes} + static_cast<uint64_t>(kernel.static_shared_bytes);
    if (shared > static_cast<uint64_t>(gpu.max_shared_bytes)) {
      return value_fault("expected at most " + std::to_string(gpu.max_shared_bytes) + " bytes of shared memory, got " +
                         std::to_string(c.dynamic_shared_bytes) + " dynamic and " + std::to_string(kernel.static_shared_bytes) + " static");
    }
    return {};
  }

  static Fault check_cluster(const Gpu& gpu, const uint32_t (&cluster)[3], const LaunchConfig& c) {
    if (gpu.major < 9) return value_fault("expected a device of sm_90 or newer for clusters of blocks, got " + gpu.name);
    for (int i = 0; i < 3; ++i) {
      if (cluster[i] != 0 && c.grid[i] % cluster[i] == 0) continue;
      return value_fault("expected a grid that clusters of " + text(cluster) + " blocks divide, got " + text(c.grid));
    }
    if (uint64_t{cluster[0]} * cluster[1] * cluster[2] <= kMostCluster) return {};
    return value_fault("expected a cluster of at most " + std::to_string(kMostCluster) + " blocks, got " + text(cluster));
  }

  // A cluster of more than 8 blocks is for devices that hold it; how many, the driver tells (CUDA Driver API, "Occupancy"). Asked again
  // when anything that it depends on changes. Threads that race here ask more than once, to no harm.
  Fault admit_large_cluster(const Driver& d, Loaded& kernel, uint32_t blocks, const LaunchConfig& c) const {
    uint64_t key = cluster_key(blocks, c);
    if (kernel.large_cluster.load(std::memory_order_relaxed) == key) return {};
    if (int r = d.set_function_attribute(kernel.function, FunctionAttribute::kNonPortableClusterSize, 1)) {
      return fault(failed(d, r, "allowing a cluster of " + std::to_string(blocks) + " blocks"));
    }
    int most = static_cast<int>(blocks);
    if (d.max_cluster_size && d.max_cluster_size(&most, kernel.function, &c) == 0 && most < static_cast<int>(blocks)) {
      return value_fault("expected a cluster of at most " + std::to_string(most) +
                         " blocks, which the device holds of this kernel at once, got " + std::to_string(blocks));
    }
    kernel.large_cluster.store(key, std::memory_order_relaxed);
    return {};
  }
  static uint64_t cluster_key(uint32_t blocks, const LaunchConfig& c) {  // at most 16 blocks and 1024 threads, checked before
    return uint64_t{blocks} << 48 | uint64_t{c.block[0]} * c.block[1] * c.block[2] << 32 | c.dynamic_shared_bytes;
  }

  // Threads that race here set the attribute more than once, to no harm: it only grows.
  Fault reserve_shared(const Driver& d, Loaded& kernel, uint32_t dynamic) const {
    int bytes = static_cast<int>(dynamic);
    if (bytes + kernel.static_shared_bytes <= kDefaultSharedBytes || bytes <= kernel.dynamic_shared_bytes.load(std::memory_order_acquire))
      return {};
    std::lock_guard lock(mutex_);
    if (bytes <= kernel.dynamic_shared_bytes.load()) return {};
    int r = d.set_function_attribute(kernel.function, FunctionAttribute::kMaxDynamicSharedBytes, bytes);
    if (r) return fault(failed(d, r, "reserving " + std::to_string(bytes) + " bytes of dynamic shared memory"));
    kernel.dynamic_shared_bytes.store(bytes, std::memory_order_release);
    return {};
  }

  std::vector<KernelPlan> plans_;
  Arch arch_;
  std::string cubin_;
  runtime::ArtifactFn ptx_;
  mutable std::mutex mutex_;  // of the first launch on a device
  mutable std::array<std::atomic<OnDevice*>, kMaxDevices> devices_{};
};

}  // namespace

Result<std::shared_ptr<const runtime::Launcher>> make_launcher(const Source& source, const Arch& arch, std::string cubin,
                                                               runtime::ArtifactFn ptx) {
  std::vector<KernelPlan> plans;
  for (const KernelInfo& k : source.kernels) {
    auto places = runtime::launch_places(k);
    if (!places) return places.error();
    bool has_cluster = std::any_of(places->begin(), places->end(), [](int place) { return place < runtime::kGrid; });
    plans.push_back({k.symbol, std::move(*places), has_cluster, k.cooperative, k.dependent_launch});
  }
  return std::shared_ptr<const runtime::Launcher>(std::make_shared<CudaLauncher>(std::move(plans), arch, std::move(cubin), std::move(ptx)));
}

}  // namespace kiln::cuda
