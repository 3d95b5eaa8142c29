// Forms of mma: PTX ISA 9.0, 9.7.14.5.14 (mma) and 9.7.14.6.3 (mma.sp).
#include "backends/sim/matrix/mma.h"

#include <string>

#include "backends/sim/matrix/mnemonic.h"

namespace kiln::sim {
namespace {

// Any two of `operands` go together in all but the first group; c and d are the same but in m8n8k4.
struct Form {
  std::string_view shape, operands, accumulators;
};
constexpr Form kDense[] = {
    {"m8n8k4", "f16", "f16 f32"},
    {"m16n8k8", "f16", "f16 f32"},
    {"m16n8k16", "f16", "f16 f32"},
    {"m16n8k8", "bf16", "f32"},
    {"m16n8k16", "bf16", "f32"},
    {"m16n8k4", "tf32", "f32"},
    {"m16n8k8", "tf32", "f32"},
    {"m16n8k16", "e4m3 e5m2", "f16 f32"},
    {"m16n8k32", "e4m3 e5m2", "f16 f32"},
    {"m8n8k4", "f64", "f64"},
    {"m16n8k4", "f64", "f64"},
    {"m16n8k8", "f64", "f64"},
    {"m16n8k16", "f64", "f64"},
    {"m8n8k16", "s8 u8", "s32"},
    {"m16n8k16", "s8 u8", "s32"},
    {"m16n8k32", "s8 u8", "s32"},
    {"m8n8k32", "s4 u4", "s32"},
    {"m16n8k32", "s4 u4", "s32"},
    {"m16n8k64", "s4 u4", "s32"},
    {"m8n8k128", "b1", "s32"},
    {"m16n8k128", "b1", "s32"},
    {"m16n8k256", "b1", "s32"},
};
constexpr Form kSparse[] = {
    {"m16n8k16", "f16", "f16 f32"}, {"m16n8k32", "f16", "f16 f32"}, {"m16n8k16", "bf16", "f32"},          {"m16n8k32", "bf16", "f32"},
    {"m16n8k8", "tf32", "f32"},     {"m16n8k16", "tf32", "f32"},    {"m16n8k32", "s8 u8", "s32"},         {"m16n8k64", "s8 u8", "s32"},
    {"m16n8k64", "s4 u4", "s32"},   {"m16n8k128", "s4 u4", "s32"},  {"m16n8k64", "e4m3 e5m2", "f16 f32"},
};
constexpr Form kContainers = {"m16n8k32", "e4m3 e5m2 e3m2 e2m3 e2m1", "f16 f32"};
constexpr Form kSparseContainers = {"m16n8k64", "e4m3 e5m2 e3m2 e2m3 e2m1", "f16 f32"};

struct Scaled {
  std::string_view kind;
  int scales;
  Form form;
  std::string_view scale;
};
constexpr Scaled kScaled[] = {
    {"mxf8f6f4", 1, {"m16n8k32", "e4m3 e5m2 e3m2 e2m3 e2m1", "f32"}, "ue8m0"},
    {"mxf4", 2, {"m16n8k64", "e2m1", "f32"}, "ue8m0"},
    {"mxf4nvf4", 2, {"m16n8k64", "e2m1", "f32"}, "ue8m0"},
    {"mxf4nvf4", 4, {"m16n8k64", "e2m1", "f32"}, "ue8m0 ue4m3"},
};

bool has_word(std::string_view words, std::string_view w) {
  for (size_t at = 0; !w.empty() && at <= words.size();) {
    size_t end = std::min(words.find(' ', at), words.size());
    if (words.substr(at, end - at) == w) return true;
    at = end + 1;
  }
  return false;
}

bool is(const Form& f, const Mma& r) {
  std::string shape = "m" + std::to_string(r.m) + "n" + std::to_string(r.n) + "k" + std::to_string(r.k);
  return f.shape == shape && has_word(f.operands, name_of(r.a)) && has_word(f.operands, name_of(r.b)) &&
         has_word(f.accumulators, name_of(r.d)) && has_word(f.accumulators, name_of(r.c));
}

bool exists(const Mma& r, std::string_view kind) {
  bool quad = r.m == 8 && r.a == Format::kF16;
  if (!quad && (!r.row_a || r.row_b || r.c != r.d)) return false;
  if (quad && r.c == Format::kF32 && r.d == Format::kF16) return false;
  if (r.saturate && (!is_integer(r.a) || r.a == Format::kB1)) return false;
  if (r.scales) {
    for (const Scaled& s : kScaled) {
      if (s.kind == kind && s.scales == r.scales && is(s.form, r) && has_word(s.scale, name_of(r.scale)) && !r.sparse) return true;
    }
    return false;
  }
  if (kind == "f8f6f4") return is(r.sparse ? kSparseContainers : kContainers, r);
  if (!kind.empty() || r.scale != Format::kNone) return false;
  if (r.sparse) {
    for (const Form& f : kSparse) {
      if (is(f, r)) return true;
    }
    return false;
  }
  for (const Form& f : kDense) {
    if (is(f, r)) return true;
  }
  return false;
}

}  // namespace

int Mma::registers_a() const {
  if (m == 8 && a == Format::kF16) return 2;
  return m * k * bits() / kLanes / (a == Format::kF64 ? 64 : 32) / (sparse ? 2 : 1);
}
int Mma::registers_b() const {
  if (m == 8 && a == Format::kF16) return 2;
  return n * k * bits() / kLanes / (b == Format::kF64 ? 64 : 32);
}
int Mma::registers_c() const {
  int pieces = m == 8 && a == Format::kF16 ? 4 : 1;  // the four products of m8n8k4
  return pieces * m * n * bits_of(c) / kLanes / (c == Format::kF64 ? 64 : 32);
}
int Mma::registers_d() const {
  Mma same = *this;
  same.c = d;
  return same.registers_c();
}

Result<Mma> parse_mma(std::string_view mnemonic) {
  Mnemonic words(mnemonic);
  Mma r;
  if (!words.take("mma")) return words.error("expected an mma");
  r.sparse = words.take("sp") || words.take("sp::ordered_metadata");
  if (!words.take("sync") || !words.take("aligned")) return words.error("expected .sync.aligned");
  if (!words.take_shape(r.m, r.n, r.k)) return words.error("expected a shape");
  std::string_view layouts[2];
  for (std::string_view& layout : layouts) {
    layout = words.take_first("row", "col");
    if (layout.empty()) return words.error("expected the layouts of a and b");
  }
  r.row_a = layouts[0] == "row", r.row_b = layouts[1] == "row";
  r.saturate = words.take("satfinite");
  std::string_view kind = words.take_after("kind::"), vector = words.take_after("scale_vec::");
  bool scaled = words.take("block_scale");
  r.containers = kind == "f8f6f4" || kind == "mxf8f6f4";
  if (scaled) r.scales = kind == "mxf8f6f4" ? 1 : 2;
  if (!vector.empty()) r.scales = vector == "1X" ? 1 : vector == "2X" ? 2 : vector == "4X" ? 4 : -1;
  if (scaled == (r.scales == 0)) return words.error("scale_vec goes with block_scale");
  r.d = words.take_format(), r.a = words.take_format(), r.b = words.take_format(), r.c = words.take_format();
  if (scaled) r.scale = words.take_format();
  if (r.a == Format::kB1) {
    r.bit_and = words.take("and");
    if ((!r.bit_and && !words.take("xor")) || !words.take("popc")) return words.error("expected .xor.popc or .and.popc");
  }
  if (Status left = words.done(); !left) return left.error();
  if (!exists(r, kind)) return words.error("there is no such mma");
  return r;
}

}  // namespace kiln::sim
