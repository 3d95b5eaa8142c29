typedef unsigned short bf16;
__device__ __forceinline__ float bf16_to_f32(bf16 v) { return __uint_as_float((unsigned)v << 16); }
// Nearest, ties to even; a NaN stays one.
__device__ __forceinline__ bf16 f32_to_bf16(float x) {
  unsigned bits = __float_as_uint(x);
  return x != x ? 0x7FFF : (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
}
