#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
#define restrict __restrict__
#endif

#ifdef __cplusplus
extern "C" {
#endif

// k(A: float32[64], n: int32)
int32_t k(float* A, int32_t n) {
  {
    float lanes[4];
    for (int32_t e = 0; e < 4; ++e) {
      const float x = A[9];
      lanes[e] = x * x + A[e];
    }
    for (int32_t e = 0; e < 4; ++e) {
      A[e] = lanes[e];
    }
  }
  while (true) {
    bool chosen[1];
    if (n > 3) {
      const float x = A[3];
      chosen[0] = x > 1.0f;
    } else {
      chosen[0] = false;
    }
    if (!chosen[0]) {
      break;
    }
    A[3] -= 1.0f;
  }
  return 0;
}

#ifdef __cplusplus
}
#endif
