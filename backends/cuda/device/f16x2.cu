// Two float16 side by side in 32 bits, each rounded to nearest.
__device__ __forceinline__ unsigned f16x2_add(unsigned a, unsigned b) {
  unsigned v;
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b));
  return v;
}
__device__ __forceinline__ unsigned f16x2_sub(unsigned a, unsigned b) {
  unsigned v;
  asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b));
  return v;
}
__device__ __forceinline__ unsigned f16x2_mul(unsigned a, unsigned b) {
  unsigned v;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b));
  return v;
}
__device__ __forceinline__ unsigned f16x2_fma(unsigned a, unsigned b, unsigned c) {
  unsigned v;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(v) : "r"(a), "r"(b), "r"(c));
  return v;
}
__device__ __forceinline__ unsigned f16x2_abs(unsigned a) {
  unsigned v;
  asm("abs.f16x2 %0, %1;" : "=r"(v) : "r"(a));
  return v;
}
