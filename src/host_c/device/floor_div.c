static inline int32_t floor_div_i32(int32_t a, int32_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
static inline int32_t floor_mod_i32(int32_t a, int32_t b) {
  int32_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static inline int64_t floor_div_i64(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
static inline int64_t floor_mod_i64(int64_t a, int64_t b) {
  int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
