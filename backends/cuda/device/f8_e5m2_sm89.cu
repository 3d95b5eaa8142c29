typedef unsigned char f8_e5m2;
__device__ __forceinline__ f16 f8_e5m2_to_f16(f8_e5m2 v) { return v << 8; }
__device__ __forceinline__ float f8_e5m2_to_f32(f8_e5m2 v) { return f16_to_f32(v << 8); }
// Nearest, ties to even; beyond the largest finite value, infinities included, that value.
__device__ __forceinline__ f8_e5m2 f32_to_f8_e5m2(float x) {
  unsigned short pair;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
  return (f8_e5m2)pair;
}
