// One instruction each; .rn keeps a product and a sum apart, each rounded as the program says.
__device__ __forceinline__ f16 f16_add(f16 a, f16 b) {
  f16 v;
  asm("add.rn.f16 %0, %1, %2;" : "=h"(v) : "h"(a), "h"(b));
  return v;
}
__device__ __forceinline__ f16 f16_sub(f16 a, f16 b) {
  f16 v;
  asm("sub.rn.f16 %0, %1, %2;" : "=h"(v) : "h"(a), "h"(b));
  return v;
}
__device__ __forceinline__ f16 f16_mul(f16 a, f16 b) {
  f16 v;
  asm("mul.rn.f16 %0, %1, %2;" : "=h"(v) : "h"(a), "h"(b));
  return v;
}
