#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
#define restrict __restrict__
#endif

#ifdef __cplusplus
extern "C" {
#endif

// k(A: float32[8])
int32_t k(float* restrict A) {
  {
    float lanes[4];
    for (int32_t lane = 0; lane < 4; ++lane) {
      lanes[lane] = A[1 + lane];
    }
    for (int32_t lane = 0; lane < 4; ++lane) {
      A[lane] = lanes[lane];
    }
  }
  for (int32_t lane = 0; lane < 4; ++lane) {
    A[4 + lane] = A[4 + lane] * 2.0f;
  }
  return 0;
}

#ifdef __cplusplus
}
#endif
