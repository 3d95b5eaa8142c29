__device__ __forceinline__ void debug_print_f64(const char* message, const char* dtype, double value) {
  printf("msg='%s' BlockIdx=(%d, %d, %d), ThreadIdx=(%d, %d, %d): dtype=%s value=%f\n", message, blockIdx.x, blockIdx.y, blockIdx.z,
         threadIdx.x, threadIdx.y, threadIdx.z, dtype, value);
}
__device__ __forceinline__ void debug_print_i64(const char* message, const char* dtype, long long value) {
  printf("msg='%s' BlockIdx=(%d, %d, %d), ThreadIdx=(%d, %d, %d): dtype=%s value=%lld\n", message, blockIdx.x, blockIdx.y, blockIdx.z,
         threadIdx.x, threadIdx.y, threadIdx.z, dtype, value);
}
__device__ __forceinline__ void debug_print_element_f64(const char* message, const char* dtype, const char* buffer, int index, double value) {
  printf("msg='%s' BlockIdx=(%d, %d, %d), ThreadIdx=(%d, %d, %d): buffer=%s, index=%d, dtype=%s value=%f\n", message, blockIdx.x,
         blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, buffer, index, dtype, value);
}
__device__ __forceinline__ void debug_print_element_i64(const char* message, const char* dtype, const char* buffer, int index,
                                                        long long value) {
  printf("msg='%s' BlockIdx=(%d, %d, %d), ThreadIdx=(%d, %d, %d): buffer=%s, index=%d, dtype=%s value=%lld\n", message, blockIdx.x,
         blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, buffer, index, dtype, value);
}
