// Functions of CUDA without their two underscores. Fast ones are as exact as C's.
static inline float cuda_expf(float x) { return expf(x); }
static inline float cuda_exp10f(float x) { return powf(10.0f, x); }
static inline float cuda_logf(float x) { return logf(x); }
static inline float cuda_log2f(float x) { return log2f(x); }
static inline float cuda_log10f(float x) { return log10f(x); }
static inline float cuda_sinf(float x) { return sinf(x); }
static inline float cuda_cosf(float x) { return cosf(x); }
static inline float cuda_tanf(float x) { return tanf(x); }
static inline float cuda_tanhf(float x) { return tanhf(x); }
static inline float cuda_powf(float x, float y) { return powf(x, y); }
static inline float cuda_fdividef(float x, float y) { return x / y; }
static inline float cuda_saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
