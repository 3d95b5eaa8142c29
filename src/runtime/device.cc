#include "runtime/device.h"

#include <dlpack/dlpack.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace kiln::runtime {

namespace {

constexpr size_t kAlignment = 64;  // as allocators of tensors do

Result<void*> allocate(int, size_t bytes) {
  void* memory = std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
  if (!memory) return Error{Code::kIo, "there is no memory for " + std::to_string(bytes) + " bytes", "device cpu", ""};
  return memory;
}

Status copy(int, void* to, const void* from, size_t bytes) {
  if (bytes) std::memcpy(to, from, bytes);
  return Ok{};
}

Result<std::vector<double>> time(int, int repeat, const std::function<Status()>& launch) {
  std::vector<double> times;
  for (int i = 0; i < repeat; ++i) {
    auto start = std::chrono::steady_clock::now();
    if (Status s = launch(); !s) return s.error();
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  return times;
}

}  // namespace

void add_finding(std::vector<Finding>& all, Finding f) {
  for (Finding& known : all) {
    if (known.kind != f.kind || known.kernel != f.kernel || known.cause != f.cause) continue;
    int first = std::max(known.first, f.first), last = std::min(known.last, f.last);
    bool has_point = known.first == known.last || f.first == f.last;
    if (first > last || (first == last && !has_point)) continue;
    known.first = first, known.last = last;
    known.count += f.count;
    return;
  }
  all.push_back(std::move(f));
}

const DeviceApi& cpu_device() {
  static const DeviceApi api = {
      "cpu",      kDLCPU,
      kAlignment, [] { return Result<std::vector<std::string>>(std::vector<std::string>{"this machine's processor"}); },
      allocate,   [](int, void* memory) { std::free(memory); },
      copy,       [](int) { return Status(Ok{}); },
      nullptr,    time};
  return api;
}

}  // namespace kiln::runtime
