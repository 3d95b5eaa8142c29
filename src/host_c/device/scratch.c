// Memory for arrays too large for the stack; freed where the array's scope ends.
static inline void* new_scratch(size_t bytes) { return aligned_alloc(64, (bytes + 63) / 64 * 64 + 64); }
static inline void free_scratch(void* array) { free(*(void**)array); }
