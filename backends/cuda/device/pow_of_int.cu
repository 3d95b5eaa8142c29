template <int exponent, class T>
__device__ __forceinline__ T pow_of_int(T x) {
  T product = 1;
#pragma unroll
  for (int i = 0; i < exponent; ++i) product *= x;
  return product;
}
