__device__ __forceinline__ int floor_div_i32(int a, int b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
__device__ __forceinline__ int floor_mod_i32(int a, int b) {
  int r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
__device__ __forceinline__ long long floor_div_i64(long long a, long long b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
__device__ __forceinline__ long long floor_mod_i64(long long a, long long b) {
  long long r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
