__device__ __forceinline__ bf16 bf16_add(bf16 a, bf16 b) {
  bf16 v;
  asm("add.rn.bf16 %0, %1, %2;" : "=h"(v) : "h"(a), "h"(b));
  return v;
}
__device__ __forceinline__ bf16 bf16_sub(bf16 a, bf16 b) {
  bf16 v;
  asm("sub.rn.bf16 %0, %1, %2;" : "=h"(v) : "h"(a), "h"(b));
  return v;
}
__device__ __forceinline__ bf16 bf16_mul(bf16 a, bf16 b) {
  bf16 v;
  asm("mul.rn.bf16 %0, %1, %2;" : "=h"(v) : "h"(a), "h"(b));
  return v;
}
