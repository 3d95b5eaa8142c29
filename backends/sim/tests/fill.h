// Operands of the matrix instructions' tests: small integers, so that the order of sums does not matter.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace kiln::sim {

// A hash of place `i` (splitmix64).
inline uint32_t mix(uint64_t seed, uint64_t i) {
  uint64_t z = (seed << 32) + i * 0x9E3779B97F4A7C15ULL + 0x1234567;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return static_cast<uint32_t>((z ^ (z >> 31)) >> 32);
}

template <class T>
void put(void* to, size_t i, T value) {
  std::memcpy(static_cast<char*>(to) + i * sizeof(T), &value, sizeof(T));
}

// Bits of the integers -3 to 3 in a format.
inline uint32_t bits_of_small(std::string_view format, int value) {
  constexpr uint32_t kF16[4] = {0, 0x3C00, 0x4000, 0x4200}, kBF16[4] = {0, 0x3F80, 0x4000, 0x4040}, kE4M3[4] = {0, 0x38, 0x40, 0x44},
                     kE5M2[4] = {0, 0x3C, 0x40, 0x42}, kE3M2[4] = {0, 0x0C, 0x10, 0x12}, kE2M3[4] = {0, 0x08, 0x10, 0x14},
                     kE2M1[4] = {0, 2, 4, 5};
  int magnitude = value < 0 ? -value : value;
  bool negative = value < 0;
  if (format == "f16") return kF16[magnitude] | (negative ? 0x8000 : 0);
  if (format == "bf16") return kBF16[magnitude] | (negative ? 0x8000 : 0);
  if (format == "e4m3") return kE4M3[magnitude] | (negative ? 0x80 : 0);
  if (format == "e5m2") return kE5M2[magnitude] | (negative ? 0x80 : 0);
  if (format == "e3m2") return kE3M2[magnitude] | (negative ? 0x20 : 0);
  if (format == "e2m3") return kE2M3[magnitude] | (negative ? 0x20 : 0);
  return kE2M1[magnitude] | (negative ? 8 : 0);
}

inline int small_value(uint64_t seed, uint64_t i) { return static_cast<int>(mix(seed, i) % 7) - 3; }

// Integers and bits: any bytes. Metadata: positions in ascending order. Others: integers of -3 to 3.
inline void fill(std::string_view format, uint64_t seed, void* to, size_t bytes) {
  constexpr uint8_t kPairs[6] = {4, 8, 12, 9, 13, 14}, kHalves[2] = {4, 14};
  auto is = [&](std::string_view name) { return format == name; };
  if (is("s8") || is("u8") || is("s4") || is("u4") || is("b1")) {
    for (size_t i = 0; i < bytes; ++i) put(to, i, static_cast<uint8_t>(mix(seed, i)));
  } else if (is("metadata")) {
    for (size_t i = 0; i < bytes; ++i) {
      uint32_t h = mix(seed, i);
      put(to, i, static_cast<uint8_t>(kPairs[h % 6] | kPairs[(h >> 8) % 6] << 4));
    }
  } else if (is("metadata_tf32")) {
    for (size_t i = 0; i < bytes; ++i) {
      uint32_t h = mix(seed, i);
      put(to, i, static_cast<uint8_t>(kHalves[h & 1] | kHalves[h >> 8 & 1] << 4));
    }
  } else if (is("f64")) {
    for (size_t i = 0; 8 * i < bytes; ++i) put(to, i, static_cast<double>(small_value(seed, i)));
  } else if (is("f32") || is("tf32")) {
    for (size_t i = 0; 4 * i < bytes; ++i) put(to, i, static_cast<float>(small_value(seed, i)));
  } else if (is("s32")) {
    for (size_t i = 0; 4 * i < bytes; ++i) put(to, i, small_value(seed, i));
  } else if (is("f16") || is("bf16")) {
    for (size_t i = 0; 2 * i < bytes; ++i) put(to, i, static_cast<uint16_t>(bits_of_small(format, small_value(seed, i))));
  } else {
    for (size_t i = 0; i < bytes; ++i) put(to, i, static_cast<uint8_t>(bits_of_small(format, small_value(seed, i))));
  }
}

}  // namespace kiln::sim
