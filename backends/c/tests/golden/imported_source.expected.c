#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
#define restrict __restrict__
#endif

static float twice(float x) { return 2 * x; }

#ifdef __cplusplus
extern "C" {
#endif

// k(A: float32[64], n: int32)
int32_t k(float* A, int32_t n) {
  A[0] = twice(A[1]);
  const int32_t twice_1 = n;
  A[1] = (float)twice_1;
  return 0;
}

#ifdef __cplusplus
}
#endif
