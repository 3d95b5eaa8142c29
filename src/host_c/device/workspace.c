static inline void* new_workspace(uint64_t bytes) { return aligned_alloc(64, (bytes + 63) / 64 * 64 + 64); }
static inline int32_t free_workspace(void* memory) {
  free(memory);
  return 0;
}
