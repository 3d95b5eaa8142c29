// Two elements of 16 bits side by side.
__device__ __forceinline__ unsigned pair_of_halves(unsigned short first, unsigned short second) { return first | (unsigned)second << 16; }
__device__ __forceinline__ unsigned short first_half(unsigned pair) { return (unsigned short)pair; }
__device__ __forceinline__ unsigned short second_half(unsigned pair) { return (unsigned short)(pair >> 16); }
