#include "backends/sim/matrix/dense.h"

#include <cmath>
#include <cstring>

#include "base/small_float.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kiln::sim {
namespace {

// Vectors of 16 and 8 elements: the compiler splits them where the machine's are shorter.
using Floats16 = float __attribute__((vector_size(64)));
using Floats8 = float __attribute__((vector_size(32)));
using Words16 = uint32_t __attribute__((vector_size(64)));
using Words8 = uint32_t __attribute__((vector_size(32)));

// One block of d, which stays in registers while k runs. Inlined into functions of each instruction set, so the vectors are never passed.
template <class V, int kRows, int kVectors, class T>
[[gnu::always_inline]] inline void block(T* d, int ldd, const T* a, int lda, const T* b, int ldb, int k) {
  constexpr int kWidth = sizeof(V) / sizeof(T);
  V sum[kRows][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) std::memcpy(&sum[i][j], d + i * ldd + j * kWidth, sizeof(V));
  }
  for (int l = 0; l < k; ++l) {
    V row[kVectors];
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) std::memcpy(&row[j], b + l * ldb + j * kWidth, sizeof(V));
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
      for (int j = 0; j < kVectors; ++j) sum[i][j] += a[i * lda + l] * row[j];
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < kVectors; ++j) std::memcpy(d + i * ldd + j * kWidth, &sum[i][j], sizeof(V));
  }
}

// kRows x 32 columns are what fits in the registers.
template <class V16, class V8, int kRows, class T>
[[gnu::always_inline]] inline void product(T* d, int ldd, const T* a, int lda, const T* b, int ldb, int m, int n, int k) {
  int j = 0;
  for (; j + 32 <= n; j += 32) {
    for (int i = 0; i < m; i += kRows) block<V16, kRows, 2>(d + i * ldd + j, ldd, a + i * lda, lda, b + j, ldb, k);
  }
  for (; j < n; j += 8) {
    for (int i = 0; i < m; i += 8) block<V8, 8, 1>(d + i * ldd + j, ldd, a + i * lda, lda, b + j, ldb, k);
  }
}

void multiply_double(double* d, const double* a, int lda, const double* b, int m, int k) {
  for (int i = 0; i < m * 8; ++i) {
    for (int l = 0; l < k; ++l) d[i] = std::fma(a[i / 8 * lda + l], b[8 * l + i % 8], d[i]);
  }
}

// Lane 4 g + t has rows g and g + 8 of columns 8 j + 2 t and the next, j = 0 to 3.
void multiply_fragments(float* const* sums, const float* pairs, const float* b, int k, bool keep) {
  for (int l = 0; l < 32; ++l) {
    float sum[16] = {};
    if (keep) std::memcpy(sum, sums[l], sizeof sum);
    for (int i = 0; i < k; ++i) {
      const float *a = pairs + 4 * (l / 4 * k + i), *row = b + 32 * i + 2 * (l % 4);
      for (int r = 0; r < 16; ++r) sum[r] += a[r % 4] * row[r / 4 * 8 + r % 2];
    }
    std::memcpy(sums[l], sum, sizeof sum);
  }
}

void multiply_16x8(std::byte* const* d, std::byte* const* c, const float* a, const float* b, int k) {
  for (int l = 0; l < 32; ++l) {
    float sum[4];
    std::memcpy(sum, c[l], sizeof sum);
    for (int i = 0; i < k; ++i) {
      for (int r = 0; r < 4; ++r) sum[r] += a[(l / 4 + r / 2 * 8) * k + i] * b[8 * i + l % 4 * 2 + r % 2];
    }
    std::memcpy(d[l], sum, sizeof sum);
  }
}

