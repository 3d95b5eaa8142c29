#include "backends/sim/matrix/wgmma.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "backends/sim/matrix/dense.h"
#include "backends/sim/matrix/fragment.h"
#include "backends/sim/matrix/mnemonic.h"

namespace kiln::sim {
namespace {

constexpr int kRows = 16;     // of a warp
constexpr int kColumns = 32;  // done at a time
constexpr int kMostK = 64;

struct Form {
  Format operand;
  int k;
  std::string_view accumulators;
};
// PTX ISA 9.0, 9.7.15.5.2.
constexpr Form kForms[] = {
    {Format::kF16, 16, "f16 f32"},  {Format::kBF16, 16, "f32"}, {Format::kTF32, 8, "f32"}, {Format::kE4M3, 32, "f16 f32"},
    {Format::kE5M2, 32, "f16 f32"}, {Format::kS8, 32, "s32"},   {Format::kU8, 32, "s32"},  {Format::kB1, 256, "s32"},
};

bool exists(const Wgmma& r, int m) {
  const Form* forms[2] = {};
  for (const Form& f : kForms) {
    if (f.operand == r.a) forms[0] = &f;
    if (f.operand == r.b) forms[1] = &f;
  }
  if (!forms[0] || !forms[1] || forms[0]->k != forms[1]->k || is_integer(r.a) != is_integer(r.b)) return false;
  bool floats = r.d != Format::kS32;
  bool n_fits = r.n >= 8 && r.n <= 256 && r.n % (floats || r.n <= 32 ? 8 : 16) == 0;
  return m == 64 && n_fits && r.k == forms[0]->k * (r.sparse ? 2 : 1) && (r.a == r.b || bits_of(r.a) == 8) && r.d != Format::kNone &&
         forms[0]->accumulators.find(name_of(r.d)) != std::string_view::npos && !(r.sparse && r.a == Format::kB1) &&
         (!r.saturate || bits_of(r.a) == 8);
}

// One warp's share: rows 16 * warp on of a, all columns.
struct Call {
  const Wgmma& form;
  int warp;
  const Lanes& d;
  const Lanes* a_lanes;  // or null, and a descriptor
  uint64_t a, b;
  std::span<const std::byte> shared;
  bool keep;
  const Lanes* metadata;

