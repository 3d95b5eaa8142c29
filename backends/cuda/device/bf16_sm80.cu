typedef unsigned short bf16;
__device__ __forceinline__ float bf16_to_f32(bf16 v) { return __uint_as_float((unsigned)v << 16); }
__device__ __forceinline__ bf16 f32_to_bf16(float x) {
  bf16 v;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(v) : "f"(x));
  return v;
}
