// Matrix instructions as calls have them: which argument is what, and the PTX instruction that is meant (PTX ISA 9.0, 9.7.14 to 9.7.16).
// Nothing here says whether the instruction exists.
#pragma once

#include <optional>
#include <string>

#include "intrinsics/arguments.h"

namespace kiln::intrinsics {

// mma.sync, mma.sp and mma.sync with block scales: tirx.ptx_mma, tl.ptx_mma_sm70, tirx.ptx_mma_sp, tl.ptx_mma_block_scale. d += a * b.
struct MmaCall {
  std::string shape, layout_a, layout_b;  // "m16n8k16", "row" or "col"
  std::string type_a, type_b, type_d;     // as PTX names them; operands of "f32" are "tf32"; empty: PTX has no such format
  std::string what;                       // "m16n8k16 of fp16 and fp16 to fp32", as the module names it
  Operand a, b, d;                        // registers of a lane
  bool saturate = false;
  std::string bit_operator = "xor";  // of b1
  Operand metadata;                  // of mma.sp, else none
  int64_t selector = -1;
  std::string kind, type_scale;  // with block scales: "mxf4nvf4", "ue4m3"
  int64_t scales = 0;            // of a line of K
  const ir::Expr *scale_a = nullptr, *scale_b = nullptr;
  const ir::Expr *byte_a = nullptr, *thread_a = nullptr, *byte_b = nullptr, *thread_b = nullptr;

  bool is_sparse() const { return metadata.pointer; }
  bool is_scaled() const { return scales != 0; }
  bool is_quad() const { return shape == "m8n8k4" && type_a == "f16"; }  // four products, each by eight lanes
  // "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
  std::string mnemonic() const;
};
// None for other operators and another number of arguments.
std::optional<MmaCall> mma_call(const ir::Call* c);

// wgmma.mma_async: tl.ptx_wgmma_ss, _rs, _sp_ss, _sp_rs. d = a * b + (keep ? d : 0).
struct WgmmaCall {
  bool ss = true;  // a is in shared memory too; otherwise in registers
  bool is_sparse = false;
  std::string shape, type_a, type_b, type_d, what;
  int64_t order_a = 1, order_b = 1;  // 1: K innermost, 0: not; -1: not constant
  int64_t sign_a = 1, sign_b = 1;    // 1, or 0 or -1 for a negated operand; -2: not constant
  Operand a, b, d;                   // an operand in shared memory is an array of descriptors, whose offset is added to the first
  const ir::Expr* keep = nullptr;
  Operand metadata;
  int64_t selector = 0;  // which threads bring metadata

  // "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16"
  std::string mnemonic() const;
};
// None for other operators and another number of arguments.
std::optional<WgmmaCall> wgmma_call(const ir::Call* c);

// tcgen05.mma: tl.ptx_tcgen05_mma_ss, _ts, _blockscaled_ss. d = a * b + (keep ? d : 0) in tensor memory.
struct Tcgen05MmaCall {
  bool ts = false;  // a is in tensor memory; otherwise in shared memory
  bool is_scaled = false;
  std::string kind;                                        // "f16", "tf32", "i8", "f8f6f4", "mxf8f6f4"; empty: there is none for the format
  std::string what;                                        // "tcgen05.mma of float16", as the module names it
  Operand a, b;                                            // arrays of descriptors, with an offset in bytes; in tensor memory as d
  Operand d;                                               // the word that holds an address in tensor memory, and a column that is added
  const ir::Expr *instruction = nullptr, *keep = nullptr;  // the instruction descriptor; a condition
  ir::List<const ir::Expr*> masks;                         // four words of lanes to leave alone; none: all zero
  Operand scale_a, scale_b;                                // as d
  bool weight_stationary = false, pair = false;

  // "tcgen05.mma.cta_group::1.kind::f16"
  std::string mnemonic() const;
};
// None for other operators and another number of arguments.
std::optional<Tcgen05MmaCall> tcgen05_mma_call(const ir::Call* c);

// ldmatrix: tl.ptx_ldmatrix, tirx.ptx_ldmatrix. stmatrix: tl.ptx_stmatrix.
struct MatrixMoveCall {
  bool transposed = false, bytes = false;  // of 8-bit elements, otherwise of 16-bit ones
  int count = 1;                           // matrices: 1, 2 or 4
  Operand row;                             // shared memory, a row for each lane
  Operand to;                              // of ldmatrix: registers
  ir::List<const ir::Expr*> from;          // of stmatrix: a register's value for each matrix

  // "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"
  std::string mnemonic() const;
};
// None for other operators and arguments of no such instruction.
std::optional<MatrixMoveCall> matrix_move_call(const ir::Call* c);

}  // namespace kiln::intrinsics
