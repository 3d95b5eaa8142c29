static inline void debug_print_i64(const char* what, int64_t value) { printf("%s = %lld\n", what, (long long)value); }
static inline void debug_print_f64(const char* what, double value) { printf("%s = %.9g\n", what, value); }
