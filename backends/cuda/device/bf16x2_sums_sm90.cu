// Two bfloat16 side by side in 32 bits, each rounded to nearest.
__device__ __forceinline__ unsigned bf16x2_add(unsigned a, unsigned b) {
  unsigned v;
  asm("add.rn.bf16x2 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b));
  return v;
}
__device__ __forceinline__ unsigned bf16x2_sub(unsigned a, unsigned b) {
  unsigned v;
  asm("sub.rn.bf16x2 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b));
  return v;
}
__device__ __forceinline__ unsigned bf16x2_mul(unsigned a, unsigned b) {
  unsigned v;
  asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b));
  return v;
}
