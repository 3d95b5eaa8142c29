#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
#define restrict __restrict__
#endif

static inline uint32_t f32_to_bits(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}
static inline float bits_to_f32(uint32_t u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}
static inline uint64_t f64_to_bits(double x) {
  uint64_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}
static inline double bits_to_f64(uint64_t u) {
  double x;
  memcpy(&x, &u, sizeof x);
  return x;
}

// Exponent and mantissa fields of a non-negative value in a smaller format: nearest, ties to even; too large a value gives too large a code.
static inline uint32_t round_float(double x, int mantissa_bits, int bias) {
  if (x > 1e300) return UINT32_MAX;
  int e = (int)(f64_to_bits(x) >> 52) - 1023;
  if (e < 1 - bias) e = 1 - bias;  // subnormal in the smaller format
  double unit = bits_to_f64((uint64_t)(mantissa_bits - e + 1023) << 52);
  return ((uint32_t)(e + bias - 1) << mantissa_bits) + (uint32_t)nearbyint(x * unit);
}

typedef uint16_t f16;
#if defined(__FLT16_MAX__) && !defined(__cplusplus)
static inline float f16_to_f32(f16 h) {
  _Float16 x;
  memcpy(&x, &h, sizeof x);
  return (float)x;
}
static inline f16 f32_to_f16(float x) {
  _Float16 y = (_Float16)x;
  f16 h;
  memcpy(&h, &y, sizeof h);
  return h;
}
#else
static inline float f16_to_f32(f16 h) {
  uint32_t magnitude = h & 0x7FFF;
  float x = bits_to_f32(magnitude << 13) * 0x1p112f;
  if (magnitude >= 0x7C00) x = bits_to_f32(0x7F800000 | (magnitude & 0x3FF) << 13);
  return h & 0x8000 ? -x : x;
}
static inline f16 f32_to_f16(float x) {
  uint16_t sign = (uint16_t)(f32_to_bits(x) >> 16 & 0x8000);
  if (x != x) return sign | 0x7E00;
  uint32_t code = round_float(fabs((double)x), 10, 15);
  return sign | (uint16_t)(code > 0x7C00 ? 0x7C00 : code);
}
#endif
static inline f16 f64_to_f16(double x) {
  uint16_t sign = (uint16_t)(f64_to_bits(x) >> 48 & 0x8000);
  if (x != x) return sign | 0x7E00;
  uint32_t code = round_float(fabs(x), 10, 15);
  return sign | (uint16_t)(code > 0x7C00 ? 0x7C00 : code);
}

#ifdef __cplusplus
extern "C" {
#endif

// k(A: float32[64], H: float16[64], I8: int8[64], U: uint64[64], n: int32, f: float64, h: float16, b: bool)
int32_t k(float* restrict A, f16* restrict H, int8_t* restrict I8, uint64_t* restrict U, int32_t n, double f, f16 h,
    bool b) {
  float chosen[1];
  if (n > 2) {
    float previous[1];
    previous[0] = A[n];
    A[n] = previous[0] + 2.0f;
    chosen[0] = previous[0];
  } else {
    chosen[0] = 0.0f;
  }
  A[1] = chosen[0];
  return 0;
}

#ifdef __cplusplus
}
#endif
