// What an mma computes.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "backends/sim/matrix/dense.h"
#include "backends/sim/matrix/fragment.h"
#include "backends/sim/matrix/mma.h"

namespace kiln::sim {
namespace {

constexpr int kMostK = 128;         // of numbers; bits are not spread
constexpr int kMostWords = 16 * 8;  // of a or b, packed

template <class T>
struct Operands {
  T a[16 * kMostK];
  T b[kMostK * 8];  // row-major
};

template <class T>
void decode_operand(const Mma& form, Format f, const uint32_t* words, int count, T* to) {
  auto* from = reinterpret_cast<const std::byte*>(words);
  if constexpr (std::is_same_v<T, float>) {
    // The 4 bits of e2m1 are in the middle of a container (PTX ISA 9.0, 9.7.14.5.12); others are in its low bits.
    if (form.containers) return decode_bytes(f, f == Format::kE2M1 ? 2 : 0, from, count, to);
  }
  decode(f, from, count, to);
}

Sparsity sparsity(const Mma& form, const Lanes& metadata, int selector) {
  int unit_bits = form.a == Format::kTF32 ? 16 : form.bits() == 4 ? 8 : form.bits();
  return {&metadata, selector, form.k / 2 * form.bits() / unit_bits * 2, form.bits() <= 8};
}

template <class T>
void load(const Mma& form, const Lanes& a, const Lanes& b, const Lanes* metadata, int selector, Operands<T>& to) {
  uint32_t words[kMostWords];
  int stored = form.sparse ? form.k / 2 : form.k;
  gather_a(a, form.m, form.registers_a(), words);
  if (form.sparse) {
    T rows[16 * kMostK / 2];
    decode_operand(form, form.a, words, form.m * stored, rows);
    spread(sparsity(form, *metadata, selector), form.a, rows, stored, to.a);
  } else {
    decode_operand(form, form.a, words, form.m * stored, to.a);
  }
  T columns[8 * kMostK];
  gather_b(b, form.registers_b(), words);
  decode_operand(form, form.b, words, form.n * form.k, columns);
  if (form.k == 4) {
    for (int i = 0; i < 32; ++i) to.b[i % 4 * 8 + i / 4] = columns[i];
    return;
  }
  for (int k = 0; k < form.k; k += 8) {
    dense().transpose(reinterpret_cast<const uint32_t*>(columns) + k, form.k, reinterpret_cast<uint32_t*>(to.b) + k * 8, 8);
  }
}

void load_sums(Format f, const Lanes& c, int m, float* sums) {
  if (f == Format::kF32) return gather_sums(c, m, 8, 4, sums);
  uint16_t halves[16 * 8];
  gather_sums(c, m, 8, 2, halves);
  dense().decode_f16(halves, sums, m * 8);
}
void store_sums(Format f, const float* sums, int m, const Lanes& d) {
  if (f == Format::kF32) return scatter_sums(sums, m, 8, 4, d);
  uint16_t halves[16 * 8];
  dense().encode_f16(sums, halves, m * 8);
  scatter_sums(halves, m, 8, 2, d);
}

void floats(const Mma& form, const Operands<float>& in, const Lanes& d, const Lanes& c) {
  bool whole = form.m == 16 && form.c == Format::kF32 && form.d == Format::kF32;
  if (whole) return dense().multiply_16x8(d.at, c.at, in.a, in.b, form.k);
  float sums[16 * 8];
  load_sums(form.c, c, form.m, sums);
  dense().multiply(sums, 8, in.a, form.k, in.b, 8, form.m, 8, form.k);
  store_sums(form.d, sums, form.m, d);
}

// d = sums + c, where the sums of products have not wrapped around.
void finish_integers(const Mma& form, const uint32_t* sums, const Lanes& d, const Lanes& c) {
  int32_t out[16 * 8];
  gather_sums(c, form.m, 8, 4, out);
  for (int i = 0; i < form.m * 8; ++i) {
    int64_t sum = int64_t{out[i]} + static_cast<int32_t>(sums[i]);
    if (form.saturate) sum = std::clamp<int64_t>(sum, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
    out[i] = static_cast<int32_t>(static_cast<uint32_t>(sum));
  }
  scatter_sums(out, form.m, 8, 4, d);
}

void integers(const Mma& form, const Operands<uint32_t>& in, const Lanes& d, const Lanes& c) {
  uint32_t sums[16 * 8] = {};
  dense().multiply_int(sums, 8, in.a, form.k, in.b, 8, form.m, 8, form.k);
  finish_integers(form, sums, d, c);
}

void bits(const Mma& form, const Lanes& d, const Lanes& a, const Lanes& b, const Lanes& c) {
  uint32_t rows[kMostWords], columns[kMostWords], sums[16 * 8];
  gather_a(a, form.m, form.registers_a(), rows);
  gather_b(b, form.registers_b(), columns);
  int words = form.k / 32;
  for (int i = 0; i < form.m; ++i) {
    for (int j = 0; j < 8; ++j) {
      uint32_t sum = 0;
      for (int k = 0; k < words; ++k) {
        uint32_t x = rows[i * words + k], y = columns[j * words + k];
        sum += static_cast<uint32_t>(std::popcount(form.bit_and ? x & y : x ^ y));
      }
      sums[i * 8 + j] = sum;
    }
  }
  finish_integers(form, sums, d, c);
}

void doubles(const Mma& form, const Lanes& d, const Lanes& a, const Lanes& b, const Lanes& c) {
  double rows[16][16], lines[16][8], sums[16][8];
  bool pairs = form.m == 16;
  int count_a = form.registers_a(), count_b = form.registers_b();
  for (int l = 0; l < kLanes; ++l) {
    int g = l / 4, t = l % 4;
    for (int r = 0; r < count_a; ++r) std::memcpy(&rows[g + (pairs ? r % 2 * 8 : 0)][(pairs ? r / 2 : r) * 4 + t], a.at[l] + 8 * r, 8);
    for (int r = 0; r < count_b; ++r) std::memcpy(&lines[4 * r + t][g], b.at[l] + 8 * r, 8);
  }
  gather_sums(c, form.m, 8, 8, sums);
  dense().multiply_double(sums[0], rows[0], 16, lines[0], form.m, form.k);
  scatter_sums(sums, form.m, 8, 8, d);
}

// Where lane l of a quad pair (lanes 4 q to 4 q + 3 and 16 on) keeps element i of a row of 4, and of the sums: PTX ISA 9.0, 9.7.14.5.1.
struct Place {
  int row, column;
};
Place quad_place_f32(int l, int i) { return {(l & 1) + (i & 2) + (l < 16 ? 0 : 4), (i & 4) + (l & 2) + (i & 1)}; }
Place quad_place_f16(int l, int i) { return {l % 4 + (l < 16 ? 0 : 4), i}; }

// m8n8k4 of f16: four products, each of eight lanes.
void quads(const Mma& form, const Lanes& d, const Lanes& a, const Lanes& b, const Lanes& c) {
  float rows[4][8][4], columns[4][8][4], sums[4][8][8];
  for (int l = 0; l < kLanes; ++l) {
    int q = l / 4 % 4, t = l % 4, half = l < 16 ? 0 : 4;
    std::byte in[16] = {};
    float values[16];
    std::memcpy(in, a.at[l], 8);
    std::memcpy(in + 8, b.at[l], 8);
    dense().decode_f16(in, values, 8);
    for (int i = 0; i < 4; ++i) {
      (form.row_a ? rows[q][t + half][i] : rows[q][i + half][t]) = values[i];
      (form.row_b ? columns[q][i + half][t] : columns[q][t + half][i]) = values[4 + i];
    }
    bool half_sums = form.c == Format::kF16;
    if (half_sums)
      dense().decode_f16(c.at[l], values, 8);
    else
      std::memcpy(values, c.at[l], 32);
    for (int i = 0; i < 8; ++i) {
      Place p = half_sums ? quad_place_f16(l, i) : quad_place_f32(l, i);
      sums[q][p.row][p.column] = values[i];
    }
  }
  for (int q = 0; q < 4; ++q) {
    for (int i = 0; i < 8; ++i) {
      for (int j = 0; j < 8; ++j) {
        for (int k = 0; k < 4; ++k) sums[q][i][j] += rows[q][i][k] * columns[q][j][k];
      }
    }
  }
  for (int l = 0; l < kLanes; ++l) {
    float values[8];
    for (int i = 0; i < 8; ++i) {
      Place p = form.d == Format::kF16 ? quad_place_f16(l, i) : quad_place_f32(l, i);
      values[i] = sums[l / 4 % 4][p.row][p.column];
    }
    if (form.d == Format::kF16)
      dense().encode_f16(values, d.at[l], 8);
    else
      std::memcpy(d.at[l], values, 32);
  }
}

Error out_of_range(const char* what, int value, int count) {
  return {Code::kInvalidArgument, std::string(what) + " is to be 0 to " + std::to_string(count - 1) + ", and is " + std::to_string(value),
          "", ""};
}

void run(const Mma& form, const Lanes& d, const Lanes& a, const Lanes& b, const Lanes& c, const Lanes* metadata, int selector) {
  if (is_integer(form.a)) {
    Operands<uint32_t> in;
    load(form, a, b, metadata, selector, in);
    integers(form, in, d, c);
  } else {
    Operands<float> in;
    load(form, a, b, metadata, selector, in);
    floats(form, in, d, c);
  }
}

uint8_t scale_byte(const Lanes& scales, int lane, int byte) { return std::to_integer<uint8_t>(scales.at[lane][byte]); }

}  // namespace

void mma(const Mma& form, const Lanes& d, const Lanes& a, const Lanes& b, const Lanes& c) {
  if (form.a == Format::kB1) return bits(form, d, a, b, c);
  if (form.a == Format::kF64) return doubles(form, d, a, b, c);
  if (form.m == 8 && form.a == Format::kF16) return quads(form, d, a, b, c);
  run(form, d, a, b, c, nullptr, 0);
}

Status mma_sparse(const Mma& form, const Lanes& d, const Lanes& a, const Lanes& b, const Lanes& c, const Lanes& metadata, int selector) {
  int selectors = 64 / sparsity(form, metadata, 0).bits_per_row;
  if (selector < 0 || selector >= selectors) return out_of_range("the sparsity selector", selector, selectors);
  run(form, d, a, b, c, &metadata, selector);
  return Ok{};
}

Status mma_scaled(const Mma& form, const Lanes& d, const Lanes& a, const Lanes& b, const Lanes& c, const Lanes& scale_a,
                  ScaleSelector select_a, const Lanes& scale_b, ScaleSelector select_b) {
  for (int byte : {select_a.byte, select_b.byte}) {
    if (byte < 0 || byte > 3 || byte % form.scales) return out_of_range("the byte of the scales", byte, 5 - form.scales);
  }
  if (select_a.thread < 0 || select_a.thread > 1) return out_of_range("the thread with the scales of a", select_a.thread, 2);
  if (select_b.thread < 0 || select_b.thread > 3) return out_of_range("the thread with the scales of b", select_b.thread, 4);
  Operands<float> in;
  load(form, a, b, nullptr, 0, in);
  int run_length = form.k / form.scales;
  for (int s = 0; s < form.scales; ++s) {
    for (int i = 0; i < 16; ++i) {  // rows g and g + 8 are with the even and the odd lane of the pair
      std::byte bits{scale_byte(scale_a, i % 8 * 4 + 2 * select_a.thread + i / 8, select_a.byte + s)};
      float scale;
      decode_bytes(form.scale, 0, &bits, 1, &scale);
      for (int k = s * run_length; k < (s + 1) * run_length; ++k) in.a[i * form.k + k] *= scale;
    }
    for (int j = 0; j < 8; ++j) {
      std::byte bits{scale_byte(scale_b, j * 4 + select_b.thread, select_b.byte + s)};
      float scale;
      decode_bytes(form.scale, 0, &bits, 1, &scale);
      for (int k = s * run_length; k < (s + 1) * run_length; ++k) in.b[k * 8 + j] *= scale;
    }
  }
  floats(form, in, d, c);
  return Ok{};
}

}  // namespace kiln::sim
