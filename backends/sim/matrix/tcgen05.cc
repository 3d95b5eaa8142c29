#include "backends/sim/matrix/tcgen05.h"

#include "backends/sim/matrix/mnemonic.h"

namespace kiln::sim {
namespace {

constexpr Format kNarrow[] = {Format::kE4M3, Format::kE5M2, Format::kNone, Format::kE2M3,
                              Format::kE3M2, Format::kE2M1, Format::kNone, Format::kNone};

Error wrong(std::string what, std::string hint = "") { return {Code::kInvalidArgument, std::move(what), "", std::move(hint)}; }

bool is_scaled(Tcgen05Kind k) { return k == Tcgen05Kind::kMXF8F6F4 || k == Tcgen05Kind::kMXF4 || k == Tcgen05Kind::kMXF4NVF4; }

Format operand(Tcgen05Kind kind, unsigned code) {
  switch (kind) {
    case Tcgen05Kind::kF16: return code == 0 ? Format::kF16 : code == 1 ? Format::kBF16 : Format::kNone;
    case Tcgen05Kind::kTF32: return code == 2 ? Format::kTF32 : Format::kNone;
    case Tcgen05Kind::kI8: return code == 0 ? Format::kU8 : code == 1 ? Format::kS8 : Format::kNone;
    case Tcgen05Kind::kF8F6F4:
    case Tcgen05Kind::kMXF8F6F4: return kNarrow[code];
    case Tcgen05Kind::kMXF4:
    case Tcgen05Kind::kMXF4NVF4: return code == 1 ? Format::kE2M1 : Format::kNone;
  }
  return Format::kNone;
}

Format accumulator(Tcgen05Kind kind, unsigned code) {
  if (kind == Tcgen05Kind::kI8) return code == 2 ? Format::kS32 : Format::kNone;
  if (is_scaled(kind) || code == 1) return Format::kF32;
  return code == 0 && kind != Tcgen05Kind::kTF32 ? Format::kF16 : Format::kNone;
}

int k_of(Tcgen05Kind kind) {
  switch (kind) {
    case Tcgen05Kind::kF16: return 16;
    case Tcgen05Kind::kTF32: return 8;
    case Tcgen05Kind::kI8:
    case Tcgen05Kind::kF8F6F4:
    case Tcgen05Kind::kMXF8F6F4: return 32;
    case Tcgen05Kind::kMXF4:
    case Tcgen05Kind::kMXF4NVF4: return 64;
  }
  return 0;
}

std::string range(const char* what, int value) { return std::string("tcgen05.mma of ") + what + " " + std::to_string(value); }

}  // namespace

Result<Tcgen05Mma> parse_tcgen05_mma(std::string_view mnemonic) {
  struct Kind {
    std::string_view name;
    int scale_block;
  };
  constexpr Kind kKinds[] = {{"f16", 0}, {"tf32", 0}, {"f8f6f4", 0}, {"i8", 0}, {"mxf8f6f4", 32}, {"mxf4", 32}, {"mxf4nvf4", 32}};
  Mnemonic words(mnemonic);
  Tcgen05Mma r;
  if (!words.take("tcgen05") || !words.take("mma")) return words.error("expected a tcgen05.mma");
  if (words.take("sp")) return words.error("sparse operands are not modelled");
  if (words.take("ashift")) return words.error(".ashift is not modelled");
  r.weight_stationary = words.take("ws");
  r.pair = words.take("cta_group::2");
  if (!r.pair && !words.take("cta_group::1")) return words.error("expected .cta_group::1 or ::2");
  std::string_view kind = words.take_after("kind::"), vector = words.take_after("scale_vec::");
  bool found = false;
  for (int i = 0; i < 7; ++i) {
    if (kKinds[i].name != kind) continue;
    found = true;
    r.kind = static_cast<Tcgen05Kind>(i);
    r.scale_block = kKinds[i].scale_block;
  }
  bool scaled = words.take("block_scale");
  if (words.take("block16")) vector = "4X";
  if (words.take("block32")) vector = r.kind == Tcgen05Kind::kMXF8F6F4 ? "1X" : "2X";
  if (!vector.empty()) {
    bool sixteen = vector == "4X" && r.kind == Tcgen05Kind::kMXF4NVF4, usual = vector == (k_of(r.kind) == 32 ? "1X" : "2X");
    if (!sixteen && !usual) return words.error("there is no such scale_vec");
    if (sixteen) r.scale_block = 16;
  }
  while (!words.take_after("collector::").empty()) {
  }
  if (Status left = words.done(); !left) return left.error();
  if (!found || scaled != is_scaled(r.kind) || (r.weight_stationary && (r.pair || scaled)))
    return words.error("there is no such tcgen05.mma");
  return r;
}

Result<Tcgen05Shape> tcgen05_shape(const Tcgen05Mma& form, uint32_t instruction) {
  auto field = [&](int bit, int bits) { return static_cast<int>(instruction >> bit & ((1u << bits) - 1)); };
  bool scaled = is_scaled(form.kind);
  Tcgen05Shape s;
  s.m = field(24, 5) * 16, s.n = field(17, 6) * 8, s.k = k_of(form.kind);
  s.a = operand(form.kind, static_cast<unsigned>(field(7, 3))), s.b = operand(form.kind, static_cast<unsigned>(field(10, 3)));
  s.d = accumulator(form.kind, static_cast<unsigned>(field(4, 2)));
  s.negate_a = field(13, 1), s.negate_b = field(14, 1), s.transpose_a = field(15, 1), s.transpose_b = field(16, 1);
  if (field(2, 1)) return Error{Code::kUnsupported, "a tcgen05.mma of sparse operands is not modelled", "", ""};
  if (s.a == Format::kNone || s.b == Format::kNone || s.d == Format::kNone)
    return wrong("an instruction descriptor has formats " + std::to_string(field(7, 3)) + " and " + std::to_string(field(10, 3)) + " to " +
                     std::to_string(field(4, 2)) + ", which its kind does not have",
                 "see the instruction descriptor in the PTX ISA");
  if (scaled) {
    s.scale = field(23, 1) ? Format::kUE8M0 : Format::kUE4M3;
    s.scale_id_a = field(29, 2), s.scale_id_b = field(4, 2);
    int count = s.k / form.scale_block;
    if (s.scale_id_a + count > 4 || s.scale_id_b + count > 4 || s.scale_id_a % count || s.scale_id_b % count)
      return wrong("an instruction descriptor has scales in bytes " + std::to_string(s.scale_id_a) + " and " +
                   std::to_string(s.scale_id_b));
    if (field(31, 1)) return Error{Code::kUnsupported, "a tcgen05.mma of K 96 is not modelled", "", ""};
    if (s.scale == Format::kUE4M3 && form.kind != Tcgen05Kind::kMXF4NVF4) return wrong("scales of ue4m3 are for kind::mxf4nvf4 only");
  } else {
    s.saturate = field(3, 1);
  }
  bool m_fits = form.pair                ? s.m == 128 || s.m == 256
                : form.weight_stationary ? s.m == 32 || s.m == 64 || s.m == 128
                                         : s.m == 128 || (s.m == 64 && !scaled);
  if (!m_fits) return wrong(range("M", s.m) + (form.pair ? " by a pair of blocks" : ""));
  int step = form.pair ? 16 : s.m == 64 ? 8 : 16;
  bool n_fits = form.weight_stationary ? s.n == 64 || s.n == 128 || s.n == 256 : s.n >= step && s.n <= 256 && s.n % 8 == 0;
  if (!n_fits || (form.pair && s.n % 16)) return wrong(range("N", s.n));
  if ((s.transpose_a || s.transpose_b) && k_of(form.kind) == 64)
    return wrong("tcgen05.mma of 4-bit formats takes operands with K innermost only");
  return s;
}

}  // namespace kiln::sim