// Exact for every float16: the exponent is moved by a multiplication, which also normalises what was subnormal.
void decode_f16(const void* from, float* to, int count) {
  for (int i = 0; i < count; ++i) {
    uint16_t half;
    std::memcpy(&half, static_cast<const std::byte*>(from) + 2 * i, 2);
    uint32_t bits = (half & 0x7FFFu) << 13;
    float value;
    std::memcpy(&value, &bits, 4);
    value *= 0x1p112F;
    std::memcpy(&bits, &value, 4);
    if ((half & 0x7C00) == 0x7C00) bits |= 0x7F800000;
    bits |= (half & 0x8000u) << 16;
    std::memcpy(to + i, &bits, 4);
  }
}

void decode_bf16(const void* from, float* to, int count) {
  for (int i = 0; i < count; ++i) {
    uint16_t half;
    std::memcpy(&half, static_cast<const std::byte*>(from) + 2 * i, 2);
    uint32_t bits = uint32_t{half} << 16;
    std::memcpy(to + i, &bits, 4);
  }
}

void decode_s8(const void* from, uint32_t* to, int count) {
  for (int i = 0; i < count; ++i) to[i] = static_cast<uint32_t>(static_cast<const int8_t*>(from)[i]);
}
void decode_u8(const void* from, uint32_t* to, int count) {
  for (int i = 0; i < count; ++i) to[i] = static_cast<const uint8_t*>(from)[i];
}

void encode_f16(const float* from, void* to, int count) {
  for (int i = 0; i < count; ++i) {
    auto half = static_cast<uint16_t>(encode_float(ir::kFloat16, static_cast<double>(from[i])));
    std::memcpy(static_cast<std::byte*>(to) + 2 * i, &half, 2);
  }
}

void transpose(const uint32_t* from, int ldf, uint32_t* to, int ldt) {
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j) to[j * ldt + i] = from[i * ldf + j];
  }
}

constexpr Dense kPortable = {
    product<Floats16, Floats8, 2, float>,
    multiply_fragments,
    multiply_16x8,
    product<Words16, Words8, 2, uint32_t>,
    multiply_double,
    decode_f16,
    decode_bf16,
    decode_s8,
    decode_u8,
    encode_f16,
    transpose,
};

#if defined(__x86_64__)

#define KILN_AVX2 __attribute__((target("avx2,fma,f16c")))
#define KILN_AVX512 __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx2,fma,f16c")))

KILN_AVX2 void multiply_avx2(float* d, int ldd, const float* a, int lda, const float* b, int ldb, int m, int n, int k) {
  product<Floats16, Floats8, 2>(d, ldd, a, lda, b, ldb, m, n, k);
}

constexpr int kMostK = 64;

