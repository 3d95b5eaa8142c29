#include "backends/sim/matrix/wmma.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "backends/sim/matrix/dense.h"
#include "backends/sim/matrix/mnemonic.h"

namespace kiln::sim {
namespace {

constexpr int kMost = 32 * 16;  // elements of a matrix that are not bits

struct Form {
  Format operand;
  std::string_view shapes, accumulators;
};
// PTX ISA 9.0, 9.7.14.4.1. Accumulators of load and store are looked up by any operand.
constexpr Form kForms[] = {
    {Format::kF16, "m16n16k16 m8n32k16 m32n8k16", "f16 f32"},
    {Format::kBF16, "m16n16k16 m8n32k16 m32n8k16", "f32"},
    {Format::kTF32, "m16n16k8", "f32"},
    {Format::kF64, "m8n8k4", "f64"},
    {Format::kS8, "m16n16k16 m8n32k16 m32n8k16", "s32"},
    {Format::kU8, "m16n16k16 m8n32k16 m32n8k16", "s32"},
    {Format::kS4, "m8n8k32", "s32"},
    {Format::kU4, "m8n8k32", "s32"},
    {Format::kB1, "m8n8k128", "s32"},
};

bool contains(std::string_view words, std::string_view word) {
  size_t at = words.find(word);
  return !word.empty() && at != words.npos && (at == 0 || words[at - 1] == ' ') &&
         (at + word.size() == words.size() || words[at + word.size()] == ' ');
}
std::string shape_of(const Wmma& r) { return "m" + std::to_string(r.m) + "n" + std::to_string(r.n) + "k" + std::to_string(r.k); }

bool move_exists(const Wmma& r) {
  bool operand = r.role == 'a' || r.role == 'b';
  Format f = operand ? r.a : r.d;
  if (operand && bits_of(f) < 8 && r.row != (r.role == 'a')) return false;
  for (const Form& form : kForms) {
    bool fits = operand ? form.operand == f : contains(form.accumulators, name_of(f));
    if (fits && contains(form.shapes, shape_of(r))) return true;
  }
  return false;
}

bool product_exists(const Wmma& r) {
  for (const Form& form : kForms) {
    if (form.operand != r.a || !contains(form.shapes, shape_of(r))) continue;
    bool accumulators = contains(form.accumulators, name_of(r.c)) && contains(form.accumulators, name_of(r.d));
    bool layouts = bits_of(r.a) >= 8 || (r.row_a && !r.row_b);
    return accumulators && layouts && r.a == r.b && (!r.saturate || (is_integer(r.a) && r.a != Format::kB1));
  }
  return false;
}

int rows_of(const Wmma& f, char role) { return role == 'b' ? f.k : f.m; }
int columns_of(const Wmma& f, char role) { return role == 'a' ? f.k : f.n; }
Format format_of(const Wmma& f, char role) { return role == 'a' ? f.a : role == 'b' ? f.b : role == 'c' ? f.c : f.d; }

// Each lane's run of the fragment's bits; lanes past the end of the elements begin again.
struct Runs {
  int bits, elements, run;  // of an element; in all; of a lane

