typedef uint8_t f8_e3m4;
static inline float f8_e3m4_to_f32(f8_e3m4 v) {
  if ((v & 0x7F) > 0x70) return NAN;
  if ((v & 0x7F) == 0x70) return v & 0x80 ? -INFINITY : INFINITY;
  return decode_f8(v, 4, 3);
}
static inline f8_e3m4 f64_to_f8_e3m4(double x) { return encode_f8(x, 4, 3, 0x6F, 0x78); }
static inline f8_e3m4 f32_to_f8_e3m4(float x) { return f64_to_f8_e3m4(x); }
