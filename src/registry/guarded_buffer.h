// A tensor's memory on a device, with guards around it that no kernel may touch.
#pragma once

#include <dlpack/dlpack.h>

#include <vector>

#include "ir/dtype.h"
#include "registry/devices.h"

namespace kiln::registry {

// Memory on a device, and the host's copy of it, guards included. It must not outlive its device. For one thread at a time.
class GuardedBuffer {
 public:
  std::vector<int64_t> shape;  // of what `tensor` gives
  ir::DataType dtype;

  GuardedBuffer() = default;
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  // Once. The host's copy is poison; `send` brings it to the device.
  Status allocate(const Device& device, size_t bytes);
  size_t bytes() const { return bytes_; }
  char* host() { return host_.data() + offset_; }
  void* device() const { return static_cast<char*>(memory_) + offset_; }
  // The whole of it; `byte_offset` is the tensor's. It points at `shape`.
  DLTensor tensor(int64_t byte_offset = 0);

  Status send() { return device_.api->copy(device_.index, memory_, host_.data(), host_.size()); }
  Status fetch() { return device_.api->copy(device_.index, host_.data(), memory_, host_.size()); }
  // Of what was fetched.
  bool guards_intact() const;

 private:
  Device device_;
  void* memory_ = nullptr;
  std::vector<char> host_;
  size_t offset_ = 0, bytes_ = 0;
};

}  // namespace kiln::registry
