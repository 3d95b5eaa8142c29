// Exponent and mantissa fields of a non-negative value in a smaller format: nearest, ties to even; too large a value gives too large a code.
static inline uint32_t round_float(double x, int mantissa_bits, int bias) {
  if (x > 1e300) return UINT32_MAX;
  int e = (int)(f64_to_bits(x) >> 52) - 1023;
  if (e < 1 - bias) e = 1 - bias;  // subnormal in the smaller format
  double unit = bits_to_f64((uint64_t)(mantissa_bits - e + 1023) << 52);
  return ((uint32_t)(e + bias - 1) << mantissa_bits) + (uint32_t)nearbyint(x * unit);
}
