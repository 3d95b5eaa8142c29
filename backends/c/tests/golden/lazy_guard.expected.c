#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
#define restrict __restrict__
#endif

#ifdef __cplusplus
extern "C" {
#endif

// k(A: float32[?], C: float32[4], n: int32)
int32_t k(const float* restrict A, float* restrict C, int32_t n) {
  for (int32_t e = 0; e < 4; ++e) {
    C[e] = n > 4 ? A[e] : 0.0f;
  }
  return 0;
}

#ifdef __cplusplus
}
#endif
