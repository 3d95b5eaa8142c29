// To float32, with an odd last bit when inexact, so that rounding once more to a format of at most 22 bits is as rounding once.
__device__ __forceinline__ float f64_to_f32_odd(double x) {
  float r = __double2float_rz(x);
  return r != x && x == x ? __uint_as_float(__float_as_uint(r) | 1) : r;
}
__device__ __forceinline__ float i32_to_f32_odd(int x) {
  float r = __int2float_rz(x);
  return r != (double)x ? __uint_as_float(__float_as_uint(r) | 1) : r;
}
__device__ __forceinline__ float u32_to_f32_odd(unsigned x) {
  float r = __uint2float_rz(x);
  return r != (double)x ? __uint_as_float(__float_as_uint(r) | 1) : r;
}
// Truncated, they are exact in the integer type again.
__device__ __forceinline__ float i64_to_f32_odd(long long x) {
  float r = __ll2float_rz(x);
  return (long long)r != x ? __uint_as_float(__float_as_uint(r) | 1) : r;
}
__device__ __forceinline__ float u64_to_f32_odd(unsigned long long x) {
  float r = __ull2float_rz(x);
  return (unsigned long long)r != x ? __uint_as_float(__float_as_uint(r) | 1) : r;
}
