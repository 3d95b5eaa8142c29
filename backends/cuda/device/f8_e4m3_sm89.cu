typedef unsigned char f8_e4m3;
__device__ __forceinline__ f16 f8_e4m3_to_f16(f8_e4m3 v) {
  unsigned pair;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"((unsigned short)v));
  return (f16)pair;
}
__device__ __forceinline__ float f8_e4m3_to_f32(f8_e4m3 v) { return f16_to_f32(f8_e4m3_to_f16(v)); }
// Nearest, ties to even; beyond the largest finite value, infinities included, that value.
__device__ __forceinline__ f8_e4m3 f32_to_f8_e4m3(float x) {
  unsigned short pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
  return (f8_e4m3)pair;
}
