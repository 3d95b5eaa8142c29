#include "backends/cuda/driver.h"

#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <mutex>

namespace kiln::cuda {

namespace {

bool bind(void* library, Driver& d, std::string& missing) {
  auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (!function && missing.empty()) missing = name;
  };
  find(d.init, "cuInit");
  find(d.version, "cuDriverGetVersion");
  find(d.error_name, "cuGetErrorName");
  find(d.error_string, "cuGetErrorString");
  find(d.device_count, "cuDeviceGetCount");
  find(d.device_get, "cuDeviceGet");
  find(d.device_name, "cuDeviceGetName");
  find(d.device_attribute, "cuDeviceGetAttribute");
  find(d.retain_context, "cuDevicePrimaryCtxRetain");
  find(d.current_context, "cuCtxGetCurrent");
  find(d.set_context, "cuCtxSetCurrent");
  find(d.context_device, "cuCtxGetDevice");
  find(d.synchronize, "cuCtxSynchronize");
  find(d.load_module, "cuModuleLoadData");
  find(d.unload_module, "cuModuleUnload");
  find(d.get_function, "cuModuleGetFunction");
  find(d.function_attribute, "cuFuncGetAttribute");
  find(d.set_function_attribute, "cuFuncSetAttribute");
  find(d.launch, "cuLaunchKernelEx");
  find(d.allocate, "cuMemAlloc_v2");
  find(d.release, "cuMemFree_v2");
  find(d.copy, "cuMemcpy");
  find(d.set_bytes, "cuMemsetD8_v2");
  find(d.create_event, "cuEventCreate");
  find(d.destroy_event, "cuEventDestroy_v2");
  find(d.record_event, "cuEventRecord");
  find(d.wait_event, "cuEventSynchronize");
  find(d.elapsed, "cuEventElapsedTime");
  bool complete = missing.empty();
  find(d.max_cluster_size, "cuOccupancyMaxPotentialClusterSize");
  find(d.encode_tiled, "cuTensorMapEncodeTiled");
  find(d.encode_im2col, "cuTensorMapEncodeIm2col");
  return complete;
}

Result<Driver> load() {
  const char* given = std::getenv("KILN_CUDA_DRIVER");
  Driver d{};
  d.path = given && *given ? given : "libcuda.so.1";
  void* library = dlopen(d.path.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays loaded: its threads may outlive any owner
  if (!library) {
    return Error{Code::kToolchain,
                 "the CUDA driver is not found; looked for " + d.path + (given && *given ? "" : " in the loader's folders"), "",
                 "install NVIDIA's driver, or set KILN_CUDA_DRIVER; kiln build --emit cubin needs none"};
  }
  std::string missing;
  if (!bind(library, d, missing)) {
    return Error{Code::kToolchain, "the CUDA driver lacks " + missing, d.path, "kernels are launched by drivers of CUDA 12.0 and newer"};
  }
  if (int result = d.init(0)) {
    Error e = failed(d, result, "starting the CUDA driver");
    return Error{Code::kToolchain, e.message, d.path, "kiln build --emit cubin needs no device"};
  }
  return d;
}

Result<const Gpu*> look_at(int index) {
  const Result<Driver>& found = driver();
  if (!found) return found.error();
  const Driver& d = *found;
  Result<int> count = device_count();
  if (!count) return count.error();
  if (index < 0 || index >= *count) {
    return Error{Code::kInvalidArgument, "there is no device cuda:" + std::to_string(index) + ", but " + std::to_string(*count) + " in all",
                 "", ""};
  }
  auto g = std::make_unique<Gpu>();
  g->index = index;
  std::string place = "device cuda:" + std::to_string(index);
  if (int r = d.device_get(&g->handle, index)) return failed(d, r, "looking at " + place);
  if (int r = d.retain_context(&g->context, g->handle)) return failed(d, r, "making the primary context of " + place);
  char name[256] = "";
  d.device_name(name, sizeof(name), g->handle);
  g->name = name;
  auto attribute = [&](int which) {
    int value = 0;
    d.device_attribute(&value, static_cast<DeviceAttribute>(which), g->handle);
    return value;
  };
  auto of = [&](DeviceAttribute a) { return attribute(static_cast<int>(a)); };
  g->major = of(DeviceAttribute::kMajor), g->minor = of(DeviceAttribute::kMinor);
  g->max_threads = of(DeviceAttribute::kMaxThreadsPerBlock);
  g->max_shared_bytes = of(DeviceAttribute::kMaxSharedBytesOptIn);
  g->l2_bytes = of(DeviceAttribute::kL2Bytes);
  for (int i = 0; i < 3; ++i) {
    g->max_block[i] = attribute(static_cast<int>(DeviceAttribute::kMaxBlockX) + i);
    g->max_grid[i] = attribute(static_cast<int>(DeviceAttribute::kMaxGridX) + i);
  }
  return g.release();
}

}  // namespace

const Result<Driver>& driver() {
  static const Result<Driver> loaded = load();
  return loaded;
}

Result<std::string> describe_driver() {
  const Result<Driver>& d = driver();
  if (!d) return d.error();
  int version = 0;
  d->version(&version);
  return d->path + ", CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Result<int> device_count() {
  const Result<Driver>& d = driver();
  if (!d) return d.error();
  int count = 0;
  if (int r = d->device_count(&count)) return failed(*d, r, "counting devices");
  return count;
}

Result<const Gpu*> gpu(int index) {
  static std::mutex mutex;
  static auto& known = *new std::vector<const Gpu*>;  // outlives every module that launches
  std::lock_guard lock(mutex);
  for (const Gpu* g : known) {
    if (g->index == index) return g;
  }
  Result<const Gpu*> found = look_at(index);
  if (found) known.push_back(*found);
  return found;
}

Error failed(const Driver& d, int result, const std::string& doing) {
  const char *name = nullptr, *text = nullptr;
  if (d.error_name(result, &name) != 0 || !name) name = "CUDA error";
  if (d.error_string(result, &text) != 0 || !text) text = "no description";
  std::string hint;
  switch (result) {  // CUresult; any other has no hint
    case 2: hint = "free memory on the device, or use a smaller case"; break;
    case 100: hint = "no device is visible: see nvidia-smi and CUDA_VISIBLE_DEVICES"; break;
    case 209:
    case 218: hint = "the code is not for this device: pass its architecture, as in --target 'cuda -arch=sm_90a'"; break;
    case 222: hint = "the toolkit that compiled is newer than the driver: update the driver"; break;
    case 700:
    case 716: hint = "compute-sanitizer shows the access"; break;
    case 912: hint = "all blocks of a cluster must fit on the device at once: use fewer, or less shared memory"; break;
    case 719: hint = "compute-sanitizer shows the instruction"; break;
    default: break;
  }
  return {Code::kLaunch, doing + " failed: " + name + " (" + std::to_string(result) + "): " + text, "", hint};
}

}  // namespace kiln::cuda
