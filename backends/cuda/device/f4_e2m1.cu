typedef unsigned char f4_e2m1;
__device__ __forceinline__ float f4_e2m1_to_f32(f4_e2m1 v) {
  float x = decode_magnitude<1, 1>(v & 0x7);
  return v & 0x8 ? -x : x;
}
// There is no NaN: it becomes the largest value.
__device__ __forceinline__ f4_e2m1 f32_to_f4_e2m1(float x) {
  unsigned bits = __float_as_uint(x);
  return x != x ? 0x7 : encode_magnitude<1, 1, 0x7>(bits & 0x7FFFFFFF) | (bits >> 28 & 0x8);
}
