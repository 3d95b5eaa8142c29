// Two float32 side by side in 64 bits, each rounded to nearest.
__device__ __forceinline__ unsigned long long pair_of_floats(float first, float second) {
  return __float_as_uint(first) | (unsigned long long)__float_as_uint(second) << 32;
}
__device__ __forceinline__ float first_float(unsigned long long pair) { return __uint_as_float((unsigned)pair); }
__device__ __forceinline__ float second_float(unsigned long long pair) { return __uint_as_float((unsigned)(pair >> 32)); }
__device__ __forceinline__ unsigned long long f32x2_add(unsigned long long a, unsigned long long b) {
  unsigned long long v;
  asm("add.rn.f32x2 %0, %1, %2;" : "=l"(v) : "l"(a), "l"(b));
  return v;
}
__device__ __forceinline__ unsigned long long f32x2_sub(unsigned long long a, unsigned long long b) {
  unsigned long long v;
  asm("sub.rn.f32x2 %0, %1, %2;" : "=l"(v) : "l"(a), "l"(b));
  return v;
}
__device__ __forceinline__ unsigned long long f32x2_mul(unsigned long long a, unsigned long long b) {
  unsigned long long v;
  asm("mul.rn.f32x2 %0, %1, %2;" : "=l"(v) : "l"(a), "l"(b));
  return v;
}
__device__ __forceinline__ unsigned long long f32x2_fma(unsigned long long a, unsigned long long b, unsigned long long c) {
  unsigned long long v;
  asm("fma.rn.f32x2 %0, %1, %2, %3;" : "=l"(v) : "l"(a), "l"(b), "l"(c));
  return v;
}