  int first(int lane) const { return lane * run % elements; }
};
Runs runs_of(const Wmma& f, char role) {
  Format format = format_of(f, role);
  int bits = bits_of(format);
  return {bits, rows_of(f, role) * columns_of(f, role), f.registers(role) * (format == Format::kF64 ? 64 : 32) / bits};
}

// All elements in row-major order, packed.
void gather(const Wmma& f, char role, const Lanes& r, std::byte* packed) {
  Runs runs = runs_of(f, role);
  for (int l = 0; l < kLanes; ++l) {
    std::memcpy(packed + runs.first(l) * runs.bits / 8, r.at[l], static_cast<size_t>(runs.run * runs.bits / 8));
  }
}
void scatter(const Wmma& f, char role, const std::byte* packed, const Lanes& r) {
  Runs runs = runs_of(f, role);
  for (int l = 0; l < kLanes; ++l) {
    std::memcpy(r.at[l], packed + runs.first(l) * runs.bits / 8, static_cast<size_t>(runs.run * runs.bits / 8));
  }
}

// Between memory, in lines of the form's layout, and row-major order. Elements of fewer than 8 bits are in the layout whose lines are
// rows of a or columns of b; the packed order of b's then is column-major, which wmma_mma knows.
template <bool kLoad>
void move(const Wmma& f, std::byte* memory, int64_t stride, std::byte* packed) {
  int rows = rows_of(f, f.role), columns = columns_of(f, f.role), bits = bits_of(format_of(f, f.role));
  bool whole = f.row || bits < 8;
  int lines = f.row ? rows : columns, length = f.row ? columns : rows;
  for (int i = 0; i < lines; ++i) {
    std::byte* line = memory + i * stride * bits / 8;
    if (whole) {
      std::byte* at = packed + i * length * bits / 8;
      std::memcpy(kLoad ? at : line, kLoad ? line : at, static_cast<size_t>(length * bits / 8));
      continue;
    }
    auto bytes = static_cast<size_t>(bits / 8);
    for (int j = 0; j < length; ++j) {
      std::byte* at = packed + static_cast<size_t>(j * columns + i) * bytes;
      std::byte* element = line + static_cast<size_t>(j) * bytes;
      std::memcpy(kLoad ? at : element, kLoad ? element : at, bytes);
    }
  }
}

constexpr int kMostBytes = 2048;

// The elements of an operand as numbers, row-major.
template <class T>
void numbers(const Wmma& f, char role, const Lanes& r, T* to) {
  std::byte packed[kMostBytes];
  gather(f, role, r, packed);
  Format format = format_of(f, role);
  int count = rows_of(f, role) * columns_of(f, role);
  if constexpr (std::is_same_v<T, double>) {
    std::memcpy(to, packed, static_cast<size_t>(count) * 8);
  } else if (role == 'b' && bits_of(format) < 8) {  // is column by column
    T columns[kMostBytes];
    decode(format, packed, count, columns);
    for (int i = 0; i < count; ++i) to[i % f.k * f.n + i / f.k] = columns[i];
  } else if (format == Format::kS32) {
    std::memcpy(to, packed, static_cast<size_t>(count) * 4);
  } else {
    decode(format, packed, count, to);
  }
}

void floats(const Wmma& f, const Lanes& d, const Lanes& a, const Lanes& b, const Lanes& c) {
  float left[kMost], right[kMost], sums[kMost];
  numbers(f, 'a', a, left);
  numbers(f, 'b', b, right);
  numbers(f, 'c', c, sums);
  dense().multiply(sums, f.n, left, f.k, right, f.n, f.m, f.n, f.k);
  std::byte packed[kMostBytes];
  if (f.d == Format::kF16)
    dense().encode_f16(sums, packed, f.m * f.n);
  else
    std::memcpy(packed, sums, static_cast<size_t>(f.m * f.n) * 4);
  scatter(f, 'd', packed, d);
}

void integers(const Wmma& f, const Lanes& d, const Lanes& a, const Lanes& b, const Lanes& c) {
  uint32_t left[8 * 128], right[8 * 128], sums[kMost] = {}, old[kMost];
  numbers(f, 'a', a, left);
  numbers(f, 'b', b, right);
  numbers(f, 'c', c, old);
  if (f.a == Format::kB1 && !f.bit_and) {
    for (int i = 0; i < f.m; ++i) {
      for (int j = 0; j < f.n; ++j) {
        for (int k = 0; k < f.k; ++k) sums[i * f.n + j] += left[i * f.k + k] ^ right[k * f.n + j];
      }
    }
  } else {
    dense().multiply_int(sums, f.n, left, f.k, right, f.n, f.m, f.n, f.k);
  }
  for (int i = 0; i < f.m * f.n; ++i) {
    int64_t sum = int64_t{static_cast<int32_t>(old[i])} + static_cast<int32_t>(sums[i]);
    if (f.saturate) sum = std::clamp<int64_t>(sum, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
    sums[i] = static_cast<uint32_t>(sum);
  }
  scatter(f, 'd', reinterpret_cast<const std::byte*>(sums), d);
}

void doubles(const Wmma& f, const Lanes& d, const Lanes& a, const Lanes& b, const Lanes& c) {
  double left[32], right[32], sums[64];
  numbers(f, 'a', a, left);
  numbers(f, 'b', b, right);
  numbers(f, 'c', c, sums);
  for (int i = 0; i < f.m * f.n; ++i) {
    for (int k = 0; k < f.k; ++k) sums[i] = std::fma(left[i / f.n * f.k + k], right[k * f.n + i % f.n], sums[i]);
  }
  scatter(f, 'd', reinterpret_cast<const std::byte*>(sums), d);
}

Result<Wmma> parse_product(Mnemonic& words, Wmma r) {
  std::string_view layouts[2] = {words.take_first("row", "col"), ""};
  layouts[1] = words.take_first("row", "col");
  if (layouts[1].empty()) return words.error("expected the layouts of a and b");
  r.row_a = layouts[0] == "row", r.row_b = layouts[1] == "row";
  if (!words.take_shape(r.m, r.n, r.k)) return words.error("expected a shape");
  r.saturate = words.take("satfinite");
  if (words.take("popc")) {
    r.bit_and = words.take("and");
    if (!r.bit_and && !words.take("xor")) return words.error("expected .xor.popc or .and.popc");
  }
  Format formats[4];
  for (Format& f : formats) f = words.take_format();
  if (formats[2] == Format::kNone) {  // of f16, operands go without saying
    r.d = formats[0], r.a = r.b = Format::kF16, r.c = formats[1];
  } else {
    r.d = formats[0], r.a = formats[1], r.b = formats[2], r.c = formats[3];
  }
  if (Status left = words.done(); !left) return left.error();
  if (!product_exists(r)) return words.error("there is no such wmma");
  return r;
}

}  // namespace

int Wmma::registers(char of) const {
  Format f = format_of(*this, of);
  if ((of == 'a' || of == 'b') && f == Format::kF16) return 8;
  return rows_of(*this, of) * columns_of(*this, of) * bits_of(f) / kLanes / (f == Format::kF64 ? 64 : 32);
}

Result<Wmma> parse_wmma(std::string_view mnemonic) {
  Mnemonic words(mnemonic);
  Wmma r;
  if (!words.take("wmma")) return words.error("expected a wmma");
  r.op = words.take("load") ? Wmma::Op::kLoad : words.take("store") ? Wmma::Op::kStore : Wmma::Op::kMma;
  if (r.op == Wmma::Op::kMma && !words.take("mma")) return words.error("expected .load, .store or .mma");
  if (!words.take("sync") || !words.take("aligned")) return words.error("expected .sync.aligned");
  if (r.op == Wmma::Op::kMma) return parse_product(words, r);
  r.role = words.take("a") ? 'a' : words.take("b") ? 'b' : words.take("c") ? 'c' : words.take("d") ? 'd' : 0;
  if (!r.role || (r.role == 'd') != (r.op == Wmma::Op::kStore)) return words.error("expected .load.a, .b or .c, or .store.d");
  std::string_view layout = words.take_first("row", "col");
  if (layout.empty() || !words.take_shape(r.m, r.n, r.k)) return words.error("expected a layout and a shape");
  r.row = layout == "row";
  if (!words.take("global")) words.take_shared();
  r.a = r.b = r.c = r.d = words.take_format();
  if (Status left = words.done(); !left) return left.error();
  if (!move_exists(r)) return words.error("there is no such wmma");
  return r;
}

WmmaLines wmma_lines(const Wmma& f) {
  int rows = rows_of(f, f.role), columns = columns_of(f, f.role), bits = bits_of(format_of(f, f.role));
  return f.row ? WmmaLines{rows, columns * bits / 8, bits} : WmmaLines{columns, rows * bits / 8, bits};
}

void wmma_load(const Wmma& form, const Lanes& r, const std::byte* from, int64_t stride) {
  std::byte packed[kMostBytes];
  move<true>(form, const_cast<std::byte*>(from), stride, packed);
  scatter(form, form.role, packed, r);
}

void wmma_store(const Wmma& form, std::byte* to, const Lanes& r, int64_t stride) {
  std::byte packed[kMostBytes];
  gather(form, form.role, r, packed);
  move<false>(form, to, stride, packed);
}

void wmma_mma(const Wmma& form, const Lanes& d, const Lanes& a, const Lanes& b, const Lanes& c) {
  if (form.a == Format::kF64) return doubles(form, d, a, b, c);
  if (is_integer(form.a)) return integers(form, d, a, b, c);
  floats(form, d, a, b, c);
}

}  // namespace kiln::sim
