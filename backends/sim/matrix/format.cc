#include "backends/sim/matrix/format.h"

#include <array>
#include <cstring>

#include "backends/sim/matrix/dense.h"
#include "base/small_float.h"

namespace kiln::sim {
namespace {

struct Row {
  Format format;
  std::string_view name;
  int bits;
};
constexpr Row kFormats[] = {
    // in the order of the enumeration
    {Format::kNone, "", 0},       {Format::kF16, "f16", 16},  {Format::kBF16, "bf16", 16}, {Format::kTF32, "tf32", 32},
    {Format::kF32, "f32", 32},    {Format::kF64, "f64", 64},  {Format::kE4M3, "e4m3", 8},  {Format::kE5M2, "e5m2", 8},
    {Format::kE3M2, "e3m2", 6},   {Format::kE2M3, "e2m3", 6}, {Format::kE2M1, "e2m1", 4},  {Format::kUE8M0, "ue8m0", 8},
    {Format::kUE4M3, "ue4m3", 8}, {Format::kS8, "s8", 8},     {Format::kU8, "u8", 8},      {Format::kS4, "s4", 4},
    {Format::kU4, "u4", 4},       {Format::kB1, "b1", 1},     {Format::kS32, "s32", 32},
};

using Table = std::array<float, 256>;

// The values of a format of 8 bits or fewer, by all bits of a byte.
const Table& table_of(Format f) {
  auto make = [](ir::TypeCode code, uint8_t bits, unsigned mask) {
    Table t;
    for (unsigned i = 0; i < 256; ++i) t[i] = static_cast<float>(decode_float(ir::DataType{code, bits, 1}, i & mask));
    return t;
  };
  using ir::TypeCode;
  static const Table e4m3 = make(TypeCode::kFloat8E4M3FN, 8, 0xFF), e5m2 = make(TypeCode::kFloat8E5M2, 8, 0xFF),
                     e3m2 = make(TypeCode::kFloat6E3M2FN, 6, 0x3F), e2m3 = make(TypeCode::kFloat6E2M3FN, 6, 0x3F),
                     e2m1 = make(TypeCode::kFloat4E2M1FN, 4, 0xF), ue8m0 = make(TypeCode::kFloat8E8M0FNU, 8, 0xFF),
                     ue4m3 = make(TypeCode::kFloat8E4M3FN, 8, 0x7F);
  return f == Format::kE4M3    ? e4m3
         : f == Format::kE5M2  ? e5m2
         : f == Format::kE3M2  ? e3m2
         : f == Format::kE2M3  ? e2m3
         : f == Format::kE2M1  ? e2m1
         : f == Format::kUE8M0 ? ue8m0
                               : ue4m3;
}

unsigned byte_at(const std::byte* from, int i) { return std::to_integer<unsigned>(from[i]); }

uint32_t word_at(const std::byte* from, int i) {
  uint32_t word;
  std::memcpy(&word, from + 4 * i, 4);
  return word;
}

}  // namespace

int bits_of(Format f) { return kFormats[static_cast<int>(f)].bits; }
std::string_view name_of(Format f) { return kFormats[static_cast<int>(f)].name; }

Format format_named(std::string_view name) {
  for (const Row& row : kFormats) {
    if (row.name == name) return row.format;
  }
  return Format::kNone;
}

bool is_integer(Format f) { return f >= Format::kS8; }

void decode(Format f, const std::byte* from, int count, float* to) {
  switch (f) {
    case Format::kF16: dense().decode_f16(from, to, count); return;
    case Format::kBF16: dense().decode_bf16(from, to, count); return;
    case Format::kTF32:
    case Format::kF32:
      for (int i = 0; i < count; ++i) {
        uint32_t word = word_at(from, i) & (f == Format::kTF32 ? 0xFFFFE000 : 0xFFFFFFFF);
        std::memcpy(to + i, &word, 4);
      }
      return;
    case Format::kE3M2:
    case Format::kE2M3: {
      const Table& table = table_of(f);
      for (int i = 0; i < count; ++i) {
        int bit = 6 * i, byte = bit / 8, rest = bit % 8;
        unsigned pair = byte_at(from, byte) | (rest > 2 ? byte_at(from, byte + 1) << 8 : 0);
        to[i] = table[pair >> rest & 0x3F];
      }
      return;
    }
    case Format::kE2M1: {
      const Table& table = table_of(f);
      for (int i = 0; i < count; ++i) to[i] = table[byte_at(from, i / 2) >> (i % 2 * 4) & 0xF];
      return;
    }
    default: decode_bytes(f, 0, from, count, to);
  }
}

void decode_bytes(Format f, int shift, const std::byte* from, int count, float* to) {
  const Table& table = table_of(f);
  for (int i = 0; i < count; ++i) to[i] = table[byte_at(from, i) >> shift];
}

void decode(Format f, const std::byte* from, int count, uint32_t* to) {
  if (f == Format::kS8) return dense().decode_s8(from, to, count);
  if (f == Format::kU8) return dense().decode_u8(from, to, count);
  for (int i = 0; i < count; ++i) {
    if (f == Format::kB1) {
      to[i] = byte_at(from, i / 8) >> (i % 8) & 1;
    } else {
      unsigned nibble = byte_at(from, i / 2) >> (i % 2 * 4) & 0xF;
      to[i] = f == Format::kS4 && nibble >= 8 ? nibble - 16 : nibble;
    }
  }
}

}  // namespace kiln::sim
