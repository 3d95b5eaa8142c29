typedef uint8_t f8_e5m2;
static inline float f8_e5m2_to_f32(f8_e5m2 v) {
  if ((v & 0x7F) > 0x7C) return NAN;
  if ((v & 0x7F) == 0x7C) return v & 0x80 ? -INFINITY : INFINITY;
  return decode_f8(v, 2, 15);
}
static inline f8_e5m2 f64_to_f8_e5m2(double x) { return encode_f8(x, 2, 15, 0x7B, 0x7E); }
static inline f8_e5m2 f32_to_f8_e5m2(float x) { return f64_to_f8_e5m2(x); }
