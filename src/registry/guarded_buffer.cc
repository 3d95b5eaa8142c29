#include "registry/guarded_buffer.h"

#include <algorithm>

namespace kiln::registry {

namespace {

constexpr size_t kGuard = 64;  // bytes on either side, at least
constexpr char kPoison = '\xa5';

}  // namespace

GuardedBuffer::~GuardedBuffer() {
  if (memory_) device_.api->release(device_.index, memory_);
}

Status GuardedBuffer::allocate(const Device& device, size_t bytes) {
  device_ = device, bytes_ = bytes;
  offset_ = (kGuard + device.api->alignment - 1) / device.api->alignment * device.api->alignment;
  host_.assign(offset_ + bytes + kGuard, kPoison);
  auto memory = device.api->allocate(device.index, host_.size());
  if (!memory) return memory.error();
  memory_ = *memory;
  return Ok{};
}

DLTensor GuardedBuffer::tensor(int64_t byte_offset) {
  DLTensor t{};
  t.data = device();
  t.device = {static_cast<DLDeviceType>(device_.api->dlpack_type), device_.index};
  t.ndim = static_cast<int32_t>(shape.size());
  t.dtype = {static_cast<uint8_t>(dtype.code), dtype.bits, dtype.lanes};
  t.shape = shape.data();
  t.byte_offset = static_cast<uint64_t>(byte_offset);
  return t;
}

bool GuardedBuffer::guards_intact() const {
  auto poisoned = [](char c) { return c == kPoison; };
  return std::all_of(host_.begin(), host_.begin() + static_cast<std::ptrdiff_t>(offset_), poisoned) &&
         std::all_of(host_.begin() + static_cast<std::ptrdiff_t>(offset_ + bytes_), host_.end(), poisoned);
}

}  // namespace kiln::registry
