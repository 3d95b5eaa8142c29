typedef unsigned char f8_e3m4;
__device__ __forceinline__ float f8_e3m4_to_f32(f8_e3m4 v) {
  unsigned magnitude = v & 0x7F;
  float x = magnitude < 0x70 ? decode_magnitude<4, 3>(magnitude) : __uint_as_float(magnitude == 0x70 ? 0x7F800000 : 0x7FFFFFFF);
  return v & 0x80 ? -x : x;
}
__device__ __forceinline__ f8_e3m4 f32_to_f8_e3m4(float x) {
  unsigned bits = __float_as_uint(x), sign = bits >> 24 & 0x80;
  return sign | (x != x ? 0x78 : encode_magnitude<4, 3, 0x6F>(bits & 0x7FFFFFFF));
}
