typedef uint16_t bf16;
static inline float bf16_to_f32(bf16 h) { return bits_to_f32((uint32_t)h << 16); }
static inline bf16 f32_to_bf16(float x) {
  uint32_t u = f32_to_bits(x);
  if (x != x) return (bf16)(u >> 16 | 0x40);
  return (bf16)((u + 0x7FFF + (u >> 16 & 1)) >> 16);
}
static inline bf16 f64_to_bf16(double x) {
  uint16_t sign = (uint16_t)(f64_to_bits(x) >> 48 & 0x8000);
  if (x != x) return sign | 0x7FC0;
  uint32_t code = round_float(fabs(x), 7, 127);
  return sign | (uint16_t)(code > 0x7F80 ? 0x7F80 : code);
}