// As multiply_fragments: of each place t, first the values of b that meet the lanes' registers, in their order, then eight lanes at a time.
KILN_AVX512 void fragments_avx512(float* const* sums, const float* pairs, const float* b, int k, bool keep) {
  for (int place = 0; place < 4; ++place) {
    __m512i first = _mm512_setr_epi32(0, 1, 0, 1, 8, 9, 8, 9, 16, 17, 16, 17, 24, 25, 24, 25);
    __m512i chosen = _mm512_add_epi32(first, _mm512_set1_epi32(2 * place));
    __m512 sum[8];
#pragma GCC unroll 8
    for (int g = 0; g < 8; ++g) sum[g] = keep ? _mm512_loadu_ps(sums[4 * g + place]) : _mm512_setzero_ps();
    for (int i = 0; i < k; ++i) {
      __m512 row = _mm512_permutex2var_ps(_mm512_loadu_ps(b + 32 * i), chosen, _mm512_loadu_ps(b + 32 * i + 16));
#pragma GCC unroll 8
      for (int g = 0; g < 8; ++g)
        sum[g] = _mm512_fmadd_ps(_mm512_maskz_broadcast_f32x4(0xFFFF, _mm_loadu_ps(pairs + 4 * (g * k + i))), row, sum[g]);
    }
#pragma GCC unroll 8
    for (int g = 0; g < 8; ++g) _mm512_storeu_ps(sums[4 * g + place], sum[g]);
  }
}
KILN_AVX2 void fragments_avx2(float* const* sums, const float* pairs, const float* b, int k, bool keep) {
  for (int place = 0; place < 4; ++place) {
    alignas(32) float rows[kMostK * 16];
    for (int i = 0; i < 4 * k; ++i) {
      __m128d two = _mm_loaddup_pd(reinterpret_cast<const double*>(b + 8 * i + 2 * place));
      _mm_store_ps(rows + 4 * i, _mm_castpd_ps(two));
    }
    for (int g = 0; g < 8; g += 4) {
      __m256 low[4], high[4];
#pragma GCC unroll 4
      for (int l = 0; l < 4; ++l) {
        const float* lane = sums[4 * (g + l) + place];
        low[l] = keep ? _mm256_loadu_ps(lane) : _mm256_setzero_ps();
        high[l] = keep ? _mm256_loadu_ps(lane + 8) : _mm256_setzero_ps();
      }
      for (int i = 0; i < k; ++i) {
        __m256 row = _mm256_load_ps(rows + 16 * i), next = _mm256_load_ps(rows + 16 * i + 8);
#pragma GCC unroll 4
        for (int l = 0; l < 4; ++l) {
          __m256 a = _mm256_broadcast_ps(reinterpret_cast<const __m128*>(pairs + 4 * ((g + l) * k + i)));
          low[l] = _mm256_fmadd_ps(a, row, low[l]);
          high[l] = _mm256_fmadd_ps(a, next, high[l]);
        }
      }
#pragma GCC unroll 4
      for (int l = 0; l < 4; ++l) {
        _mm256_storeu_ps(sums[4 * (g + l) + place], low[l]);
        _mm256_storeu_ps(sums[4 * (g + l) + place] + 8, high[l]);
      }
    }
  }
}
// Rows g, then rows g + 8: the first and second pair of each lane's registers.
KILN_AVX2 void multiply_16x8_avx2(std::byte* const* d, std::byte* const* c, const float* a, const float* b, int k) {
  __m256 sum[16];
  auto pair = [](std::byte* lane, int h) { return reinterpret_cast<__m64*>(lane) + h; };
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    std::byte* const* lane = c + i % 8 * 4;
    __m128 low = _mm_loadh_pi(_mm_loadl_pi(_mm_setzero_ps(), pair(lane[0], i / 8)), pair(lane[1], i / 8));
    __m128 high = _mm_loadh_pi(_mm_loadl_pi(_mm_setzero_ps(), pair(lane[2], i / 8)), pair(lane[3], i / 8));
    sum[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1);
  }
  for (int h = 0; h < 16; h += 8) {
    __m256 part[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) part[i] = sum[h + i];
    for (int l = 0; l < k; ++l) {
      __m256 row = _mm256_loadu_ps(b + 8 * l);
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i) part[i] = _mm256_fmadd_ps(_mm256_broadcast_ss(a + (h + i) * k + l), row, part[i]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      std::byte* const* lane = d + 4 * i;
      __m128 low = _mm256_castps256_ps128(part[i]), high = _mm256_extractf128_ps(part[i], 1);
      _mm_storel_pi(pair(lane[0], h / 8), low);
      _mm_storeh_pi(pair(lane[1], h / 8), low);
      _mm_storel_pi(pair(lane[2], h / 8), high);
      _mm_storeh_pi(pair(lane[3], h / 8), high);
    }
  }
}
KILN_AVX2 void multiply_int_avx2(uint32_t* d, int ldd, const uint32_t* a, int lda, const uint32_t* b, int ldb, int m, int n, int k) {
  product<Words16, Words8, 2>(d, ldd, a, lda, b, ldb, m, n, k);
}
KILN_AVX512 void multiply_avx512(float* d, int ldd, const float* a, int lda, const float* b, int ldb, int m, int n, int k) {
  product<Floats16, Floats8, 8>(d, ldd, a, lda, b, ldb, m, n, k);
}
KILN_AVX512 void multiply_int_avx512(uint32_t* d, int ldd, const uint32_t* a, int lda, const uint32_t* b, int ldb, int m, int n, int k) {
  product<Words16, Words8, 8>(d, ldd, a, lda, b, ldb, m, n, k);
}

