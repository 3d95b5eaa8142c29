// Sign, exponent and mantissa fields of 8 bits as a value; what is special in a format is for the caller.
static inline float decode_f8(uint8_t v, int mantissa_bits, int bias) {
  float x = bits_to_f32((uint32_t)(v & 0x7F) << (23 - mantissa_bits)) * bits_to_f32((uint32_t)(254 - bias) << 23);
  return v & 0x80 ? -x : x;
}
// Nearest value, ties to even; beyond the largest finite value, infinities included, that value.
static inline uint8_t encode_f8(double x, int mantissa_bits, int bias, uint8_t largest, uint8_t nan) {
  uint8_t sign = (uint8_t)(f64_to_bits(x) >> 56 & 0x80);
  if (x != x) return nan | sign;
  uint32_t code = round_float(fabs(x), mantissa_bits, bias);
  return sign | (uint8_t)(code > largest ? largest : code);
}
