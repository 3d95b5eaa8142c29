typedef unsigned char f8_e8m0fnu;
__device__ __forceinline__ float f8_e8m0fnu_to_f32(f8_e8m0fnu v) {
  return __uint_as_float(v == 0xFF ? 0x7FFFFFFF : v == 0 ? 0x00400000 : (unsigned)v << 23);
}
// Nearest power of two, ties to the even code; zero and negative values give the smallest.
__device__ __forceinline__ f8_e8m0fnu f32_to_f8_e8m0fnu(float x) {
  unsigned bits = __float_as_uint(x);
  if (x != x) return 0xFF;
  if ((int)bits <= 0x00600000) return 0;
  if (bits < 0x00800000) return 1;
  unsigned code = (bits + 0x3FFFFF + (bits >> 23 & 1)) >> 23;
  return code < 0xFE ? code : 0xFE;
}
