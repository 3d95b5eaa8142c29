#include "backends/sim/matrix/ldmatrix.h"

#include <cstring>

#include "backends/sim/matrix/mnemonic.h"

namespace kiln::sim {
namespace {

using Shape = MatrixMove::Shape;

constexpr int kRowBytes = 16;

// The elements of 6 or 4 bits of a row, a byte each in its low bits; the rest of the row is padding.
void unpack(const std::byte* row, int bits, std::byte* to) {
  for (int i = 0; i < 16; ++i) {
    int bit = i * bits, byte = bit / 8;
    unsigned pair = std::to_integer<unsigned>(row[byte]) | std::to_integer<unsigned>(row[byte + 1]) << 8;
    to[i] = std::byte(pair >> bit % 8 & ((1u << bits) - 1));
  }
}

using Halves8 = uint16_t __attribute__((vector_size(16)));
using Words4 = uint32_t __attribute__((vector_size(16)));

// Elements, then pairs, then fours change places.
void transpose(Halves8* r) {
  Halves8 s[8];
  for (int i = 0; i < 4; ++i) {
    s[2 * i] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 0, 8, 1, 9, 2, 10, 3, 11);
    s[2 * i + 1] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 4, 12, 5, 13, 6, 14, 7, 15);
  }
  for (int i = 0; i < 8; i += 4) {
    r[i] = __builtin_shufflevector(s[i], s[i + 2], 0, 1, 8, 9, 2, 3, 10, 11);
    r[i + 1] = __builtin_shufflevector(s[i], s[i + 2], 4, 5, 12, 13, 6, 7, 14, 15);
    r[i + 2] = __builtin_shufflevector(s[i + 1], s[i + 3], 0, 1, 8, 9, 2, 3, 10, 11);
    r[i + 3] = __builtin_shufflevector(s[i + 1], s[i + 3], 4, 5, 12, 13, 6, 7, 14, 15);
  }
  for (int i = 0; i < 4; ++i) {
    s[2 * i] = __builtin_shufflevector(r[i], r[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    s[2 * i + 1] = __builtin_shufflevector(r[i], r[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  std::memcpy(r, s, sizeof s);
}

// 8x8 of 16 bits. Straight, lane l has elements 2 t and 2 t + 1 of row g; transposed, element g of rows 2 t and 2 t + 1.
void load_8x8(const MatrixMove& form, const std::byte* const* rows, const Lanes& d) {
  Halves8 matrix[4][8];
  for (int i = 0; i < form.count; ++i) {
    for (int g = 0; g < 8; ++g) std::memcpy(&matrix[i][g], rows[8 * i + g], kRowBytes);
    if (form.trans) transpose(matrix[i]);
  }
  for (int g = 0; g < 8; ++g) {
    if (form.count < 4) {
      for (int i = 0; i < form.count; ++i) {
        for (int t = 0; t < 4; ++t) std::memcpy(d.at[4 * g + t] + 4 * i, reinterpret_cast<const std::byte*>(&matrix[i][g]) + 4 * t, 4);
      }
      continue;
    }
    Words4 r[4], to[4];
    for (int i = 0; i < 4; ++i) std::memcpy(&r[i], &matrix[i][g], kRowBytes);
    Words4 ab = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5), cd = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);
    to[0] = __builtin_shufflevector(ab, cd, 0, 1, 4, 5), to[1] = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    ab = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7), cd = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
    to[2] = __builtin_shufflevector(ab, cd, 0, 1, 4, 5), to[3] = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    for (int t = 0; t < 4; ++t) std::memcpy(d.at[4 * g + t], &to[t], 16);
  }
}
void store_8x8(std::byte* const* rows, bool trans, const Lanes& s, int r) {
  for (int l = 0; l < kLanes; ++l) {
    int g = l / 4, t = l % 4;
    const std::byte* pair = s.at[l] + 4 * r;
    std::memcpy(rows[trans ? 2 * t : g] + 2 * (trans ? g : 2 * t), pair, 2);
    std::memcpy(rows[trans ? 2 * t + 1 : g] + 2 * (trans ? g : 2 * t + 1), pair + 2, 2);
  }
}

// 16x16 of 8 bits, transposed: a lane's registers 0 and 1 have rows 4 t, 4 t + 1 and 4 t + 2, 4 t + 3, of columns g and g + 8.
void load_16x16(const std::byte* const* rows, int packed, const Lanes& d, int r) {
  std::byte matrix[16][kRowBytes];
  for (int i = 0; i < 16; ++i) {
    if (packed)
      unpack(rows[i], packed, matrix[i]);
    else
      std::memcpy(matrix[i], rows[i], kRowBytes);
  }
  for (int l = 0; l < kLanes; ++l) {
    for (int i = 0; i < 8; ++i) d.at[l][4 * r + i] = matrix[l % 4 * 4 + i / 4 * 2 + i % 2][l / 4 + i % 4 / 2 * 8];
  }
}

Result<MatrixMove> parse(std::string_view mnemonic, bool store) {
  Mnemonic words(mnemonic);
  MatrixMove r;
  r.store = store;
  if (!words.take(store ? "stmatrix" : "ldmatrix")) return words.error(store ? "expected an stmatrix" : "expected an ldmatrix");
  if (!words.take("sync") || !words.take("aligned")) return words.error("expected .sync.aligned");
  r.shape = words.take("m8n8")     ? Shape::kM8N8
            : words.take("m16n16") ? Shape::kM16N16
            : words.take("m8n16")  ? Shape::kM8N16
            : words.take("m16n8")  ? Shape::kM16N8
                                   : Shape(4);
  r.count = number(words.take_after("x"));
  r.trans = words.take("trans");
  words.take_shared();
  if (words.take("b8x16")) r.packed = words.take("b6x16_p32") ? 6 : words.take("b4x16_p64") ? 4 : -1;
  int bits = r.packed ? 8 : words.take("b16") ? 16 : words.take("b8") ? 8 : 0;
  if (Status left = words.done(); !left) return left.error();
  bool fits = r.count == 1 || r.count == 2 || (r.count == 4 && r.shape != Shape::kM16N16);
  switch (r.shape) {
    case Shape::kM8N8: fits &= bits == 16; break;
    case Shape::kM16N16: fits &= bits == 8 && r.trans && !store && r.packed >= 0; break;
    case Shape::kM8N16: fits &= r.packed > 0 && !r.trans && !store; break;
    case Shape::kM16N8: fits &= bits == 8 && r.trans && store && r.packed == 0; break;
    default: fits = false;
  }
  if (!fits) return words.error(store ? "there is no such stmatrix" : "there is no such ldmatrix");
  return r;
}

}  // namespace

int MatrixMove::rows() const { return (shape == Shape::kM16N16 ? 16 : 8) * count; }
int MatrixMove::registers() const { return (shape == Shape::kM16N16 ? 2 : 1) * count; }

Result<MatrixMove> parse_ldmatrix(std::string_view mnemonic) { return parse(mnemonic, false); }
Result<MatrixMove> parse_stmatrix(std::string_view mnemonic) { return parse(mnemonic, true); }

void ldmatrix(const MatrixMove& form, const Lanes& d, const Lanes& rows) {
  if (form.shape == Shape::kM8N8) return load_8x8(form, rows.at, d);
  for (int i = 0; i < form.count; ++i) {
    if (form.shape == Shape::kM16N16) {
      load_16x16(rows.at + 16 * i, form.packed, d, 2 * i);
    } else {
      for (int g = 0; g < 8; ++g) {
        std::byte row[16];
        unpack(rows.at[8 * i + g], form.packed, row);
        for (int t = 0; t < 4; ++t) std::memcpy(d.at[4 * g + t] + 4 * i, row + 4 * t, 4);
      }
    }
  }
}

void stmatrix(const MatrixMove& form, const Lanes& rows, const Lanes& r) {
  for (int i = 0; i < form.count; ++i) {
    if (form.shape == Shape::kM8N8) {
      store_8x8(rows.at + 8 * i, form.trans, r, i);
    } else {  // byte j of a register is of row 2 t + j % 2, column g + 8 * (j / 2)
      for (int l = 0; l < kLanes; ++l) {
        for (int j = 0; j < 4; ++j) rows.at[8 * i + l % 4 * 2 + j % 2][l / 4 + j / 2 * 8] = r.at[l][4 * i + j];
      }
    }
  }
}

}  // namespace kiln::sim
