typedef unsigned char f8_e5m2fnuz;
__device__ __forceinline__ float f8_e5m2fnuz_to_f32(f8_e5m2fnuz v) {
  if (v == 0x80) return __uint_as_float(0x7FFFFFFF);
  float x = decode_magnitude<2, 16>(v & 0x7F);
  return v & 0x80 ? -x : x;
}
// There is no negative zero: its code is the NaN.
__device__ __forceinline__ f8_e5m2fnuz f32_to_f8_e5m2fnuz(float x) {
  unsigned bits = __float_as_uint(x), code = encode_magnitude<2, 16, 0x7F>(bits & 0x7FFFFFFF);
  return x != x ? 0x80 : code == 0 ? 0 : code | (bits >> 24 & 0x80);
}
