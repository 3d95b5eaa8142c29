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

#ifdef __cplusplus
extern "C" {
#endif

// k(A: uint8[8], B: float32[2])
int32_t k(uint8_t* restrict A, float* restrict B) {
  B[0] = bits_to_f32((uint32_t)A[0] | ((uint32_t)A[1] << 8) | ((uint32_t)A[2] << 16) | ((uint32_t)A[3] << 24));
  for (int32_t e = 0; e < 4; ++e) {
    A[4 + e] = (uint8_t)(f32_to_bits(B[1]) >> (uint32_t)(e % 4 * 8));
  }
  return 0;
}

#ifdef __cplusplus
}
#endif
