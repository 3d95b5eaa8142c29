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
    for (int32_t e = 0; e < 4; ++e) {
      lanes[e] = A[1 + e];
    }
    for (int32_t e = 0; e < 4; ++e) {
      A[e] = lanes[e];
    }
  }
  for (int32_t e = 0; e < 4; ++e) {
    A[4 + e] *= 2.0f;
  }
  return 0;
}

#ifdef __cplusplus
}
#endif
