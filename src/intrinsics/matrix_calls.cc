#include "intrinsics/matrix_calls.h"

namespace kiln::intrinsics {

using namespace ir;

namespace {

Operand operand(const Call* c, size_t i) { return {c->args[i], c->args[i + 1]}; }

// A single-precision operand is read as tf32.
void read_as_tf32(std::string& a, std::string& b) {
  if (a == "f32" && b == "f32") a = b = "tf32";
}

std::string named(std::string_view shape, const Call* c, size_t a, size_t b, size_t d) {
  return std::string(shape) + " of " + std::string(text_arg(c, a)) + " and " + std::string(text_arg(c, b)) + " to " +
         std::string(text_arg(c, d));
}

// Format of the accumulator, shape, layouts, kind, scales in K, formats of a, b and the scales, (a, offset), (b, offset), (accumulator,
// offset), scales of a and b, and for each of them which byte and thread.
std::optional<MmaCall> scaled_mma_call(const Call* c) {
  if (c->args.size() != 21) return std::nullopt;
  MmaCall m;
  m.type_d = ptx_type(text_arg(c, 0)), m.type_a = ptx_type(text_arg(c, 6)), m.type_b = ptx_type(text_arg(c, 7));
  m.shape = text_arg(c, 1), m.layout_a = text_arg(c, 2), m.layout_b = text_arg(c, 3);
  m.kind = text_arg(c, 4), m.scales = int_arg(c, 5), m.type_scale = text_arg(c, 8);
  m.what = m.shape + " of kind " + m.kind + " of " + std::string(text_arg(c, 6)) + " and " + std::string(text_arg(c, 7)) + " with " +
           std::to_string(m.scales) + " scales of " + m.type_scale;
  m.a = operand(c, 9), m.b = operand(c, 11), m.d = operand(c, 13);
  m.scale_a = c->args[15], m.scale_b = c->args[16];
  m.byte_a = c->args[17], m.thread_a = c->args[18], m.byte_b = c->args[19], m.thread_b = c->args[20];
  return m;
}

// Formats of 6 and 4 bits, which mma has with a kind only.
bool is_narrow(std::string_view type) { return type == "e2m3" || type == "e3m2" || type == "e2m1"; }

// The kind of tcgen05.mma for a format, or empty.
std::string tcgen05_kind(const std::string& type) {
  if (type == "f16" || type == "bf16") return "f16";
  if (type == "tf32" || type == "f32") return "tf32";
  if (type == "s8" || type == "u8") return "i8";
  for (const char* narrow : {"e4m3", "e5m2", "e2m3", "e3m2", "e2m1"}) {
    if (type == narrow) return "f8f6f4";
  }
  return "";
}

}  // namespace

std::optional<MmaCall> mma_call(const Call* c) {
  if (c->op == Op::tl_ptx_mma_block_scale) return scaled_mma_call(c);
  bool is_mma = c->op == Op::tirx_ptx_mma || c->op == Op::tl_ptx_mma_sm70 || c->op == Op::tirx_ptx_mma_sp;
  if (!is_mma) return std::nullopt;
  // Shape, layouts of a and b, formats of a, b and the accumulator, (a, offset), (b, offset), (accumulator, offset); dense: saturate,
  // operator on bits; sparse: (metadata, offset), which of the threads bring it, saturate.
  bool sparse = c->op == Op::tirx_ptx_mma_sp;
  if (sparse ? c->args.size() != 16 : c->args.size() < 12 || text_arg(c, 0).empty()) return std::nullopt;
  MmaCall m;
  m.shape = text_arg(c, 0), m.layout_a = text_arg(c, 1), m.layout_b = text_arg(c, 2);
  m.type_a = ptx_type(text_arg(c, 3)), m.type_b = ptx_type(text_arg(c, 4)), m.type_d = ptx_type(text_arg(c, 5));
  m.what = named(m.shape, c, 3, 4, 5);
  read_as_tf32(m.type_a, m.type_b);
  // What a warp's four products make together.
  if (c->op == Op::tl_ptx_mma_sm70 && m.shape == "m16n16k4") m.shape = "m8n8k4";
  m.a = operand(c, 6), m.b = operand(c, 8), m.d = operand(c, 10);
  if (sparse) m.metadata = operand(c, 12), m.selector = int_arg(c, 14);
  size_t saturate = sparse ? 15 : 12;
  m.saturate = c->args.size() > saturate && int_arg(c, saturate) == 1 && m.type_d == "s32" && m.type_a != "b1";
  if (!sparse && c->args.size() > 13) m.bit_operator = text_arg(c, 13);
  return m;
}

std::string MmaCall::mnemonic() const {
  std::string layouts = layout_a + "." + layout_b, types = type_d + "." + type_a + "." + type_b + "." + type_d;
  std::string head = is_sparse() ? "mma.sp::ordered_metadata.sync.aligned." : "mma.sync.aligned.";
  if (is_scaled()) {
    return head + shape + "." + layouts + ".kind::" + kind + ".block_scale.scale_vec::" + std::to_string(scales) + "X." + types + "." +
           type_scale;
  }
  bool narrow = !is_sparse() && (is_narrow(type_a) || is_narrow(type_b));
  return head + shape + "." + layouts + (saturate ? ".satfinite" : "") + (narrow ? ".kind::f8f6f4" : "") + "." + types +
         (type_a == "b1" ? "." + bit_operator + ".popc" : "");
}

std::optional<WgmmaCall> wgmma_call(const Call* c) {
  // ss: shape, a and b with K innermost, formats of a, b and the accumulator, (a, offset), sparse: (metadata, offset), selector; (b,
  // offset), (accumulator, offset), keep, signs of a and b. rs: the same without the order of a, which is in registers.
  WgmmaCall w;
  bool rs = c->op == Op::tl_ptx_wgmma_rs || c->op == Op::tl_ptx_wgmma_sp_rs;
  w.ss = c->op == Op::tl_ptx_wgmma_ss || c->op == Op::tl_ptx_wgmma_sp_ss;
  w.is_sparse = c->op == Op::tl_ptx_wgmma_sp_ss || c->op == Op::tl_ptx_wgmma_sp_rs;
  if (!w.ss && !rs) return std::nullopt;
  size_t types = w.ss ? 3 : 2, after_a = types + 5, b = after_a + (w.is_sparse ? 3 : 0), keep = b + 4;
  if (c->args.size() != keep + 3) return std::nullopt;
  w.shape = text_arg(c, 0);
  w.type_a = ptx_type(text_arg(c, types)), w.type_b = ptx_type(text_arg(c, types + 1)), w.type_d = ptx_type(text_arg(c, types + 2));
  read_as_tf32(w.type_a, w.type_b);
  w.what = named(w.shape, c, types, types + 1, types + 2);
  w.order_a = w.ss ? int_arg(c, 1) : 1, w.order_b = int_arg(c, types - 1);
  w.a = operand(c, types + 3), w.b = operand(c, b), w.d = operand(c, b + 2), w.keep = c->args[keep];
  if (w.is_sparse) w.metadata = operand(c, after_a), w.selector = int_arg(c, after_a + 2);
  auto sign = [&](size_t i) { return c->args[i]->as<IntImm>() ? std::min<int64_t>(c->args[i]->as<IntImm>()->value, 1) : -2; };
  w.sign_a = sign(keep + 1), w.sign_b = sign(keep + 2);
  return w;
}

std::string WgmmaCall::mnemonic() const {
  return std::string("wgmma.mma_async") + (is_sparse ? ".sp" : "") + ".sync.aligned." + shape + "." + type_d + "." + type_a + "." + type_b +
         (type_a == "b1" ? ".and.popc" : "");
}

std::optional<Tcgen05MmaCall> tcgen05_mma_call(const Call* c) {
  bool is_mma = c->op == Op::tl_ptx_tcgen05_mma_ss || c->op == Op::tl_ptx_tcgen05_mma_ts || c->op == Op::tl_ptx_tcgen05_mma_blockscaled_ss;
  if (!is_mma) return std::nullopt;
  // Format, (a, offset), (b, offset), (sum, column), instruction descriptor, keep. ss and ts: four masks of lanes to leave alone; with
  // block scales (scale of a, column), (scale of b, column). ss: weight stationary. Last: by a pair of blocks. Block scales have a flag
  // more between, as ss has, that says nothing.
  Tcgen05MmaCall m;
  bool ss = c->op == Op::tl_ptx_tcgen05_mma_ss;
  m.is_scaled = c->op == Op::tl_ptx_tcgen05_mma_blockscaled_ss, m.ts = !ss && !m.is_scaled;
  size_t expected = ss ? 15 : m.is_scaled ? 16 : 14;
  if (c->args.size() != expected) return std::nullopt;
  m.kind = tcgen05_kind(ptx_type(text_arg(c, 0)));
  if (m.is_scaled) m.kind = m.kind == "f8f6f4" ? "mxf8f6f4" : "";
  m.what = "tcgen05.mma" + std::string(m.is_scaled ? " with block scales" : "") + " of " + std::string(text_arg(c, 0));
  m.a = operand(c, 1), m.b = operand(c, 3), m.d = operand(c, 5);
  m.instruction = c->args[7], m.keep = c->args[8];
  if (m.is_scaled) m.scale_a = operand(c, 9), m.scale_b = operand(c, 11);
  bool masked = false;
  for (size_t i = 9; i < 13; ++i) masked |= int_arg(c, i) != 0;
  if (masked && !m.is_scaled) m.masks = c->args.subspan(9, 4);
  m.weight_stationary = ss && int_arg(c, 13) == 1;
  m.pair = int_arg(c, expected - 1) == 1;
  return m;
}

std::string Tcgen05MmaCall::mnemonic() const {
  return std::string("tcgen05.mma") + (weight_stationary ? ".ws" : "") + (pair ? ".cta_group::2" : ".cta_group::1") + ".kind::" + kind +
         (is_scaled ? ".block_scale" : "");
}

std::optional<MatrixMoveCall> matrix_move_call(const Call* c) {
  bool is_move = c->op == Op::tl_ptx_ldmatrix || c->op == Op::tirx_ptx_ldmatrix || c->op == Op::tl_ptx_stmatrix;
  if (!is_move) return std::nullopt;
  int64_t transposed = int_arg(c, 0), count = int_arg(c, 1);
  if (transposed < 0 || (count != 1 && count != 2 && count != 4)) return std::nullopt;
  MatrixMoveCall m;
  m.transposed = transposed, m.count = static_cast<int>(count);
  auto n = static_cast<size_t>(count);
  switch (c->op) {
    case Op::tl_ptx_ldmatrix:  // transposed, count, row, to
      if (c->args.size() != 4) return std::nullopt;
      m.row.pointer = c->args[2], m.to.pointer = c->args[3];
      return m;
    case Op::tirx_ptx_ldmatrix:  // transposed, count, format, (to, offset), (row, offset)
      if (c->args.size() != 7 || text_arg(c, 2) != ".b16") return std::nullopt;
      m.to = operand(c, 3), m.row = operand(c, 5);
      return m;
    default: {  // stmatrix: transposed, count, row, values, perhaps a shape
      bool has_shape = c->args.size() == 4 + n;
      if (c->args.size() != 3 + n && !has_shape) return std::nullopt;
      std::string_view shape = has_shape ? text_arg(c, 3 + n) : "m8n8";
      m.bytes = shape == "m16n8";  // transposed alone
      if (shape != "m8n8" && (!m.bytes || transposed != 1)) return std::nullopt;
      m.row.pointer = c->args[2], m.from = c->args.subspan(3, n);
      return m;
    }
  }
}

std::string MatrixMoveCall::mnemonic() const {
  std::string shape = bytes ? "m16n8" : "m8n8";
  return std::string(to.pointer ? "ldmatrix" : "stmatrix") + ".sync.aligned." + shape + ".x" + std::to_string(count) +
         (transposed ? ".trans" : "") + ".shared." + (bytes ? "b8" : "b16");
}

}  // namespace kiln::intrinsics
