// Matrix descriptor of shared memory (PTX ISA, wgmma): offsets in units of 16 bytes, swizzle 1: 128, 2: 64, 3: 32 bytes.
static inline uint64_t wgmma_descriptor(uint32_t address, int swizzle, int leading_offset, int stride_offset) {
  return (uint64_t)(address >> 4 & 0x3FFF) | (uint64_t)(leading_offset & 0x3FFF) << 16 | (uint64_t)(stride_offset & 0x3FFF) << 32 |
         (uint64_t)swizzle << 62;
}
// The same for tcgen05, with swizzle 2: 128, 4: 64, 6: 32 bytes.
static inline uint64_t tcgen05_descriptor(uint32_t address, int leading_offset, int stride_offset, int base_offset, int absolute,
                                          int swizzle) {
  return (uint64_t)(address >> 4 & 0x3FFF) | (uint64_t)(leading_offset & 0x3FFF) << 16 | (uint64_t)(stride_offset & 0x3FFF) << 32 |
         (uint64_t)1 << 46 | (uint64_t)(base_offset & 7) << 49 | (uint64_t)(absolute != 0) << 52 | (uint64_t)(swizzle & 7) << 61;
}
// The descriptor of memory `bytes` further on.
static inline void advance_descriptor(uint64_t* descriptor, int bytes) {
  *descriptor = (*descriptor & 0xFFFFFFFF00000000u) | (uint32_t)((uint32_t)*descriptor + (uint32_t)(bytes >> 4));
}
