// Formats of a sign, an exponent and a mantissa field: the value of the lower two fields, and back.
template <int mantissa, int bias>
__device__ __forceinline__ float decode_magnitude(unsigned magnitude) {
  if (magnitude >> mantissa) return __uint_as_float((magnitude << (23 - mantissa)) + ((127 - bias) << 23));
  return (float)magnitude * __uint_as_float((128 - bias - mantissa) << 23);
}
// Nearest to the float32 of these bits (not negative, no NaN), ties to even; beyond the largest finite value that value.
template <int mantissa, int bias, unsigned largest>
__device__ __forceinline__ unsigned encode_magnitude(unsigned bits) {
  const unsigned multiple = (151 - bias - mantissa) << 23;  // its last bit is worth the smallest value
  unsigned code = ((bits + (1 << (22 - mantissa)) - 1 + (bits >> (23 - mantissa) & 1)) >> (23 - mantissa)) - ((127 - bias) << mantissa);
  if (bits < (128 - bias) << 23) code = __float_as_uint(__fadd_rn(__uint_as_float(bits), __uint_as_float(multiple))) - multiple;
  return code < largest ? code : largest;
}
