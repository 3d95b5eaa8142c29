// Two elements side by side: the first is the lower byte, or half.
__device__ __forceinline__ unsigned short f32x2_to_f8_e4m3x2(float first, float second) {
  unsigned short pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(second), "f"(first));
  return pair;
}
__device__ __forceinline__ unsigned f8_e4m3x2_to_f16x2(unsigned char first, unsigned char second) {
  unsigned pair;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"((unsigned short)(first | second << 8)));
  return pair;
}
