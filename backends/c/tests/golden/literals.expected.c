#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
#define restrict __restrict__
#endif

#ifdef __cplusplus
extern "C" {
#endif

// k(A: float32[4], B: int64[4])
int32_t k(float* restrict A, int64_t* restrict B) {
  A[0] = 1e-40f;
  A[1] = -INFINITY;
  A[2] = NAN;
  A[3] = -0.0f;
  B[0] = INT64_MIN;
  B[1] = 65536LL * 65536LL;
  B[2] = 1LL << B[3];
  return 0;
}

#ifdef __cplusplus
}
#endif
