#include "backends/sim/matrix/tensor_memory.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "backends/sim/matrix/descriptor.h"
#include "backends/sim/matrix/mnemonic.h"

namespace kiln::sim {
namespace {

constexpr int kGrain = 32;  // columns

Error wrong(std::string what, std::string hint = "") { return {Code::kInvalidArgument, std::move(what), "", std::move(hint)}; }

int lane_of(uint32_t address) { return static_cast<int>(address >> 16); }
int column_of(uint32_t address) { return static_cast<int>(address & 0xFFFF); }

uint16_t grains(int first_column, int columns) {
  return static_cast<uint16_t>(((1u << (columns / kGrain)) - 1) << (first_column / kGrain));
}

struct Place {
  int lane, column;  // from the address
};

// Where logical word r of a lane of the warp is (PTX ISA 9.0, 9.7.16.2.3.1).
Place place(const TensorMove& f, int l, int r) {
  int g = l / 4, t = l % 4;
  switch (f.shape) {
    case TensorMove::Shape::k32x32b: return {l, r};
    case TensorMove::Shape::k16x64b: return {g + 8 * (l & 1), 2 * r + (l >> 1 & 1)};
    case TensorMove::Shape::k16x128b: return {g + 8 * (r & 1), r / 2 * 4 + t};
    case TensorMove::Shape::k16x256b: return {g + 8 * (r >> 1 & 1), r / 4 * 8 + 2 * t + (r & 1)};
    case TensorMove::Shape::k16x32bx2: return {l % 16, r + (l < 16 ? 0 : f.half_offset)};
  }
  return {};
}

int columns_of(const TensorMove& f) {
  int each[] = {1, 2, 4, 8, 1};
  return each[static_cast<int>(f.shape)] * f.count * (f.packed ? 2 : 1);
}

Status check_columns(const TensorMemory& memory, int first, int count) {
  if (first < 0 || first + count > kTensorColumns)
    return wrong("columns " + std::to_string(first) + " to " + std::to_string(first + count - 1) + " are not in tensor memory, which has " +
                 std::to_string(kTensorColumns));
  for (int c = first; c < first + count; ++c) {
    if (!memory.was_taken(static_cast<uint32_t>(c)))
      return wrong("column " + std::to_string(c) + " of tensor memory was not allocated", "tcgen05.alloc comes first");
  }
  return Ok{};
}

Status check(const TensorMove& f, const TensorMemory& memory, int warp, uint32_t address) {
  int lane = lane_of(address), quarter = lane / 32;
  bool whole = f.shape == TensorMove::Shape::k32x32b;
  bool fits = lane % 32 == 0 || (!whole && lane % 32 == 16);
  if (!fits || (quarter != 0 && quarter != warp))
    return wrong("warp " + std::to_string(warp) + " of its group reaches lanes " + std::to_string(32 * warp) + " to " +
                     std::to_string(32 * warp + 31) + " of tensor memory, and the address has lane " + std::to_string(lane),
                 "the address is the allocation's, or that plus 32 times the warp's rank, shifted by 16");
  if (Status s = check_columns(memory, column_of(address), columns_of(f)); !s) return s;
  if (f.shape != TensorMove::Shape::k16x32bx2) return Ok{};
  return check_columns(memory, column_of(address) + f.half_offset, columns_of(f));
}

// Calls use(word in memory, register in the lane) for all words; packed, a register is two words' low halves.
template <class Use>
void for_words(const TensorMove& f, TensorMemory& memory, int warp, uint32_t address, Use use) {
  int scale = f.packed ? 2 : 1, registers = f.registers();
  int first = 32 * warp + lane_of(address) % 32;
  for (int l = 0; l < kLanes; ++l) {
    for (int r = 0; r < registers; ++r) {
      Place p = place(f, l, r);
      int half = f.shape == TensorMove::Shape::k16x32bx2 && l >= 16 ? f.half_offset : 0;
      int column = column_of(address) + half + (p.column - half) * scale;
      use(&memory.word[first + p.lane][column], l, r);
    }
  }
}

void unpack(const std::byte* from, int bits, std::byte* to) {
  for (int i = 0; i < 16; ++i) {
    int bit = i * bits, byte = bit / 8;
    unsigned pair = std::to_integer<unsigned>(from[byte]) | std::to_integer<unsigned>(from[byte + 1]) << 8;
    to[i] = std::byte(pair >> bit % 8 & ((1u << bits) - 1));
  }
}

}  // namespace

Result<std::optional<uint32_t>> TensorMemory::allocate(int columns) {
  if (columns < kGrain || columns > kTensorColumns || !std::has_single_bit(static_cast<unsigned>(columns)))
    return wrong("tcgen05.alloc takes 32, 64, 128, 256 or 512 columns, and not " + std::to_string(columns));
  if (relinquished) return wrong("tcgen05.alloc after tcgen05.relinquish_alloc_permit");
  for (int first = 0; first + columns <= kTensorColumns; first += columns) {
    uint16_t wanted = grains(first, columns);
    if (taken & wanted) continue;
    taken |= wanted;
    ever_taken |= wanted;
    first_of |= static_cast<uint16_t>(1u << (first / kGrain));
    return std::optional<uint32_t>(static_cast<uint32_t>(first));
  }
  return std::optional<uint32_t>();
}

Status TensorMemory::free(uint32_t address, int columns) {
  int first = column_of(address);
  bool whole =
      lane_of(address) == 0 && first % kGrain == 0 && columns >= kGrain && columns % kGrain == 0 && first + columns <= kTensorColumns;
  if (whole) {
    uint16_t wanted = grains(first, columns), begin = static_cast<uint16_t>(1u << (first / kGrain));
    auto after = static_cast<uint16_t>(first + columns < kTensorColumns ? 1u << ((first + columns) / kGrain) : 0);
    whole = (taken & wanted) == wanted && (first_of & wanted) == begin && (!(taken & after) || (first_of & after));
    if (whole) {
      taken &= static_cast<uint16_t>(~wanted);
      first_of &= static_cast<uint16_t>(~begin);
      return Ok{};
    }
  }
  return wrong("tcgen05.dealloc of " + std::to_string(columns) + " columns at " + std::to_string(first) + ", which is no allocation");
}

int TensorMove::registers() const {
  int each[] = {1, 1, 2, 4, 1};
  return each[static_cast<int>(shape)] * count;
}

Result<TensorMove> parse_tensor_move(std::string_view mnemonic) {
  constexpr std::string_view kShapes[] = {"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"};
  Mnemonic words(mnemonic);
  TensorMove r;
  if (!words.take("tcgen05")) return words.error("expected a tcgen05.ld or tcgen05.st");
  r.store = words.take("st");
  if ((!r.store && !words.take("ld")) || !words.take("sync") || !words.take("aligned"))
    return words.error("expected tcgen05.ld or tcgen05.st, .sync.aligned");
  bool found = false;
  for (int i = 0; i < 5 && !found; ++i) {
    found = words.take(kShapes[i]);
    r.shape = static_cast<TensorMove::Shape>(i);
  }
  r.count = number(words.take_after("x"));
  r.packed = words.take(r.store ? "unpack::16b" : "pack::16b");
  words.take("b32");
  if (Status left = words.done(); !left) return left.error();
  if (!found || r.count < 1 || !std::has_single_bit(static_cast<unsigned>(r.count)) || r.registers() > 128)
    return words.error("there is no such move of tensor memory");
  return r;
}

Status tensor_load(const TensorMove& form, TensorMemory& memory, int warp, uint32_t address, const Lanes& r) {
  if (Status s = check(form, memory, warp, address); !s) return s;
  for_words(form, memory, warp, address, [&](const uint32_t* word, int l, int i) {
    uint32_t value = form.packed ? (word[0] & 0xFFFF) | word[1] << 16 : word[0];
    std::memcpy(r.at[l] + 4 * i, &value, 4);
  });
  return Ok{};
}

Status tensor_store(const TensorMove& form, TensorMemory& memory, int warp, uint32_t address, const Lanes& r) {
  if (Status s = check(form, memory, warp, address); !s) return s;
  for_words(form, memory, warp, address, [&](uint32_t* word, int l, int i) {
    uint32_t value;
    std::memcpy(&value, r.at[l] + 4 * i, 4);
    word[0] = form.packed ? value & 0xFFFF : value;
    if (form.packed) word[1] = value >> 16;
  });
  return Ok{};
}

Result<TensorCopy> parse_tensor_copy(std::string_view mnemonic) {
  struct Shape {
    std::string_view name;
    int lanes, bits;
  };
  constexpr Shape kShapes[] = {
      {"128x256b", 128, 256}, {"4x256b", 4, 256}, {"128x128b", 128, 128}, {"64x128b", 64, 128}, {"32x128b", 32, 128}};
  using Multicast = TensorCopy::Multicast;
  Mnemonic words(mnemonic);
  TensorCopy r;
  if (!words.take("tcgen05") || !words.take("cp")) return words.error("expected a tcgen05.cp");
  r.pair = words.take("cta_group::2");
  if (!r.pair && !words.take("cta_group::1")) return words.error("expected .cta_group::1 or ::2");
  for (const Shape& s : kShapes) {
    if (!r.lanes && words.take(s.name)) r.lanes = s.lanes, r.bits = s.bits;
  }
  r.multicast = words.take("warpx2::02_13")   ? Multicast::kWarpX2_02_13
                : words.take("warpx2::01_23") ? Multicast::kWarpX2_01_23
                : words.take("warpx4")        ? Multicast::kWarpX4
                                              : Multicast::kNone;
  if (words.take("b8x16")) r.packed = words.take("b6x16_p32") ? 6 : words.take("b4x16_p64") ? 4 : -1;
  if (Status left = words.done(); !left) return left.error();
  bool halves = r.multicast == Multicast::kWarpX2_02_13 || r.multicast == Multicast::kWarpX2_01_23;
  if (!r.lanes || r.packed < 0 || halves != (r.lanes == 64) || (r.multicast == Multicast::kWarpX4) != (r.lanes == 32))
    return words.error("there is no such tcgen05.cp");
  return r;
}

Status tensor_copy_reads(const TensorCopy& form, uint64_t descriptor, const std::function<void(uint32_t offset, int bytes)>& visit) {
  auto matrix = tcgen05_matrix(descriptor, true);
  if (!matrix) return matrix.error();
  visit_pieces({*matrix, Format::kE4M3, 8, 0, form.lanes, form.bits / 8}, visit);
  return Ok{};
}

Status tensor_copy(const TensorCopy& form, TensorMemory& memory, uint32_t address, uint64_t descriptor, std::span<const std::byte> shared) {
  auto matrix = tcgen05_matrix(descriptor, true);
  if (!matrix) return matrix.error();
  int column = column_of(address), lane = lane_of(address), bytes = form.bits / 8;
  if (Status s = check_columns(memory, column, bytes / 4); !s) return s;
  SharedTile row{*matrix, Format::kE4M3, 8, 0, 1, bytes};
  for (int i = 0; i < form.lanes; ++i) {
    std::byte loaded[32], unpacked[32];
    row.first = i;
    if (Status s = load_bytes(row, shared, loaded); !s) return s;
    if (form.packed) {
      for (int p = 0; p < bytes; p += 16) unpack(loaded + p, form.packed, unpacked + p);
    }
    int copies[4] = {form.lanes == 4 ? 32 * i : i, -1, -1, -1};
    switch (form.multicast) {
      case TensorCopy::Multicast::kNone: break;
      case TensorCopy::Multicast::kWarpX2_02_13: copies[1] = i + 64; break;
      case TensorCopy::Multicast::kWarpX2_01_23: copies[0] = i % 32 + i / 32 * 64, copies[1] = copies[0] + 32; break;
      case TensorCopy::Multicast::kWarpX4: copies[1] = i + 32, copies[2] = i + 64, copies[3] = i + 96; break;
    }
    for (int to : copies) {
      if (to < 0) continue;
      if (lane + to >= kTensorLanes) return wrong("tcgen05.cp to lane " + std::to_string(lane + to) + " of tensor memory");
      std::memcpy(&memory.word[lane + to][column], form.packed ? unpacked : loaded, static_cast<size_t>(bytes));
    }
  }
  return Ok{};
}

Status tensor_shift(TensorMemory& memory, uint32_t address) {
  int lane = lane_of(address), column = column_of(address);
  if (lane % 32 || lane >= kTensorLanes)
    return wrong("tcgen05.shift of lane " + std::to_string(lane) + ", which is no multiple of 32 below 128");
  if (Status s = check_columns(memory, column, 8); !s) return s;
  for (int i = 31; i > 0; --i) std::memcpy(&memory.word[lane + i][column], &memory.word[lane + i - 1][column], 32);
  return Ok{};
}

}  // namespace kiln::sim
