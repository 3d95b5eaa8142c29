static inline float rsqrt_f32(float x) { return 1.0f / sqrtf(x); }
static inline double rsqrt_f64(double x) { return 1.0 / sqrt(x); }
static inline float sigmoid_f32(float x) { return 1.0f / (1.0f + expf(-x)); }
static inline double sigmoid_f64(double x) { return 1.0 / (1.0 + exp(-x)); }
static inline float exp10_f32(float x) { return powf(10.0f, x); }
static inline double exp10_f64(double x) { return pow(10.0, x); }
static inline float rcp_f32(float x) { return 1.0f / x; }
static inline double rcp_f64(double x) { return 1.0 / x; }
