static inline int32_t popcount_32(uint32_t x) { return __builtin_popcount(x); }
static inline int32_t popcount_64(uint64_t x) { return __builtin_popcountll(x); }
// Zero has all its bits leading.
static inline int32_t clz_32(uint32_t x) { return x ? __builtin_clz(x) : 32; }
static inline int32_t clz_64(uint64_t x) { return x ? __builtin_clzll(x) : 64; }
