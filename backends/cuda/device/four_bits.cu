// Sets the lower (high 0) or upper half of a byte.
__device__ __forceinline__ void set_four_bits(unsigned char* p, int high, unsigned value) {
  int shift = high * 4;
  *p = (unsigned char)((*p & ~(15u << shift)) | value << shift);
}
// The same where another thread may set the other half.
__device__ __forceinline__ void set_four_bits_atomic(unsigned char* p, int high, unsigned value) {
  unsigned shift = (unsigned)((unsigned long long)p & 3) * 8 + high * 4;
  unsigned *word = (unsigned*)((unsigned long long)p & ~3ull), old = *(volatile unsigned*)word, before;
  do {
    before = old;
    old = atomicCAS(word, before, (before & ~(15u << shift)) | value << shift);
  } while (old != before);
}
