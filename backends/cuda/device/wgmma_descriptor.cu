// Matrix descriptor of shared memory (PTX ISA, wgmma): offsets in units of 16 bytes, swizzle 1: 128, 2: 64, 3: 32 bytes.
__device__ __forceinline__ unsigned long long wgmma_descriptor(const void* tile, int swizzle, int leading_offset, int stride_offset) {
  return (unsigned long long)(shared_address(tile) >> 4 & 0x3FFF) | (unsigned long long)(leading_offset & 0x3FFF) << 16 |
         (unsigned long long)(stride_offset & 0x3FFF) << 32 | (unsigned long long)swizzle << 62;
}
