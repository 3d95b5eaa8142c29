// Functions of CUDA on integers and bits, without their two underscores.
static inline int cuda_popc(uint32_t x) { return __builtin_popcount(x); }
static inline int cuda_popcll(uint64_t x) { return __builtin_popcountll(x); }
static inline int cuda_clz(int32_t x) { return x ? __builtin_clz((uint32_t)x) : 32; }
static inline int cuda_clzll(int64_t x) { return x ? __builtin_clzll((uint64_t)x) : 64; }
static inline int cuda_ffs(int32_t x) { return x ? __builtin_ctz((uint32_t)x) + 1 : 0; }
static inline int cuda_ffsll(int64_t x) { return x ? __builtin_ctzll((uint64_t)x) + 1 : 0; }
static inline uint32_t cuda_brev(uint32_t x) {
  uint32_t r = 0;
  for (int i = 0; i < 32; ++i) r |= (x >> i & 1) << (31 - i);
  return r;
}
static inline uint64_t cuda_brevll(uint64_t x) { return (uint64_t)cuda_brev((uint32_t)x) << 32 | cuda_brev((uint32_t)(x >> 32)); }
static inline int32_t cuda_mulhi(int32_t a, int32_t b) { return (int32_t)((int64_t)a * b >> 32); }
static inline uint32_t cuda_umulhi(uint32_t a, uint32_t b) { return (uint32_t)((uint64_t)a * b >> 32); }
static inline int64_t cuda_mul64hi(int64_t a, int64_t b) { return (int64_t)((__int128)a * b >> 64); }
static inline uint64_t cuda_umul64hi(uint64_t a, uint64_t b) { return (uint64_t)((unsigned __int128)a * b >> 64); }
static inline int32_t cuda_mul24(int32_t a, int32_t b) { return (a << 8 >> 8) * (b << 8 >> 8); }
static inline uint32_t cuda_umul24(uint32_t a, uint32_t b) { return (a & 0xFFFFFF) * (b & 0xFFFFFF); }
static inline uint32_t cuda_sad(int32_t a, int32_t b, uint32_t c) { return (uint32_t)(a > b ? (int64_t)a - b : (int64_t)b - a) + c; }
static inline uint32_t cuda_usad(uint32_t a, uint32_t b, uint32_t c) { return (a > b ? a - b : b - a) + c; }
static inline int32_t cuda_rhadd(int32_t a, int32_t b) { return (int32_t)(((int64_t)a + b + 1) >> 1); }
static inline uint32_t cuda_urhadd(uint32_t a, uint32_t b) { return (uint32_t)(((uint64_t)a + b + 1) >> 1); }
static inline uint32_t cuda_byte_perm(uint32_t x, uint32_t y, uint32_t selector) {
  const uint64_t bytes = (uint64_t)y << 32 | x;
  uint32_t r = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t s = selector >> (4 * i), byte = (uint32_t)(bytes >> (8 * (s & 7))) & 0xFF;
    r |= (s & 8 ? (byte & 0x80 ? 0xFF : 0) : byte) << (8 * i);
  }
  return r;
}
static inline uint32_t cuda_funnelshift_l(uint32_t low, uint32_t high, uint32_t n) {
  return (uint32_t)(((uint64_t)high << 32 | low) << (n & 31) >> 32);
}
static inline uint32_t cuda_funnelshift_r(uint32_t low, uint32_t high, uint32_t n) {
  return (uint32_t)(((uint64_t)high << 32 | low) >> (n & 31));
}
static inline uint32_t cuda_funnelshift_lc(uint32_t low, uint32_t high, uint32_t n) {
  return n >= 32 ? low : cuda_funnelshift_l(low, high, n);
}
static inline uint32_t cuda_funnelshift_rc(uint32_t low, uint32_t high, uint32_t n) {
  return n >= 32 ? high : cuda_funnelshift_r(low, high, n);
}
static inline int32_t cuda_dp4a(int32_t a, int32_t b, int32_t c) {
  for (int i = 0; i < 4; ++i) c += (int8_t)(a >> (8 * i)) * (int8_t)(b >> (8 * i));
  return c;
}
static inline uint32_t cuda_dp4a_u(uint32_t a, uint32_t b, uint32_t c) {
  for (int i = 0; i < 4; ++i) c += (uint8_t)(a >> (8 * i)) * (uint32_t)(uint8_t)(b >> (8 * i));
  return c;
}
static inline int32_t cuda_dp2a_lo(int32_t a, int32_t b, int32_t c) {
  return c + (int16_t)a * (int8_t)b + (int16_t)(a >> 16) * (int8_t)(b >> 8);
}
static inline int32_t cuda_dp2a_hi(int32_t a, int32_t b, int32_t c) { return cuda_dp2a_lo(a, b >> 16, c); }
static inline uint32_t cuda_dp2a_lo_u(uint32_t a, uint32_t b, uint32_t c) { return c + (a & 0xFFFF) * (b & 0xFF) + (a >> 16) * (b >> 8 & 0xFF); }
static inline uint32_t cuda_dp2a_hi_u(uint32_t a, uint32_t b, uint32_t c) { return cuda_dp2a_lo_u(a, b >> 16, c); }
// The offset-th bit that is set, from bit `base` on upwards, or downwards with a negative offset (PTX ISA 9.0, 9.7.1.18, fns).
static inline uint32_t cuda_fns(uint32_t mask, uint32_t base, int32_t offset) {
  const int step = offset < 0 ? -1 : 1;
  int left = offset < 0 ? -offset : offset ? offset : 1;
  for (int i = (int)base; i >= 0 && i < 32; i += step) {
    if (mask >> i & 1 && --left == 0) return (uint32_t)i;
    if (offset == 0) break;
  }
  return 0xFFFFFFFF;
}
static inline int32_t cuda_float_as_int(float x) {
  int32_t r;
  memcpy(&r, &x, sizeof r);
  return r;
}
static inline uint32_t cuda_float_as_uint(float x) { return (uint32_t)cuda_float_as_int(x); }
static inline float cuda_int_as_float(int32_t x) {
  float r;
  memcpy(&r, &x, sizeof r);
  return r;
}
static inline float cuda_uint_as_float(uint32_t x) { return cuda_int_as_float((int32_t)x); }
static inline int64_t cuda_double_as_longlong(double x) {
  int64_t r;
  memcpy(&r, &x, sizeof r);
  return r;
}
static inline double cuda_longlong_as_double(int64_t x) {
  double r;
  memcpy(&r, &x, sizeof r);
  return r;
}
static inline int32_t cuda_double2hiint(double x) { return (int32_t)(cuda_double_as_longlong(x) >> 32); }
static inline int32_t cuda_double2loint(double x) { return (int32_t)cuda_double_as_longlong(x); }
static inline double cuda_hiloint2double(int32_t high, int32_t low) {
  return cuda_longlong_as_double((int64_t)((uint64_t)(uint32_t)high << 32 | (uint32_t)low));
}
