typedef unsigned char f8_e5m2;
__device__ __forceinline__ f16 f8_e5m2_to_f16(f8_e5m2 v) { return v << 8; }
__device__ __forceinline__ float f8_e5m2_to_f32(f8_e5m2 v) { return f16_to_f32(v << 8); }
// Nearest, ties to even; beyond the largest finite value, infinities included, that value.
__device__ __forceinline__ f8_e5m2 f32_to_f8_e5m2(float x) {
  unsigned bits = __float_as_uint(x), sign = bits >> 24 & 0x80;
  bits &= 0x7FFFFFFF;
  if (bits > 0x7F800000) return sign | 0x7F;
  if (bits >= 0x47600000) return sign | 0x7B;  // 57344
  if (bits < 0x38800000) return sign | (__float_as_uint(__fadd_rn(__uint_as_float(bits), 128.0f)) - 0x43000000);  // multiples of 2^-16
  return sign | (((bits + 0xFFFFF + (bits >> 21 & 1)) >> 21) - (112 << 2));
}
