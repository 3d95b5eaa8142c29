// Two elements side by side: the first is the lower byte.
__device__ __forceinline__ unsigned short f32x2_to_f8_e5m2x2(float first, float second) {
  unsigned short pair;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(second), "f"(first));
  return pair;
}
