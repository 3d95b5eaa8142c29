// The descriptor of memory `bytes` further on.
__device__ __forceinline__ void advance_descriptor(unsigned long long& descriptor, int bytes) {
  descriptor = (descriptor & 0xFFFFFFFF00000000) | ((unsigned)descriptor + (unsigned)(bytes >> 4));
}
