typedef uint8_t f8_e5m2fnuz;
static inline float f8_e5m2fnuz_to_f32(f8_e5m2fnuz v) { return v == 0x80 ? NAN : decode_f8(v, 2, 16); }
static inline f8_e5m2fnuz f64_to_f8_e5m2fnuz(double x) {
  uint8_t code = encode_f8(x, 2, 16, 0x7F, 0x80);
  return x == x && code == 0x80 ? 0 : code;  // 0x80 is the NaN: no negative zero
}
static inline f8_e5m2fnuz f32_to_f8_e5m2fnuz(float x) { return f64_to_f8_e5m2fnuz(x); }
