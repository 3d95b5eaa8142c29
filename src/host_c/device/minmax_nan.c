// NaN when one is NaN.
static inline float min_nan_f32(float a, float b) { return a < b || a != a ? a : b; }
static inline float max_nan_f32(float a, float b) { return a > b || a != a ? a : b; }
static inline double min_nan_f64(double a, double b) { return a < b || a != a ? a : b; }
static inline double max_nan_f64(double a, double b) { return a > b || a != a ? a : b; }
