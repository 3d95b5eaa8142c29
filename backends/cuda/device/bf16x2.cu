// Two bfloat16 side by side in 32 bits.
__device__ __forceinline__ unsigned bf16x2_fma(unsigned a, unsigned b, unsigned c) {
  unsigned v;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(v) : "r"(a), "r"(b), "r"(c));
  return v;
}
__device__ __forceinline__ unsigned bf16x2_abs(unsigned a) {
  unsigned v;
  asm("abs.bf16x2 %0, %1;" : "=r"(v) : "r"(a));
  return v;
}
__device__ __forceinline__ unsigned bf16x2_max(unsigned a, unsigned b) {
  unsigned v;
  asm("max.bf16x2 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b));
  return v;
}
__device__ __forceinline__ unsigned bf16x2_max_nan(unsigned a, unsigned b) {
  unsigned v;
  asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b));
  return v;
}
__device__ __forceinline__ unsigned bf16x2_min(unsigned a, unsigned b) {
  unsigned v;
  asm("min.bf16x2 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b));
  return v;
}
__device__ __forceinline__ unsigned bf16x2_min_nan(unsigned a, unsigned b) {
  unsigned v;
  asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b));
  return v;
}
