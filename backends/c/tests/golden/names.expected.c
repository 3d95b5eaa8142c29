#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
#define restrict __restrict__
#endif

#ifdef __cplusplus
extern "C" {
#endif

// main(int: float32[4], expf: float32)
int32_t main_kernel(float* restrict int_1, float expf_1) {
  for (int32_t restrict_1 = 0; restrict_1 < 4; ++restrict_1) {
    int_1[restrict_1] = expf(expf_1);
  }
  return 0;
}

#ifdef __cplusplus
}
#endif
