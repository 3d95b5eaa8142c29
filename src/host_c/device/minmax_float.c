// The other operand when one is NaN.
static inline float min_f32(float a, float b) { return a < b || b != b ? a : b; }
static inline float max_f32(float a, float b) { return a > b || b != b ? a : b; }
static inline double min_f64(double a, double b) { return a < b || b != b ? a : b; }
static inline double max_f64(double a, double b) { return a > b || b != b ? a : b; }
