// Conversions with a rounding mode: n to nearest, z towards zero, u up, d down. Integers out of range are the nearest in range (PTX ISA 9.0,
// 9.7.9.22, cvt: a NaN is 0 as 32-bit integer of a float, else the bit of the sign alone).
static inline double sim_to_whole(char mode, double x) {
  return mode == 'z' ? trunc(x) : mode == 'u' ? ceil(x) : mode == 'd' ? floor(x) : rint(x);
}
static inline int64_t sim_to_i64(char mode, double x) {
  const double r = sim_to_whole(mode, x);
  return r >= 0x1p63 ? INT64_MAX : r >= -0x1p63 ? (int64_t)r : INT64_MIN;
}
static inline uint64_t sim_to_u64(char mode, double x) {
  const double r = sim_to_whole(mode, x);
  return x != x ? 1ull << 63 : r >= 0x1p64 ? UINT64_MAX : r > 0 ? (uint64_t)r : 0;
}
static inline int32_t sim_to_i32(char mode, double x) {
  const double r = sim_to_whole(mode, x);
  return r >= 0x1p31 ? INT32_MAX : r >= -0x1p31 ? (int32_t)r : INT32_MIN;
}
static inline uint32_t sim_to_u32(char mode, double x) {
  const double r = sim_to_whole(mode, x);
  return x != x ? 1u << 31 : r >= 0x1p32 ? UINT32_MAX : r > 0 ? (uint32_t)r : 0;
}
static inline float sim_to_float(char mode, double x) {
  volatile double a = x;
  sim_round(mode);
  volatile float r = (float)a;
  sim_round('n');
  return r;
}
static inline float sim_i64_to_float(char mode, int64_t x) {
  volatile int64_t a = x;
  sim_round(mode);
  volatile float r = (float)a;
  sim_round('n');
  return r;
}
static inline float sim_u64_to_float(char mode, uint64_t x) {
  volatile uint64_t a = x;
  sim_round(mode);
  volatile float r = (float)a;
  sim_round('n');
  return r;
}
static inline double sim_i64_to_double(char mode, int64_t x) {
  volatile int64_t a = x;
  sim_round(mode);
  volatile double r = (double)a;
  sim_round('n');
  return r;
}
static inline double sim_u64_to_double(char mode, uint64_t x) {
  volatile uint64_t a = x;
  sim_round(mode);
  volatile double r = (double)a;
  sim_round('n');
  return r;
}
static inline int32_t cuda_float2int_rn(float x) { return x != x ? 0 : sim_to_i32('n', x); }
static inline int32_t cuda_float2int_rz(float x) { return x != x ? 0 : sim_to_i32('z', x); }
static inline int32_t cuda_float2int_ru(float x) { return x != x ? 0 : sim_to_i32('u', x); }
static inline int32_t cuda_float2int_rd(float x) { return x != x ? 0 : sim_to_i32('d', x); }
static inline uint32_t cuda_float2uint_rn(float x) { return x != x ? 0 : sim_to_u32('n', x); }
static inline uint32_t cuda_float2uint_rz(float x) { return x != x ? 0 : sim_to_u32('z', x); }
static inline uint32_t cuda_float2uint_ru(float x) { return x != x ? 0 : sim_to_u32('u', x); }
static inline uint32_t cuda_float2uint_rd(float x) { return x != x ? 0 : sim_to_u32('d', x); }
static inline int64_t cuda_float2ll_rn(float x) { return sim_to_i64('n', x); }
static inline int64_t cuda_float2ll_rz(float x) { return sim_to_i64('z', x); }
static inline int64_t cuda_float2ll_ru(float x) { return sim_to_i64('u', x); }
static inline int64_t cuda_float2ll_rd(float x) { return sim_to_i64('d', x); }
static inline uint64_t cuda_float2ull_rn(float x) { return sim_to_u64('n', x); }
static inline uint64_t cuda_float2ull_rz(float x) { return sim_to_u64('z', x); }
static inline uint64_t cuda_float2ull_ru(float x) { return sim_to_u64('u', x); }
static inline uint64_t cuda_float2ull_rd(float x) { return sim_to_u64('d', x); }
static inline int32_t cuda_double2int_rn(double x) { return sim_to_i32('n', x); }
static inline int32_t cuda_double2int_rz(double x) { return sim_to_i32('z', x); }
static inline int32_t cuda_double2int_ru(double x) { return sim_to_i32('u', x); }
static inline int32_t cuda_double2int_rd(double x) { return sim_to_i32('d', x); }
static inline uint32_t cuda_double2uint_rn(double x) { return sim_to_u32('n', x); }
static inline uint32_t cuda_double2uint_rz(double x) { return sim_to_u32('z', x); }
static inline uint32_t cuda_double2uint_ru(double x) { return sim_to_u32('u', x); }
static inline uint32_t cuda_double2uint_rd(double x) { return sim_to_u32('d', x); }
static inline int64_t cuda_double2ll_rn(double x) { return sim_to_i64('n', x); }
static inline int64_t cuda_double2ll_rz(double x) { return sim_to_i64('z', x); }
static inline int64_t cuda_double2ll_ru(double x) { return sim_to_i64('u', x); }
static inline int64_t cuda_double2ll_rd(double x) { return sim_to_i64('d', x); }
static inline uint64_t cuda_double2ull_rn(double x) { return sim_to_u64('n', x); }
static inline uint64_t cuda_double2ull_rz(double x) { return sim_to_u64('z', x); }
static inline uint64_t cuda_double2ull_ru(double x) { return sim_to_u64('u', x); }
static inline uint64_t cuda_double2ull_rd(double x) { return sim_to_u64('d', x); }
static inline float cuda_double2float_rn(double x) { return sim_to_float('n', x); }
static inline float cuda_double2float_rz(double x) { return sim_to_float('z', x); }
static inline float cuda_double2float_ru(double x) { return sim_to_float('u', x); }
static inline float cuda_double2float_rd(double x) { return sim_to_float('d', x); }
static inline float cuda_int2float_rn(int32_t x) { return sim_i64_to_float('n', x); }
static inline float cuda_int2float_rz(int32_t x) { return sim_i64_to_float('z', x); }
static inline float cuda_int2float_ru(int32_t x) { return sim_i64_to_float('u', x); }
static inline float cuda_int2float_rd(int32_t x) { return sim_i64_to_float('d', x); }
static inline float cuda_uint2float_rn(uint32_t x) { return sim_i64_to_float('n', x); }
static inline float cuda_uint2float_rz(uint32_t x) { return sim_i64_to_float('z', x); }
static inline float cuda_uint2float_ru(uint32_t x) { return sim_i64_to_float('u', x); }
static inline float cuda_uint2float_rd(uint32_t x) { return sim_i64_to_float('d', x); }
static inline float cuda_ll2float_rn(int64_t x) { return sim_i64_to_float('n', x); }
static inline float cuda_ll2float_rz(int64_t x) { return sim_i64_to_float('z', x); }
static inline float cuda_ll2float_ru(int64_t x) { return sim_i64_to_float('u', x); }
static inline float cuda_ll2float_rd(int64_t x) { return sim_i64_to_float('d', x); }
static inline float cuda_ull2float_rn(uint64_t x) { return sim_u64_to_float('n', x); }
static inline float cuda_ull2float_rz(uint64_t x) { return sim_u64_to_float('z', x); }
static inline float cuda_ull2float_ru(uint64_t x) { return sim_u64_to_float('u', x); }
static inline float cuda_ull2float_rd(uint64_t x) { return sim_u64_to_float('d', x); }
static inline double cuda_ll2double_rn(int64_t x) { return sim_i64_to_double('n', x); }
static inline double cuda_ll2double_rz(int64_t x) { return sim_i64_to_double('z', x); }
static inline double cuda_ll2double_ru(int64_t x) { return sim_i64_to_double('u', x); }
static inline double cuda_ll2double_rd(int64_t x) { return sim_i64_to_double('d', x); }
static inline double cuda_ull2double_rn(uint64_t x) { return sim_u64_to_double('n', x); }
static inline double cuda_ull2double_rz(uint64_t x) { return sim_u64_to_double('z', x); }
static inline double cuda_ull2double_ru(uint64_t x) { return sim_u64_to_double('u', x); }
static inline double cuda_ull2double_rd(uint64_t x) { return sim_u64_to_double('d', x); }
static inline double cuda_int2double_rn(int32_t x) { return x; }
static inline double cuda_uint2double_rn(uint32_t x) { return x; }
