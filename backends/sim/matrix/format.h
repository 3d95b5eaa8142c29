// Element formats of the matrix instructions, named as PTX spells them.
#pragma once

#include <cstddef>
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

// Decodes `count` elements that lie packed from `from` on, low bits first: floating formats of up to 32 bits, and
// integers of up to 8 bits (b1 to 0 and 1; negative ones modulo 2^32). `count` is a multiple of 8.
void decode(Format f, const std::byte* from, int count, float* to);
void decode(Format f, const std::byte* from, int count, uint32_t* to);
// Decodes elements of 8 bits or fewer from a byte each, where they begin at bit `shift`; higher bits are ignored.
void decode_bytes(Format f, int shift, const std::byte* from, int count, float* to);

}  // namespace kiln::sim
