// Matrix descriptor of shared memory (PTX ISA, tcgen05): offsets in units of 16 bytes, swizzle 2: 128, 4: 64, 6: 32 bytes.
__device__ __forceinline__ unsigned long long tcgen05_descriptor(const void* tile, int leading_offset, int stride_offset, int base_offset,
                                                                 int absolute, int swizzle) {
  return (unsigned long long)(shared_address(tile) >> 4 & 0x3FFF) | (unsigned long long)(leading_offset & 0x3FFF) << 16 |
         (unsigned long long)(stride_offset & 0x3FFF) << 32 | 1ull << 46 | (unsigned long long)(base_offset & 7) << 49 |
         (unsigned long long)(absolute != 0) << 52 | (unsigned long long)(swizzle & 7) << 61;
}