KILN_AVX2 void decode_f16_f16c(const void* from, float* to, int count) {
  for (int i = 0; i < count; i += 8) {
    __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(static_cast<const std::byte*>(from) + 2 * i));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(halves));
  }
}

KILN_AVX2 void multiply_double_avx2(double* d, const double* a, int lda, const double* b, int m, int k) {
  for (int i = 0; i < m; ++i) {
    __m256d low = _mm256_loadu_pd(d + 8 * i), high = _mm256_loadu_pd(d + 8 * i + 4);
    for (int l = 0; l < k; ++l) {
      __m256d x = _mm256_broadcast_sd(a + i * lda + l);
      low = _mm256_fmadd_pd(x, _mm256_loadu_pd(b + 8 * l), low);
      high = _mm256_fmadd_pd(x, _mm256_loadu_pd(b + 8 * l + 4), high);
    }
    _mm256_storeu_pd(d + 8 * i, low);
    _mm256_storeu_pd(d + 8 * i + 4, high);
  }
}
KILN_AVX2 void decode_bf16_avx2(const void* from, float* to, int count) {
  for (int i = 0; i < count; i += 8) {
    __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(static_cast<const std::byte*>(from) + 2 * i));
    _mm256_storeu_ps(to + i, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16)));
  }
}
KILN_AVX2 void decode_s8_avx2(const void* from, uint32_t* to, int count) {
  for (int i = 0; i < count; i += 8) {
    __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(static_cast<const std::byte*>(from) + i));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), _mm256_cvtepi8_epi32(bytes));
  }
}
KILN_AVX2 void decode_u8_avx2(const void* from, uint32_t* to, int count) {
  for (int i = 0; i < count; i += 8) {
    __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(static_cast<const std::byte*>(from) + i));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), _mm256_cvtepu8_epi32(bytes));
  }
}
KILN_AVX2 void encode_f16_f16c(const float* from, void* to, int count) {
  for (int i = 0; i < count; i += 8) {
    __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(static_cast<std::byte*>(to) + 2 * i), halves);
  }
}

// Words, then pairs, then fours change places.
KILN_AVX2 void transpose_avx2(const uint32_t* from, int ldf, uint32_t* to, int ldt) {
  __m256 r[8], s[8];
  for (int i = 0; i < 8; ++i) r[i] = _mm256_loadu_ps(reinterpret_cast<const float*>(from + i * ldf));
  for (int i = 0; i < 8; i += 2) {
    s[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    s[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(s[i], s[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(s[i], s[i + 2], 0xEE);
    r[i + 2] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0xEE);
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(reinterpret_cast<float*>(to + i * ldt), _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    _mm256_storeu_ps(reinterpret_cast<float*>(to + (i + 4) * ldt), _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
  }
}

#undef KILN_AVX2
#undef KILN_AVX512

constexpr Dense kAvx2 = {
    multiply_avx2,    fragments_avx2, multiply_16x8_avx2, multiply_int_avx2, multiply_double_avx2, decode_f16_f16c,
    decode_bf16_avx2, decode_s8_avx2, decode_u8_avx2,     encode_f16_f16c,   transpose_avx2,
};
constexpr Dense kAvx512 = {
    multiply_avx512,  fragments_avx512, multiply_16x8_avx2, multiply_int_avx512, multiply_double_avx2, decode_f16_f16c,
    decode_bf16_avx2, decode_s8_avx2,   decode_u8_avx2,     encode_f16_f16c,     transpose_avx2,
};

const Dense& choose() {
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");  // all that have these have F16C, which clang 14 cannot ask
  if (!avx2) return kPortable;
  bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq");
  return avx512 ? kAvx512 : kAvx2;
}

#else

const Dense& choose() { return kPortable; }

#endif

}  // namespace

const Dense& dense() {
  static const Dense& chosen = choose();
  return chosen;
}

const Dense& portable_dense() { return kPortable; }

}  // namespace kiln::sim
