#include "backends/sim/matrix/descriptor.h"

#include <bit>
#include <cstring>
#include <type_traits>

#include "backends/sim/matrix/dense.h"

namespace kiln::sim {
namespace {

constexpr int kPiece = 16;

uint32_t field(uint64_t descriptor, int bit) { return static_cast<uint32_t>(descriptor >> bit & 0x3FFF) * 16; }

Error reserved(const char* what, unsigned value) {
  return {Code::kInvalidArgument, "a matrix descriptor has " + std::string(what) + " " + std::to_string(value) + ", which is reserved", "",
          "see the layout of descriptors in the PTX ISA"};
}

int pieces_of(const SharedTile& t) { return (t.matrix.k_major ? t.k : t.lines) * t.container / 8 / kPiece; }
int outers_of(const SharedTile& t) { return t.matrix.k_major ? t.lines : t.k; }

inline uint32_t offset_of(const SharedMatrix& m, int outer, int piece) {
  auto o = static_cast<uint32_t>(outer), p = static_cast<uint32_t>(piece);
  if (m.swizzle == 0) {  // eight times 16 bytes are together
    uint32_t group = o / 8, within = o % 8 * kPiece;
    return m.start + within + (m.k_major ? group * m.stride + p * m.leading : group * m.leading + p * m.stride);
  }
  auto width = static_cast<uint32_t>(m.swizzle), in_row = width / kPiece - 1;  // a power of two less one
  int row_bits = std::countr_zero(width / kPiece), atom_bits = m.pieces_of_32 && !m.k_major ? 2 : 3;
  uint32_t atom = o >> atom_bits, within = o & ((1u << atom_bits) - 1);
  uint32_t at = m.start + within * width + atom * m.stride + (p & in_row) * kPiece + (p >> row_bits) * m.leading;
  uint32_t row = (at >> 7) - m.base;
  return m.pieces_of_32 ? at ^ (row & 3) << 5 : at ^ (row & in_row) << 4;
}

template <class Visit>
void for_pieces(const SharedTile& t, Visit visit) {
  int pieces = pieces_of(t), outers = outers_of(t);
  int first_outer = t.matrix.k_major ? t.first : 0, first_piece = t.matrix.k_major ? 0 : t.first * t.container / 8 / kPiece;
  for (int i = 0; i < outers; ++i) {
    for (int p = 0; p < pieces; ++p) visit(offset_of(t.matrix, first_outer + i, first_piece + p));
  }
}

template <class T>
Status load(const SharedTile& t, std::span<const std::byte> shared, bool by_k, T* to) {
  std::byte packed[kMostTileBytes];
  if (Status s = load_bytes(t, shared, packed); !s) return s;
  int count = t.lines * t.k;
  T values[kMostTileBytes];  // an element has a byte or more, or is of 4 bits and has a tile half as large
  bool straight = by_k != t.matrix.k_major;
  T* decoded = straight ? to : values;
  if constexpr (std::is_same_v<T, float>) {
    if (bits_of(t.format) < 8 && t.container == 8) {  // 16 elements packed in each piece, then padding
      for (int i = 0; i < count; i += kPiece) decode(t.format, packed + i, kPiece, decoded + i);
    } else {
      decode(t.format, packed, count, decoded);
    }
  } else {
    decode(t.format, packed, count, decoded);
  }
  if (straight) return Ok{};
  int outer = outers_of(t), inner = count / outer;
  for (int i = 0; i < outer; i += 8) {
    for (int j = 0; j < inner; j += 8) {
      dense().transpose(reinterpret_cast<const uint32_t*>(values) + i * inner + j, inner, reinterpret_cast<uint32_t*>(to) + j * outer + i,
                        outer);
    }
  }
  return Ok{};
}

}  // namespace

Result<SharedMatrix> wgmma_matrix(uint64_t descriptor, bool k_major) {
  constexpr int kSwizzles[] = {0, 128, 64, 32};
  SharedMatrix m;
  m.start = field(descriptor, 0), m.leading = field(descriptor, 16), m.stride = field(descriptor, 32);
  m.base = static_cast<uint32_t>(descriptor >> 49 & 7);
  m.swizzle = kSwizzles[descriptor >> 62];
  m.k_major = k_major;
  return m;
}

Result<SharedMatrix> tcgen05_matrix(uint64_t descriptor, bool k_major) {
  constexpr int kSwizzles[] = {0, 128, 128, -1, 64, -1, 32, -1};
  SharedMatrix m;
  m.start = field(descriptor, 0), m.leading = field(descriptor, 16), m.stride = field(descriptor, 32);
  m.base = static_cast<uint32_t>(descriptor >> 49 & 7);
  auto mode = static_cast<unsigned>(descriptor >> 61);
  m.swizzle = kSwizzles[mode];
  m.pieces_of_32 = mode == 1;
  m.k_major = k_major;
  if (m.swizzle < 0) return reserved("swizzle", mode);
  if (auto version = static_cast<unsigned>(descriptor >> 46 & 7); version != 1) return reserved("version (bits 46 to 48)", version);
  if (descriptor >> 52 & 1) {
    return Error{Code::kUnsupported, "a matrix descriptor has an absolute leading address, which only K of 48 bytes takes", "", ""};
  }
  return m;
}

uint32_t piece_offset(const SharedMatrix& m, int outer, int piece) { return offset_of(m, outer, piece); }

void visit_pieces(const SharedTile& tile, const std::function<void(uint32_t offset, int bytes)>& visit) {
  for_pieces(tile, [&](uint32_t offset) { visit(offset, kPiece); });
}

Status load_bytes(const SharedTile& tile, std::span<const std::byte> shared, std::byte* to) {
  uint32_t outside = 0;
  for_pieces(tile, [&](uint32_t offset) {
    if (offset + kPiece > shared.size()) {
      if (outside) return;
      outside = offset + 1;
    } else {
      std::memcpy(to, shared.data() + offset, kPiece);
    }
    to += kPiece;
  });
  if (!outside) return Ok{};
  return Error{Code::kInvalidArgument,
               "a matrix descriptor reaches bytes " + std::to_string(outside - 1) + " to " + std::to_string(outside + kPiece - 2) +
                   " of shared memory, which has " + std::to_string(shared.size()),
               "", "look at its start, its leading and stride offsets and its swizzle"};
}

Status load_tile(const SharedTile& tile, std::span<const std::byte> shared, bool by_k, float* to) { return load(tile, shared, by_k, to); }
Status load_tile(const SharedTile& tile, std::span<const std::byte> shared, bool by_k, uint32_t* to) {
  return load(tile, shared, by_k, to);
}

}  // namespace kiln::sim
