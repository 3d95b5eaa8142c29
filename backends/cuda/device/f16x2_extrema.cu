// Two float16 side by side: the other operand where one is NaN, or NaN.
__device__ __forceinline__ unsigned f16x2_max(unsigned a, unsigned b) {
  unsigned v;
  asm("max.f16x2 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b));
  return v;
}
__device__ __forceinline__ unsigned f16x2_max_nan(unsigned a, unsigned b) {
  unsigned v;
  asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b));
  return v;
}
__device__ __forceinline__ unsigned f16x2_min(unsigned a, unsigned b) {
  unsigned v;
  asm("min.f16x2 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b));
  return v;
}
__device__ __forceinline__ unsigned f16x2_min_nan(unsigned a, unsigned b) {
  unsigned v;
  asm("min.NaN.f16x2 %0, %1, %2;" : "=r"(v) : "r"(a), "r"(b));
  return v;
}
