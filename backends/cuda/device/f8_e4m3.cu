typedef unsigned char f8_e4m3;
// float16 has the same fields with a larger bias: 15 in place of 7.
__device__ __forceinline__ float f8_e4m3_to_f32(f8_e4m3 v) {
  if ((v & 0x7F) == 0x7F) return __int_as_float(0x7FFFFFFF);
  return 256.0f * f16_to_f32((v & 0x80) << 8 | (v & 0x7F) << 7);
}
__device__ __forceinline__ f16 f8_e4m3_to_f16(f8_e4m3 v) { return f32_to_f16(f8_e4m3_to_f32(v)); }
// Nearest, ties to even; beyond the largest finite value, infinities included, that value.
__device__ __forceinline__ f8_e4m3 f32_to_f8_e4m3(float x) {
  unsigned bits = __float_as_uint(x), sign = bits >> 24 & 0x80;
  bits &= 0x7FFFFFFF;
  if (bits > 0x7F800000) return sign | 0x7F;
  if (bits >= 0x43E00000) return sign | 0x7E;  // 448
  if (bits < 0x3C800000) return sign | (__float_as_uint(__fadd_rn(__uint_as_float(bits), 16384.0f)) - 0x46800000);  // multiples of 2^-9
  return sign | (((bits + 0x7FFFF + (bits >> 20 & 1)) >> 20) - (120 << 3));
}
