// Arithmetic with a rounding mode: n to nearest, z towards zero, u up, d down.
static inline void sim_round(char mode) {
  fesetround(mode == 'z' ? FE_TOWARDZERO : mode == 'u' ? FE_UPWARD : mode == 'd' ? FE_DOWNWARD : FE_TONEAREST);
}
static inline float cuda_fadd_rn(float x, float y) {
  return x + y;
}
static inline float cuda_fadd_rz(float x, float y) {
  volatile float a = x, b = y, r;
  sim_round('z');
  r = a + b;
  sim_round('n');
  return r;
}
static inline float cuda_fadd_ru(float x, float y) {
  volatile float a = x, b = y, r;
  sim_round('u');
  r = a + b;
  sim_round('n');
  return r;
}
static inline float cuda_fadd_rd(float x, float y) {
  volatile float a = x, b = y, r;
  sim_round('d');
  r = a + b;
  sim_round('n');
  return r;
}
static inline float cuda_fsub_rn(float x, float y) {
  return x - y;
}
static inline float cuda_fsub_rz(float x, float y) {
  volatile float a = x, b = y, r;
  sim_round('z');
  r = a - b;
  sim_round('n');
  return r;
}
static inline float cuda_fsub_ru(float x, float y) {
  volatile float a = x, b = y, r;
  sim_round('u');
  r = a - b;
  sim_round('n');
  return r;
}
static inline float cuda_fsub_rd(float x, float y) {
  volatile float a = x, b = y, r;
  sim_round('d');
  r = a - b;
  sim_round('n');
  return r;
}
static inline float cuda_fmul_rn(float x, float y) {
  return x * y;
}
static inline float cuda_fmul_rz(float x, float y) {
  volatile float a = x, b = y, r;
  sim_round('z');
  r = a * b;
  sim_round('n');
  return r;
}
static inline float cuda_fmul_ru(float x, float y) {
  volatile float a = x, b = y, r;
  sim_round('u');
  r = a * b;
  sim_round('n');
  return r;
}
static inline float cuda_fmul_rd(float x, float y) {
  volatile float a = x, b = y, r;
  sim_round('d');
  r = a * b;
  sim_round('n');
  return r;
}
static inline float cuda_fdiv_rn(float x, float y) {
  return x / y;
}
static inline float cuda_fdiv_rz(float x, float y) {
  volatile float a = x, b = y, r;
  sim_round('z');
  r = a / b;
  sim_round('n');
  return r;
}
static inline float cuda_fdiv_ru(float x, float y) {
  volatile float a = x, b = y, r;
  sim_round('u');
  r = a / b;
  sim_round('n');
  return r;
}
static inline float cuda_fdiv_rd(float x, float y) {
  volatile float a = x, b = y, r;
  sim_round('d');
  r = a / b;
  sim_round('n');
  return r;
}
static inline float cuda_fmaf_rn(float x, float y, float z) {
  volatile float a = x, b = y, c = z, r;
  sim_round('n');
  r = fmaf(a, b, c);
  sim_round('n');
  return r;
}
static inline float cuda_fsqrt_rn(float x) {
  volatile float a = x, r;
  sim_round('n');
  r = sqrtf(a);
  sim_round('n');
  return r;
}
static inline float cuda_frcp_rn(float x) { return cuda_fdiv_rn(1, x); }
static inline float cuda_fmaf_rz(float x, float y, float z) {
  volatile float a = x, b = y, c = z, r;
  sim_round('z');
  r = fmaf(a, b, c);
  sim_round('n');
  return r;
}
static inline float cuda_fsqrt_rz(float x) {
  volatile float a = x, r;
  sim_round('z');
  r = sqrtf(a);
  sim_round('n');
  return r;
}
static inline float cuda_frcp_rz(float x) { return cuda_fdiv_rz(1, x); }
static inline float cuda_fmaf_ru(float x, float y, float z) {
  volatile float a = x, b = y, c = z, r;
  sim_round('u');
  r = fmaf(a, b, c);
  sim_round('n');
  return r;
}
static inline float cuda_fsqrt_ru(float x) {
  volatile float a = x, r;
  sim_round('u');
  r = sqrtf(a);
  sim_round('n');
  return r;
}
static inline float cuda_frcp_ru(float x) { return cuda_fdiv_ru(1, x); }
static inline float cuda_fmaf_rd(float x, float y, float z) {
  volatile float a = x, b = y, c = z, r;
  sim_round('d');
  r = fmaf(a, b, c);
  sim_round('n');
  return r;
}
static inline float cuda_fsqrt_rd(float x) {
  volatile float a = x, r;
  sim_round('d');
  r = sqrtf(a);
  sim_round('n');
  return r;
}
static inline float cuda_frcp_rd(float x) { return cuda_fdiv_rd(1, x); }
static inline double cuda_dadd_rn(double x, double y) {
  return x + y;
}
static inline double cuda_dadd_rz(double x, double y) {
  volatile double a = x, b = y, r;
  sim_round('z');
  r = a + b;
  sim_round('n');
  return r;
}
static inline double cuda_dadd_ru(double x, double y) {
  volatile double a = x, b = y, r;
  sim_round('u');
  r = a + b;
  sim_round('n');
  return r;
}
static inline double cuda_dadd_rd(double x, double y) {
  volatile double a = x, b = y, r;
  sim_round('d');
  r = a + b;
  sim_round('n');
  return r;
}
static inline double cuda_dsub_rn(double x, double y) {
  return x - y;
}
static inline double cuda_dsub_rz(double x, double y) {
  volatile double a = x, b = y, r;
  sim_round('z');
  r = a - b;
  sim_round('n');
  return r;
}
static inline double cuda_dsub_ru(double x, double y) {
  volatile double a = x, b = y, r;
  sim_round('u');
  r = a - b;
  sim_round('n');
  return r;
}
static inline double cuda_dsub_rd(double x, double y) {
  volatile double a = x, b = y, r;
  sim_round('d');
  r = a - b;
  sim_round('n');
  return r;
}
static inline double cuda_dmul_rn(double x, double y) {
  return x * y;
}
static inline double cuda_dmul_rz(double x, double y) {
  volatile double a = x, b = y, r;
  sim_round('z');
  r = a * b;
  sim_round('n');
  return r;
}
static inline double cuda_dmul_ru(double x, double y) {
  volatile double a = x, b = y, r;
  sim_round('u');
  r = a * b;
  sim_round('n');
  return r;
}
static inline double cuda_dmul_rd(double x, double y) {
  volatile double a = x, b = y, r;
  sim_round('d');
  r = a * b;
  sim_round('n');
  return r;
}
static inline double cuda_ddiv_rn(double x, double y) {
  return x / y;
}
static inline double cuda_ddiv_rz(double x, double y) {
  volatile double a = x, b = y, r;
  sim_round('z');
  r = a / b;
  sim_round('n');
  return r;
}
static inline double cuda_ddiv_ru(double x, double y) {
  volatile double a = x, b = y, r;
  sim_round('u');
  r = a / b;
  sim_round('n');
  return r;
}
static inline double cuda_ddiv_rd(double x, double y) {
  volatile double a = x, b = y, r;
  sim_round('d');
  r = a / b;
  sim_round('n');
  return r;
}
static inline double cuda_fma_rn(double x, double y, double z) {
  volatile double a = x, b = y, c = z, r;
  sim_round('n');
  r = fma(a, b, c);
  sim_round('n');
  return r;
}
static inline double cuda_dsqrt_rn(double x) {
  volatile double a = x, r;
  sim_round('n');
  r = sqrt(a);
  sim_round('n');
  return r;
}
static inline double cuda_drcp_rn(double x) { return cuda_ddiv_rn(1, x); }
static inline double cuda_fma_rz(double x, double y, double z) {
  volatile double a = x, b = y, c = z, r;
  sim_round('z');
  r = fma(a, b, c);
  sim_round('n');
  return r;
}
static inline double cuda_dsqrt_rz(double x) {
  volatile double a = x, r;
  sim_round('z');
  r = sqrt(a);
  sim_round('n');
  return r;
}
static inline double cuda_drcp_rz(double x) { return cuda_ddiv_rz(1, x); }
static inline double cuda_fma_ru(double x, double y, double z) {
  volatile double a = x, b = y, c = z, r;
  sim_round('u');
  r = fma(a, b, c);
  sim_round('n');
  return r;
}
static inline double cuda_dsqrt_ru(double x) {
  volatile double a = x, r;
  sim_round('u');
  r = sqrt(a);
  sim_round('n');
  return r;
}
static inline double cuda_drcp_ru(double x) { return cuda_ddiv_ru(1, x); }
static inline double cuda_fma_rd(double x, double y, double z) {
  volatile double a = x, b = y, c = z, r;
  sim_round('d');
  r = fma(a, b, c);
  sim_round('n');
  return r;
}
static inline double cuda_dsqrt_rd(double x) {
  volatile double a = x, r;
  sim_round('d');
  r = sqrt(a);
  sim_round('n');
  return r;
}
static inline double cuda_drcp_rd(double x) { return cuda_ddiv_rd(1, x); }
static inline float cuda_frsqrt_rn(float x) { return (float)(1.0 / sqrt((double)x)); }
