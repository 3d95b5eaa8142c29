typedef uint8_t f8_e8m0fnu;
static inline float f8_e8m0fnu_to_f32(f8_e8m0fnu v) {
  if (v == 0xFF) return NAN;
  return v == 0 ? 0x1p-127f : bits_to_f32((uint32_t)v << 23);
}
// Nearest power of two, ties to the even exponent code; zero and negative values give the smallest.
static inline f8_e8m0fnu f64_to_f8_e8m0fnu(double x) {
  if (x != x) return 0xFF;
  if (x <= 0x1p-127) return 0;
  if (x >= 0x1p127) return 0xFE;
  uint64_t u = f64_to_bits(x);
  uint32_t code = (uint32_t)(u >> 52) - 1023 + 127;
  uint64_t rest = u << 12;
  return (uint8_t)(code + (rest > UINT64_C(1) << 63 || (rest == UINT64_C(1) << 63 && (code & 1))));
}
static inline f8_e8m0fnu f32_to_f8_e8m0fnu(float x) { return f64_to_f8_e8m0fnu(x); }
