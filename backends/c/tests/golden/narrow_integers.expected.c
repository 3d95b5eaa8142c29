#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
#define restrict __restrict__
#endif

#ifdef __cplusplus
extern "C" {
#endif

// k(A: uint8[4], B: int16[4])
int32_t k(const uint8_t* restrict A, int16_t* restrict B) {
  for (int32_t i = 0; i < 4; ++i) {
    B[i] = (int16_t)((int16_t)(uint8_t)((uint8_t)(A[i] << 4) >> 4) + B[i]);
  }
  return 0;
}

#ifdef __cplusplus
}
#endif
