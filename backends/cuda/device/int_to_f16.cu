// Nearest, ties to even.
__device__ __forceinline__ f16 i32_to_f16(int x) {
  f16 v;
  asm("cvt.rn.f16.s32 %0, %1;" : "=h"(v) : "r"(x));
  return v;
}
__device__ __forceinline__ f16 u32_to_f16(unsigned x) {
  f16 v;
  asm("cvt.rn.f16.u32 %0, %1;" : "=h"(v) : "r"(x));
  return v;
}
