// Element formats of the matrix instructions, named as PTX spells them.
#pragma once

#include <cstdint>
#include <string_view>

namespace kiln::sim {

enum class Format : uint8_t {
  kNone,
  kF16,
  kBF16,
  kTF32,  // a float32 of which the low 13 bits are ignored
  kF32,
  kF64,
  kE4M3,
  kE5M2,
  kE3M2,
  kE2M3,
  kE2M1,
  kUE8M0,
  kUE4M3,
  kS8,
  kU8,
  kS4,
  kU4,
  kB1,
  kS32,
};

// Width in bits: 6 for e3m2 and e2m3, 4 for e2m1, s4 and u4.
int bits_of(Format f);
// "f16", "e4m3", ...; kNone is "".
std::string_view name_of(Format f);
// The format of that name, or kNone.
Format format_named(std::string_view name);
bool is_integer(Format f);  // s8, u8, s4, u4, b1 and s32

// Decodes `count` elements in consecutive bits from `from`, which b1 cannot.
// `bits`: width of the container of an element, when wider than the format itself; its upper bits are ignored.
// In containers of 8 bits, e2m1 is in bits 2 to 5 (PTX ISA 9.0, 9.7.14.5.12), the others are in the low bits.
void decode(Format f, int bits, const std::byte* from, int count, float* to);
void decode(Format f, const std::byte* from, int count, int32_t* to);

}  // namespace kiln::sim
