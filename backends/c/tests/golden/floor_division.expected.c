#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
#define restrict __restrict__
#endif

static inline int32_t floor_div_i32(int32_t a, int32_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
static inline int32_t floor_mod_i32(int32_t a, int32_t b) {
  int32_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static inline int64_t floor_div_i64(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
static inline int64_t floor_mod_i64(int64_t a, int64_t b) {
  int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

#ifdef __cplusplus
extern "C" {
#endif

// k(A: int32[4], n: int32)
int32_t k(int32_t* restrict A, int32_t n) {
  A[0] = A[0] >> 3;
  A[1] = A[1] & 7;
  A[2] = floor_div_i32(A[2], n);
  A[3] = floor_mod_i32(A[3], n);
  return 0;
}

#ifdef __cplusplus
}
#endif
