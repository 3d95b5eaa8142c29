// Arithmetic with a rounding mode: n to nearest, z towards zero, u up, d down. Volatile, so that no compiler moves it over the change of mode.
static inline void sim_round(char mode) {
  fesetround(mode == 'z' ? FE_TOWARDZERO : mode == 'u' ? FE_UPWARD : mode == 'd' ? FE_DOWNWARD : FE_TONEAREST);
}
static inline float sim_addf(char mode, float x, float y) {
  volatile float a = x, b = y, r;
  sim_round(mode);
  r = a + b;
  sim_round('n');
  return r;
}
static inline float sim_subf(char mode, float x, float y) {
  volatile float a = x, b = y, r;
  sim_round(mode);
  r = a - b;
  sim_round('n');
  return r;
}
static inline float sim_mulf(char mode, float x, float y) {
  volatile float a = x, b = y, r;
  sim_round(mode);
  r = a * b;
  sim_round('n');
  return r;
}
static inline float sim_divf(char mode, float x, float y) {
  volatile float a = x, b = y, r;
  sim_round(mode);
  r = a / b;
  sim_round('n');
  return r;
}
static inline float sim_fmaf(char mode, float x, float y, float z) {
  volatile float a = x, b = y, c = z, r;
  sim_round(mode);
  r = fmaf(a, b, c);
  sim_round('n');
  return r;
}
static inline float sim_sqrtf(char mode, float x) {
  volatile float a = x, r;
  sim_round(mode);
  r = sqrtf(a);
  sim_round('n');
  return r;
}
static inline double sim_add(char mode, double x, double y) {
  volatile double a = x, b = y, r;
  sim_round(mode);
  r = a + b;
  sim_round('n');
  return r;
}
static inline double sim_sub(char mode, double x, double y) {
  volatile double a = x, b = y, r;
  sim_round(mode);
  r = a - b;
  sim_round('n');
  return r;
}
static inline double sim_mul(char mode, double x, double y) {
  volatile double a = x, b = y, r;
  sim_round(mode);
  r = a * b;
  sim_round('n');
  return r;
}
static inline double sim_div(char mode, double x, double y) {
  volatile double a = x, b = y, r;
  sim_round(mode);
  r = a / b;
  sim_round('n');
  return r;
}
static inline double sim_fma(char mode, double x, double y, double z) {
  volatile double a = x, b = y, c = z, r;
  sim_round(mode);
  r = fma(a, b, c);
  sim_round('n');
  return r;
}
static inline double sim_sqrt(char mode, double x) {
  volatile double a = x, r;
  sim_round(mode);
  r = sqrt(a);
  sim_round('n');
  return r;
}
static inline float cuda_fadd_rn(float x, float y) { return x + y; }
static inline float cuda_fadd_rz(float x, float y) { return sim_addf('z', x, y); }
static inline float cuda_fadd_ru(float x, float y) { return sim_addf('u', x, y); }
static inline float cuda_fadd_rd(float x, float y) { return sim_addf('d', x, y); }
static inline float cuda_fsub_rn(float x, float y) { return x - y; }
static inline float cuda_fsub_rz(float x, float y) { return sim_subf('z', x, y); }
static inline float cuda_fsub_ru(float x, float y) { return sim_subf('u', x, y); }
static inline float cuda_fsub_rd(float x, float y) { return sim_subf('d', x, y); }
static inline float cuda_fmul_rn(float x, float y) { return x * y; }
static inline float cuda_fmul_rz(float x, float y) { return sim_mulf('z', x, y); }
static inline float cuda_fmul_ru(float x, float y) { return sim_mulf('u', x, y); }
static inline float cuda_fmul_rd(float x, float y) { return sim_mulf('d', x, y); }
static inline float cuda_fdiv_rn(float x, float y) { return x / y; }
static inline float cuda_fdiv_rz(float x, float y) { return sim_divf('z', x, y); }
static inline float cuda_fdiv_ru(float x, float y) { return sim_divf('u', x, y); }
static inline float cuda_fdiv_rd(float x, float y) { return sim_divf('d', x, y); }
static inline float cuda_fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
static inline float cuda_fmaf_rz(float x, float y, float z) { return sim_fmaf('z', x, y, z); }
static inline float cuda_fmaf_ru(float x, float y, float z) { return sim_fmaf('u', x, y, z); }
static inline float cuda_fmaf_rd(float x, float y, float z) { return sim_fmaf('d', x, y, z); }
static inline float cuda_fsqrt_rn(float x) { return sqrtf(x); }
static inline float cuda_fsqrt_rz(float x) { return sim_sqrtf('z', x); }
static inline float cuda_fsqrt_ru(float x) { return sim_sqrtf('u', x); }
static inline float cuda_fsqrt_rd(float x) { return sim_sqrtf('d', x); }
static inline float cuda_frcp_rn(float x) { return cuda_fdiv_rn(1, x); }
static inline float cuda_frcp_rz(float x) { return cuda_fdiv_rz(1, x); }
static inline float cuda_frcp_ru(float x) { return cuda_fdiv_ru(1, x); }
static inline float cuda_frcp_rd(float x) { return cuda_fdiv_rd(1, x); }
static inline double cuda_dadd_rn(double x, double y) { return x + y; }
static inline double cuda_dadd_rz(double x, double y) { return sim_add('z', x, y); }
static inline double cuda_dadd_ru(double x, double y) { return sim_add('u', x, y); }
static inline double cuda_dadd_rd(double x, double y) { return sim_add('d', x, y); }
static inline double cuda_dsub_rn(double x, double y) { return x - y; }
static inline double cuda_dsub_rz(double x, double y) { return sim_sub('z', x, y); }
static inline double cuda_dsub_ru(double x, double y) { return sim_sub('u', x, y); }
static inline double cuda_dsub_rd(double x, double y) { return sim_sub('d', x, y); }
static inline double cuda_dmul_rn(double x, double y) { return x * y; }
static inline double cuda_dmul_rz(double x, double y) { return sim_mul('z', x, y); }
static inline double cuda_dmul_ru(double x, double y) { return sim_mul('u', x, y); }
static inline double cuda_dmul_rd(double x, double y) { return sim_mul('d', x, y); }
static inline double cuda_ddiv_rn(double x, double y) { return x / y; }
static inline double cuda_ddiv_rz(double x, double y) { return sim_div('z', x, y); }
static inline double cuda_ddiv_ru(double x, double y) { return sim_div('u', x, y); }
static inline double cuda_ddiv_rd(double x, double y) { return sim_div('d', x, y); }
static inline double cuda_fma_rn(double x, double y, double z) { return fma(x, y, z); }
static inline double cuda_fma_rz(double x, double y, double z) { return sim_fma('z', x, y, z); }
static inline double cuda_fma_ru(double x, double y, double z) { return sim_fma('u', x, y, z); }
static inline double cuda_fma_rd(double x, double y, double z) { return sim_fma('d', x, y, z); }
static inline double cuda_dsqrt_rn(double x) { return sqrt(x); }
static inline double cuda_dsqrt_rz(double x) { return sim_sqrt('z', x); }
static inline double cuda_dsqrt_ru(double x) { return sim_sqrt('u', x); }
static inline double cuda_dsqrt_rd(double x) { return sim_sqrt('d', x); }
static inline double cuda_drcp_rn(double x) { return cuda_ddiv_rn(1, x); }
static inline double cuda_drcp_rz(double x) { return cuda_ddiv_rz(1, x); }
static inline double cuda_drcp_ru(double x) { return cuda_ddiv_ru(1, x); }
static inline double cuda_drcp_rd(double x) { return cuda_ddiv_rd(1, x); }
static inline float cuda_frsqrt_rn(float x) { return (float)(1.0 / sqrt((double)x)); }
