#include "backends/cuda/device_api.h"

#include <dlpack/dlpack.h>
#include <tvm/ffi/extra/c_env_api.h>

#include "backends/cuda/driver.h"
#include "backends/cuda/tensor_map.h"

namespace kiln::cuda {

namespace {

// Does something with the device's context current.
template <class F>
Status with_device(int device, const std::string& doing, F&& f) {
  Result<const Gpu*> g = gpu(device);
  if (!g) return g.error();
  const Driver& d = *driver();
  CurrentContext current(d, (*g)->context);
  if (int r = f(d)) return failed(d, r, doing);
  return Ok{};
}

uint64_t address(const void* p) { return reinterpret_cast<uintptr_t>(p); }

Result<std::vector<std::string>> list() {
  Result<int> count = device_count();
  if (!count) return count.error();
  std::vector<std::string> out;
  for (int i = 0; i < *count; ++i) {
    Result<const Gpu*> g = gpu(i);
    out.push_back(g ? (*g)->name + ", sm_" + std::to_string((*g)->major * 10 + (*g)->minor) : g.error().message);
  }
  return out;
}

Result<void*> allocate(int device, size_t bytes) {
  uint64_t memory = 0;
  Status s = with_device(device, "allocating " + std::to_string(bytes) + " bytes",
                         [&](const Driver& d) { return d.allocate(&memory, bytes ? bytes : 1); });
  if (!s) return s.error();
  return reinterpret_cast<void*>(memory);
}

void release(int device, void* memory) {
  if (memory) (void)with_device(device, "", [&](const Driver& d) { return d.release(address(memory)); });
}

Status copy(int device, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return Ok{};
  return with_device(device, "copying " + std::to_string(bytes) + " bytes",
                     [&](const Driver& d) { return d.copy(address(to), address(from), bytes); });
}

Status synchronize(int device) {
  return with_device(device, "running the kernels", [](const Driver& d) { return d.synchronize(); });
}

// Between launches the second-level cache is overwritten.
Result<std::vector<double>> time(int device, int repeat, const std::function<Status()>& launch) {
  Result<const Gpu*> g = gpu(device);
  if (!g) return g.error();
  const Driver& d = *driver();
  CurrentContext current(d, (*g)->context);
  size_t flush_bytes = std::max<size_t>(4 * static_cast<size_t>((*g)->l2_bytes), size_t{256} << 20);
  Handle stream = TVMFFIEnvGetStream(kDLCUDA, device), begin = nullptr, end = nullptr;
  uint64_t flush = 0;
  std::vector<double> times;
  std::optional<Error> error;
  auto check = [&](int r) {
    if (r && !error) error = failed(d, r, "timing");
    return !error;
  };
  check(d.create_event(&begin, 0)) && check(d.create_event(&end, 0)) && check(d.allocate(&flush, flush_bytes));
  for (int i = 0; i < repeat && !error; ++i) {
    if (!check(d.set_bytes(flush, 0, flush_bytes)) || !check(d.record_event(begin, stream))) break;
    if (Status s = launch(); !s) error = s.error();
    float ms = 0;
    if (error || !check(d.record_event(end, stream)) || !check(d.wait_event(end)) || !check(d.elapsed(&ms, begin, end))) break;
    times.push_back(ms);
  }
  if (begin) d.destroy_event(begin);
  if (end) d.destroy_event(end);
  if (flush) d.release(flush);
  if (error) return *error;
  return times;
}

}  // namespace

const runtime::DeviceApi& device_api() {
  static const runtime::DeviceApi api = {"cuda", kDLCUDA, 256, list, allocate, release, copy, synchronize, encode_tensor_map, time};
  return api;
}

}  // namespace kiln::cuda
