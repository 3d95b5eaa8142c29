typedef uint16_t f16;
#if defined(__FLT16_MAX__) && !defined(__cplusplus)
static inline float f16_to_f32(f16 h) {
  _Float16 x;
  memcpy(&x, &h, sizeof x);
  return (float)x;
}
static inline f16 f32_to_f16(float x) {
  _Float16 y = (_Float16)x;
  f16 h;
  memcpy(&h, &y, sizeof h);
  return h;
}
#else
static inline float f16_to_f32(f16 h) {
  uint32_t magnitude = h & 0x7FFF;
  float x = bits_to_f32(magnitude << 13) * 0x1p112f;
  if (magnitude >= 0x7C00) x = bits_to_f32(0x7F800000 | (magnitude & 0x3FF) << 13);
  return h & 0x8000 ? -x : x;
}
static inline f16 f32_to_f16(float x) {
  uint16_t sign = (uint16_t)(f32_to_bits(x) >> 16 & 0x8000);
  if (x != x) return sign | 0x7E00;
  uint32_t code = round_float(fabs((double)x), 10, 15);
  return sign | (uint16_t)(code > 0x7C00 ? 0x7C00 : code);
}
#endif
static inline f16 f64_to_f16(double x) {
  uint16_t sign = (uint16_t)(f64_to_bits(x) >> 48 & 0x8000);
  if (x != x) return sign | 0x7E00;
  uint32_t code = round_float(fabs(x), 10, 15);
  return sign | (uint16_t)(code > 0x7C00 ? 0x7C00 : code);
}
