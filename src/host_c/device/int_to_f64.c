// To a double that rounds to any format of at most 40 bits as the integer does: the bits that a double may lose are kept as one sticky bit.
static inline double u64_to_f64(uint64_t x) {
  if (x >> 53) x = x >> 11 << 11 | (uint64_t)((x & 0x7FF) != 0) << 11;
  return (double)x;
}
static inline double i64_to_f64(int64_t x) { return x < 0 ? -u64_to_f64(0 - (uint64_t)x) : u64_to_f64((uint64_t)x); }
