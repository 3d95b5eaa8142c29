// Random numbers of the generator Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3; SC11), drawn in the
// order of cuRAND's curandStatePhilox4_32_10_t, so that the numbers of a seed are the same.
struct philox {
  unsigned long long seed, block, sequence;  // key; lower and upper half of the counter
  unsigned words[4];                         // of the block
  unsigned next;                             // of the words
  bool has_f32, has_f64;                     // a second normal value is at hand
  float normal_f32;
  double normal_f64;
};
__device__ __forceinline__ void philox_block(philox& r) {
  unsigned x0 = (unsigned)r.block, x1 = (unsigned)(r.block >> 32), x2 = (unsigned)r.sequence, x3 = (unsigned)(r.sequence >> 32);
  unsigned key0 = (unsigned)r.seed, key1 = (unsigned)(r.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    unsigned high0 = __umulhi(0xD2511F53, x0), low0 = 0xD2511F53 * x0, high1 = __umulhi(0xCD9E8D57, x2), low1 = 0xCD9E8D57 * x2;
    x0 = high1 ^ x1 ^ key0, x1 = low1, x2 = high0 ^ x3 ^ key1, x3 = low0;
    key0 += 0x9E3779B9, key1 += 0xBB67AE85;
  }
  r.words[0] = x0, r.words[1] = x1, r.words[2] = x2, r.words[3] = x3;
}
// The state `offset` numbers after the start of a sequence; sequences are 2^66 numbers apart.
__device__ __forceinline__ void random_init(philox& r, unsigned long long seed, unsigned long long sequence, unsigned long long offset) {
  r.seed = seed, r.block = offset / 4, r.sequence = sequence, r.next = offset % 4;
  r.has_f32 = r.has_f64 = false;
  philox_block(r);
}
__device__ __forceinline__ unsigned random_u32(philox& r) {
  unsigned low = r.next & 1 ? r.words[1] : r.words[0], high = r.next & 1 ? r.words[3] : r.words[2], word = r.next & 2 ? high : low;
  if (++r.next == 4) {
    r.next = 0;
    if (++r.block == 0) ++r.sequence;
    philox_block(r);
  }
  return word;
}
// 53 bits of two numbers.
__device__ __forceinline__ unsigned long long random_bits(philox& r) {
  unsigned low = random_u32(r);
  return low ^ (unsigned long long)random_u32(r) << 21;
}
// In (0, 1]; a float64 by itself has 32 random bits, each of a pair has 53.
__device__ __forceinline__ float random_uniform_f32(philox& r) { return random_u32(r) * 0x1p-32f + 0x1p-33f; }
__device__ __forceinline__ double random_uniform_f64(philox& r) { return random_u32(r) * 0x1p-32 + 0x1p-32; }
__device__ __forceinline__ double random_uniform_pair_f64(philox& r) { return random_bits(r) * 0x1p-53 + 0x1p-54; }
// By the Box-Muller transform, two at a time.
__device__ __forceinline__ float random_normal_f32(philox& r) {
  if (r.has_f32) {
    r.has_f32 = false;
    return r.normal_f32;
  }
  unsigned x = random_u32(r), y = random_u32(r);
  float length = sqrtf(-2.0f * logf(x * 0x1p-32f + 0x1p-33f)), sine, cosine;
  __sincosf(y * (0x1p-32f * 6.2831855f) + 0x1p-33f * 6.2831855f, &sine, &cosine);
  r.normal_f32 = cosine * length, r.has_f32 = true;
  return sine * length;
}
__device__ __forceinline__ double random_normal_f64(philox& r) {
  if (r.has_f64) {
    r.has_f64 = false;
    return r.normal_f64;
  }
  double length = sqrt(-2.0 * log(random_bits(r) * 0x1p-53 + 0x1p-54)), sine, cosine;
  sincospi(random_bits(r) * 0x1p-52 + 0x1p-53, &sine, &cosine);
  r.normal_f64 = cosine * length, r.has_f64 = true;
  return sine * length;
}
