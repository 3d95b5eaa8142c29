// Bump allocator that owns a module's nodes, lists and strings. Nothing in it is destroyed one by one.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace kiln {

class Arena {
 public:
  Arena() = default;
  Arena(Arena&&) noexcept = default;
  Arena& operator=(Arena&&) noexcept = default;

  void* allocate(size_t size, size_t align) {
    size_t at = (used_ + align - 1) & ~(align - 1);
    if (at + size > capacity_) {
      grow(size + align);
      at = (used_ + align - 1) & ~(align - 1);
    }
    used_ = at + size;
    return block_ + at;
  }

  // Destructors never run, hence the constraint.
  template <class T>
  T* make(T value) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (allocate(sizeof(T), alignof(T))) T(value);
  }

  template <class T>
  std::span<const T> list(std::span<const T> items) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (items.empty()) return {};
    auto* data = static_cast<T*>(allocate(items.size_bytes(), alignof(T)));
    std::memcpy(static_cast<void*>(data), items.data(), items.size_bytes());
    return {data, items.size()};
  }
  template <class T>
  std::span<const T> list(const std::vector<T>& items) {
    return list(std::span<const T>(items));
  }

  std::string_view string(std::string_view text) {
    if (text.empty()) return {};
    auto* data = static_cast<char*>(allocate(text.size(), 1));
    std::memcpy(data, text.data(), text.size());
    return {data, text.size()};
  }

  // Bytes taken from the system.
  size_t reserved() const { return total_; }

 private:
  void grow(size_t need) {
    // Doubling keeps the number of blocks small; the cap keeps the unused tail small.
    size_t size = next_ < need ? need : next_;
    if (next_ < kMaxBlock) next_ *= 2;
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
    block_ = blocks_.back().get();
    capacity_ = size;
    used_ = 0;
    total_ += size;
  }

  static constexpr size_t kMaxBlock = size_t{1} << 20;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::byte* block_ = nullptr;
  size_t used_ = 0, capacity_ = 0, next_ = 4096, total_ = 0;
};

}  // namespace kiln
