// The lower 4 bits, sign or zero extended.
__device__ __forceinline__ signed char to_i4(int x) { return (signed char)(((x & 15) ^ 8) - 8); }
__device__ __forceinline__ unsigned char to_u4(int x) { return (unsigned char)(x & 15); }
