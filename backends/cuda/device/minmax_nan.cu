// NaN when one is NaN.
__device__ __forceinline__ float min_nan_f32(float a, float b) { return a < b || a != a ? a : b; }
__device__ __forceinline__ float max_nan_f32(float a, float b) { return a > b || a != a ? a : b; }
__device__ __forceinline__ double min_nan_f64(double a, double b) { return a < b || a != a ? a : b; }
__device__ __forceinline__ double max_nan_f64(double a, double b) { return a > b || a != a ? a : b; }
