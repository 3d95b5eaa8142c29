// Products of dense row-major matrices and what feeds them, by the best vector instructions of this machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kiln::sim {

// Functions for one set of instructions. All give the same bits: sums run over k in ascending order, element by element.
struct Dense {
  // d[i][j] += a[i][0] * b[0][j] + ... + a[i][k - 1] * b[k - 1][j], for m rows (a multiple of 8) and n columns (a multiple of 8). Strides
  // `ld*` are elements from row to row.
  void (*multiply)(float* d, int ldd, const float* a, int lda, const float* b, int ldb, int m, int n, int k);
  // The same for 16 rows and 32 columns of which d is spread over the lanes of a warp as fragments: sums[l] are lane l's 16 values (see
  // gather_sums). a comes as `pairs`: of row g and k, {a[g][k], a[g][k], a[g + 8][k], a[g + 8][k]} at 4 * (g * k_count + k). b is
  // row-major. Without `keep`, d begins as zero.
  void (*multiply_fragments)(float* const* sums, const float* pairs, const float* b, int k, bool keep);
  // The same for 16 rows and 8 columns: d = c + a * b, where c[l] and d[l] are lane l's 4 registers; a and b are row-major.
  void (*multiply_16x8)(std::byte* const* d, std::byte* const* c, const float* a, const float* b, int k);
  // The first again, modulo 2^32.
  void (*multiply_int)(uint32_t* d, int ldd, const uint32_t* a, int lda, const uint32_t* b, int ldb, int m, int n, int k);
  // And of float64 for 8 columns, with `ldd` and `ldb` 8; each step is rounded once (fma).
  void (*multiply_double)(double* d, const double* a, int lda, const double* b, int m, int k);
  // to[i] = value of from[i]; `count` is a multiple of 8.
  void (*decode_f16)(const void* from, float* to, int count);
  void (*decode_bf16)(const void* from, float* to, int count);
  void (*decode_s8)(const void* from, uint32_t* to, int count);
  void (*decode_u8)(const void* from, uint32_t* to, int count);
  // The nearest float16, ties to even; too large values become infinite. `count` is a multiple of 8.
  void (*encode_f16)(const float* from, void* to, int count);
  // to[j][i] = from[i][j] of 8x8 words; strides are words.
  void (*transpose)(const uint32_t* from, int ldf, uint32_t* to, int ldt);
};

// The functions for the machine that this runs on; decided once.
const Dense& dense();
// Those that run anywhere, for tests of the others.
const Dense& portable_dense();

}  // namespace kiln::sim
