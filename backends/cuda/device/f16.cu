typedef unsigned short f16;
__device__ __forceinline__ float f16_to_f32(f16 v) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(v));
  return x;
}
__device__ __forceinline__ f16 f32_to_f16(float x) {
  f16 v;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(v) : "f"(x));
  return v;
}
