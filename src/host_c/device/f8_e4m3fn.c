typedef uint8_t f8_e4m3fn;
static inline float f8_e4m3fn_to_f32(f8_e4m3fn v) { return (v & 0x7F) == 0x7F ? NAN : decode_f8(v, 3, 7); }
static inline f8_e4m3fn f64_to_f8_e4m3fn(double x) { return encode_f8(x, 3, 7, 0x7E, 0x7F); }
static inline f8_e4m3fn f32_to_f8_e4m3fn(float x) { return f64_to_f8_e4m3fn(x); }
