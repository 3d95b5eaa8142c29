__device__ __forceinline__ float sigmoid_f32(float x) { return 1.0f / (1.0f + expf(-x)); }
__device__ __forceinline__ double sigmoid_f64(double x) { return 1.0 / (1.0 + exp(-x)); }
__device__ __forceinline__ float rcp_f32(float x) { return __frcp_rn(x); }
__device__ __forceinline__ double rcp_f64(double x) { return __drcp_rn(x); }