  int stored_k() const { return form.sparse ? form.k / 2 : form.k; }
};

Result<SharedTile> tile_a(const Wgmma& f, int warp, uint64_t descriptor) {
  auto m = wgmma_matrix(descriptor, !f.transpose_a);
  if (!m) return m.error();
  return SharedTile{*m, f.a, bits_of(f.a), kRows * warp, kRows, f.sparse ? f.k / 2 : f.k};
}
Result<SharedTile> tile_b(const Wgmma& f, uint64_t descriptor) {
  auto m = wgmma_matrix(descriptor, !f.transpose_b);
  if (!m) return m.error();
  return SharedTile{*m, f.b, bits_of(f.b), 0, f.n, f.k};
}

Sparsity sparsity(const Call& c) {
  int unit_bits = c.form.a == Format::kTF32 ? 16 : bits_of(c.form.a);
  return {c.metadata, c.form.selector, c.form.k / 2 * bits_of(c.form.a) / unit_bits * 2, bits_of(c.form.a) == 8};
}

template <class T>
Status load_a(const Call& c, T* rows) {
  T stored[kRows * kMostK / 2];
  T* to = c.form.sparse ? stored : rows;
  if (c.a_lanes) {
    uint32_t words[kRows * 8];
    gather_a(*c.a_lanes, kRows, 4, words);
    decode(c.form.a, reinterpret_cast<const std::byte*>(words), kRows * c.stored_k(), to);
  } else {
    auto tile = tile_a(c.form, c.warp, c.a);
    if (!tile) return tile.error();
    if (Status s = load_tile(*tile, c.shared, false, to); !s) return s;
  }
  if (c.form.sparse) spread(sparsity(c), c.form.a, stored, c.stored_k(), rows);
  return Ok{};
}

Lanes columns_from(const Lanes& d, std::ptrdiff_t bytes) {
  Lanes moved = d;
  for (std::byte*& at : moved.at) at += bytes;
  return moved;
}

// Rows g and g + 8 side by side, each twice, as Dense::multiply_fragments takes them.
void pair_rows(const float* a, int k, float* pairs) {
  for (int g = 0; g < 8; ++g) {
    for (int l = 0; l < k; ++l) {
      float* to = pairs + 4 * (g * k + l);
      to[0] = to[1] = a[g * k + l];
      to[2] = to[3] = a[(g + 8) * k + l];
    }
  }
}

// All columns of float32 in whole blocks of 32, in place.
Status whole_blocks(const Call& c, SharedTile& tile, const float* a, int& n) {
  float pairs[kRows / 2 * kMostK * 4], b[kMostK * kColumns];
  pair_rows(a, c.form.k, pairs);
  tile.lines = kColumns;
  for (; n + kColumns <= c.form.n; n += kColumns) {
    tile.first = n;
    if (Status s = load_tile(tile, c.shared, true, b); !s) return s;
    float* sums[kLanes];
    for (int l = 0; l < kLanes; ++l) sums[l] = reinterpret_cast<float*>(c.d.at[l] + 2 * n);
    dense().multiply_fragments(sums, pairs, b, c.form.k, c.keep);
  }
  return Ok{};
}

Status floats(const Call& c) {
  float a[kRows * kMostK], b[kMostK * kColumns], sums[kRows * kColumns];
  if (Status s = load_a(c, a); !s) return s;
  if (c.form.negate_a != c.form.negate_b) {
    for (int i = 0; i < kRows * c.form.k; ++i) a[i] = -a[i];
  }
  auto tile = tile_b(c.form, c.b);
  if (!tile) return tile.error();
  bool half = c.form.d == Format::kF16;
  uint16_t halves[kRows * kColumns];
  int n = 0;
  if (!half) {
    if (Status s = whole_blocks(c, *tile, a, n); !s) return s;
  }
  for (; n < c.form.n; n += kColumns) {
    int columns = std::min(kColumns, c.form.n - n), count = kRows * columns;
    tile->first = n, tile->lines = columns;
    if (Status s = load_tile(*tile, c.shared, true, b); !s) return s;
    Lanes d = columns_from(c.d, n / 8 * (half ? 8 : 16));
    if (!c.keep) {
      std::fill_n(sums, count, 0.0F);
    } else if (half) {
      gather_sums(d, kRows, columns, 2, halves);
      dense().decode_f16(halves, sums, count);
    } else {
      gather_sums(d, kRows, columns, 4, sums);
    }
    dense().multiply(sums, columns, a, c.form.k, b, columns, kRows, columns, c.form.k);
    if (half) {
      dense().encode_f16(sums, halves, count);
      scatter_sums(halves, kRows, columns, 2, d);
    } else {
      scatter_sums(sums, kRows, columns, 4, d);
    }
  }
  return Ok{};
}

void finish_integers(const Call& c, const uint32_t* sums, int columns, const Lanes& d) {
  int32_t out[kRows * kColumns] = {};
  if (c.keep) gather_sums(d, kRows, columns, 4, out);
  for (int i = 0; i < kRows * columns; ++i) {
    int64_t sum = int64_t{out[i]} + static_cast<int32_t>(sums[i]);
    if (c.form.saturate) sum = std::clamp<int64_t>(sum, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
    out[i] = static_cast<int32_t>(static_cast<uint32_t>(sum));
  }
  scatter_sums(out, kRows, columns, 4, d);
}

Status integers(const Call& c) {
  uint32_t a[kRows * kMostK], b[kMostK * kColumns], sums[kRows * kColumns];
  if (Status s = load_a(c, a); !s) return s;
  auto tile = tile_b(c.form, c.b);
  if (!tile) return tile.error();
  for (int n = 0; n < c.form.n; n += kColumns) {
    int columns = std::min(kColumns, c.form.n - n);
    tile->first = n, tile->lines = columns;
    if (Status s = load_tile(*tile, c.shared, true, b); !s) return s;
    std::fill_n(sums, kRows * columns, 0U);
    dense().multiply_int(sums, columns, a, c.form.k, b, columns, kRows, columns, c.form.k);
    finish_integers(c, sums, columns, columns_from(c.d, n / 8 * 16));
  }
  return Ok{};
}

Status bits(const Call& c) {
  uint32_t a[kRows * 8], b[kColumns * 8], sums[kRows * kColumns];
  if (c.a_lanes) {
    gather_a(*c.a_lanes, kRows, 4, a);
  } else {
    auto tile = tile_a(c.form, c.warp, c.a);
    if (!tile) return tile.error();
    if (Status s = load_bytes(*tile, c.shared, reinterpret_cast<std::byte*>(a)); !s) return s;
  }
  auto tile = tile_b(c.form, c.b);
  if (!tile) return tile.error();
  for (int n = 0; n < c.form.n; n += kColumns) {
    int columns = std::min(kColumns, c.form.n - n);
    tile->first = n, tile->lines = columns;
    if (Status s = load_bytes(*tile, c.shared, reinterpret_cast<std::byte*>(b)); !s) return s;
    for (int i = 0; i < kRows; ++i) {
      for (int j = 0; j < columns; ++j) {
        int sum = 0;
        for (int k = 0; k < 8; ++k) sum += std::popcount(a[i * 8 + k] & b[j * 8 + k]);
        sums[i * columns + j] = static_cast<uint32_t>(sum);
      }
    }
    finish_integers(c, sums, columns, columns_from(c.d, n / 8 * 16));
  }
  return Ok{};
}

Status run(const Call& c) {
  const Wgmma& f = c.form;
  auto wrong = [](std::string what) { return Error{Code::kInvalidArgument, std::move(what), "", ""}; };
  if ((f.transpose_a || f.transpose_b) && bits_of(f.a) != 16)
    return wrong("wgmma of " + std::string(name_of(f.a)) + " takes operands with K innermost only");
  if (f.sparse && !c.metadata) return wrong("wgmma.sp has no metadata");
  int selectors = bits_of(f.a) == 8 ? 1 : 2;
  if (f.sparse && (f.selector < 0 || f.selector >= selectors))
    return wrong("the sparsity selector is to be 0 to " + std::to_string(selectors - 1) + ", and is " + std::to_string(f.selector));
  if (f.a == Format::kB1) return bits(c);
  return is_integer(f.a) ? integers(c) : floats(c);
}

}  // namespace

int Wgmma::registers_d() const { return d == Format::kF16 ? n / 4 : n / 2; }

Result<Wgmma> parse_wgmma(std::string_view mnemonic) {
  Mnemonic words(mnemonic);
  Wgmma r;
  int m = 0;
  if (!words.take("wgmma") || !words.take("mma_async")) return words.error("expected a wgmma.mma_async");
  r.sparse = words.take("sp");
  if (!words.take("sync") || !words.take("aligned")) return words.error("expected .sync.aligned");
  if (!words.take_shape(m, r.n, r.k)) return words.error("expected a shape");
  r.saturate = words.take("satfinite");
  r.d = words.take_format(), r.a = words.take_format(), r.b = words.take_format();
  if (r.a == Format::kB1 && (!words.take("and") || !words.take("popc"))) return words.error("expected .and.popc");
  if (Status left = words.done(); !left) return left.error();
  if (!exists(r, m)) return words.error("there is no such wgmma");
  return r;
}

Status wgmma(const Wgmma& form, int warp, const Lanes& d, uint64_t a, uint64_t b, std::span<const std::byte> shared, bool keep,
             const Lanes* metadata) {
  return run({form, warp, d, nullptr, a, b, shared, keep, metadata});
}

Status wgmma(const Wgmma& form, int warp, const Lanes& d, const Lanes& a, uint64_t b, std::span<const std::byte> shared, bool keep,
             const Lanes* metadata) {
  return run({form, warp, d, &a, 0, b, shared, keep, metadata});
}

Status wgmma_reads(const Wgmma& form, int warp, const uint64_t* a, uint64_t b,
                   const std::function<void(uint32_t offset, int bytes)>& visit) {
  if (a) {
    auto tile = tile_a(form, warp, *a);
    if (!tile) return tile.error();
    visit_pieces(*tile, visit);
  }
  auto tile = tile_b(form, b);
  if (!tile) return tile.error();
  visit_pieces(*tile, visit);
  return Ok{};
}

}  // namespace kiln::sim
