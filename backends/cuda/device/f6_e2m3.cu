typedef unsigned char f6_e2m3;
__device__ __forceinline__ float f6_e2m3_to_f32(f6_e2m3 v) {
  float x = decode_magnitude<3, 1>(v & 0x1F);
  return v & 0x20 ? -x : x;
}
// There is no NaN: it becomes the largest value.
__device__ __forceinline__ f6_e2m3 f32_to_f6_e2m3(float x) {
  unsigned bits = __float_as_uint(x);
  return x != x ? 0x1F : encode_magnitude<3, 1, 0x1F>(bits & 0x7FFFFFFF) | (bits >> 26 & 0x20);
}
