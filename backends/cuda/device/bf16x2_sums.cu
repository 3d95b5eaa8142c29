// a * 1 + b, a - b * 1 and a * b - 0: what there is before sm_90, with the same result.
__device__ __forceinline__ unsigned bf16x2_add(unsigned a, unsigned b) { return bf16x2_fma(a, 0x3F803F80, b); }
__device__ __forceinline__ unsigned bf16x2_sub(unsigned a, unsigned b) { return bf16x2_fma(b, 0xBF80BF80, a); }
__device__ __forceinline__ unsigned bf16x2_mul(unsigned a, unsigned b) { return bf16x2_fma(a, b, 0x80008000); }
