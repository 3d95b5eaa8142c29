// CUDA's own names for the host: what a text of CUDA C++ needs beside its own helpers. Follows ptx_sim.h. Rounding, NaN and wrap-around are
// those of the CUDA C++ Programming Guide and the CUDA Math API; approximate functions are the exact ones.

#define __device__
#define __host__
#define __global__ __attribute__((visibility("hidden")))
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define __align__(n) alignas(n)
#define __constant__ static
#define threadIdx (kiln_text::current->thread)
#define blockIdx (kiln_text::current->block)
#define blockDim (kiln_text::current->block_dim)
#define gridDim (kiln_text::current->grid_dim)
#define warpSize 32

typedef kiln_text::Index uint3;
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};
#define KILN_VECTOR(T, name, align2, align4)                        \
  struct name##1 {                                                  \
    T x;                                                            \
  };                                                                \
  struct alignas(align2) name##2 {                                  \
    T x, y;                                                         \
  };                                                                \
  struct alignas(align4) name##4 {                                  \
    T x, y, z, w;                                                   \
  };                                                                \
  static inline name##1 make_##name##1(T x) { return {x}; }         \
  static inline name##2 make_##name##2(T x, T y) { return {x, y}; } \
  static inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
#define KILN_VECTOR3(T, name) \
  struct name##3 {            \
    T x, y, z;                \
  };
KILN_VECTOR(signed char, char, 2, 4)
KILN_VECTOR(unsigned char, uchar, 2, 4)
KILN_VECTOR(short, short, 4, 8)
KILN_VECTOR(unsigned short, ushort, 4, 8)
KILN_VECTOR(int, int, 8, 16)
KILN_VECTOR(unsigned, uint, 8, 16)
KILN_VECTOR(long, long, 16, 16)
KILN_VECTOR(unsigned long, ulong, 16, 16)
KILN_VECTOR(long long, longlong, 16, 16)
KILN_VECTOR(unsigned long long, ulonglong, 16, 16)
KILN_VECTOR(float, float, 8, 16)
KILN_VECTOR(double, double, 16, 16)
KILN_VECTOR3(int, int)
KILN_VECTOR3(float, float)
KILN_VECTOR3(double, double)

static inline void __syncthreads() { kiln_text::api().barrier_sync(kiln_text::lane(), 0, 0); }
static inline int __syncthreads_count(int p) { return kiln_text::api().barrier_reduce(kiln_text::lane(), 0, kiln_text::Count::kCount, p); }
static inline int __syncthreads_and(int p) { return kiln_text::api().barrier_reduce(kiln_text::lane(), 0, kiln_text::Count::kAnd, p); }
static inline int __syncthreads_or(int p) { return kiln_text::api().barrier_reduce(kiln_text::lane(), 0, kiln_text::Count::kOr, p); }
static inline void __syncwarp(unsigned mask = 0xFFFFFFFF) { kiln_text::api().sync_warp(kiln_text::lane(), mask); }
static inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline void __nanosleep(unsigned) { kiln_text::api().spin(kiln_text::lane()); }
static inline void __trap() { kiln_text::api().trap(kiln_text::lane()); }
static inline void __brkpt() {}
static inline long long clock64() { return (long long)kiln_text::api().clock(kiln_text::lane()); }
static inline long clock() { return (long)clock64(); }
static inline unsigned __activemask() { return kiln_text::api().active_mask(kiln_text::lane()); }

template <class T>
static inline T __shfl_any(kiln_text::Shuffle mode, unsigned members, T value, int index, int width) {
  kiln_text::api().shuffle(kiln_text::lane(), mode, members, &value, sizeof(T), index, width);
  return value;
}
template <class T>
static inline T __shfl_sync(unsigned members, T value, int index, int width = 32) {
  return __shfl_any(kiln_text::Shuffle::kIdx, members, value, index, width);
}
template <class T>
static inline T __shfl_up_sync(unsigned members, T value, unsigned distance, int width = 32) {
  return __shfl_any(kiln_text::Shuffle::kUp, members, value, (int)distance, width);
}
template <class T>
static inline T __shfl_down_sync(unsigned members, T value, unsigned distance, int width = 32) {
  return __shfl_any(kiln_text::Shuffle::kDown, members, value, (int)distance, width);
}
template <class T>
static inline T __shfl_xor_sync(unsigned members, T value, int bits, int width = 32) {
  return __shfl_any(kiln_text::Shuffle::kXor, members, value, bits, width);
}
static inline int __any_sync(unsigned m, int p) { return kiln_text::api().vote(kiln_text::lane(), kiln_text::Vote::kAny, m, p) != 0; }
static inline int __all_sync(unsigned m, int p) { return kiln_text::api().vote(kiln_text::lane(), kiln_text::Vote::kAll, m, p) != 0; }
static inline unsigned __ballot_sync(unsigned m, int p) { return kiln_text::api().vote(kiln_text::lane(), kiln_text::Vote::kBallot, m, p); }
template <class T>
static inline unsigned long long __match_bits(T value) {
  unsigned long long bits = 0;
  memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <class T>
static inline unsigned __match_any_sync(unsigned m, T value) {
  return kiln_text::api().match_any(kiln_text::lane(), m, __match_bits(value), sizeof(T));
}
template <class T>
static inline unsigned __match_all_sync(unsigned m, T value, int* same) {
  unsigned r = kiln_text::api().match_all(kiln_text::lane(), m, __match_bits(value), sizeof(T));
  *same = r != 0;
  return r;
}
#define KILN_REDUCE(name, op)                                                                            \
  static inline unsigned __reduce_##name##_sync(unsigned m, unsigned v) {                                \
    return kiln_text::api().reduce(kiln_text::lane(), kiln_text::Update::op, false, m, v);               \
  }                                                                                                      \
  static inline int __reduce_##name##_sync(unsigned m, int v) {                                          \
    return (int)kiln_text::api().reduce(kiln_text::lane(), kiln_text::Update::op, true, m, (unsigned)v); \
  }
KILN_REDUCE(add, kAdd)
KILN_REDUCE(min, kMin)
KILN_REDUCE(max, kMax)
KILN_REDUCE(and, kAnd)
KILN_REDUCE(or, kOr)
KILN_REDUCE(xor, kXor)

template <class T>
static inline T atomicAdd(T* p, T v) {
  return kiln_text::update_add<T>(p, v);
}
template <class T, class V>
static inline T atomicAdd(T* p, V v) {
  return kiln_text::update_add<T>(p, (T)v);
}
template <class T>
static inline T atomicSub(T* p, T v) {
  return kiln_text::update_add<T>(p, -v);
}
#define KILN_ATOMIC(Name, op)                  \
  template <class T, class V>                  \
  static inline T atomic##Name(T* p, V v) {    \
    return kiln_text::update_##op<T>(p, (T)v); \
  }
KILN_ATOMIC(Min, min)
KILN_ATOMIC(Max, max)
KILN_ATOMIC(And, and)
KILN_ATOMIC(Or, or)
KILN_ATOMIC(Xor, xor)
KILN_ATOMIC(Exch, exch)
KILN_ATOMIC(Inc, inc)
KILN_ATOMIC(Dec, dec)
template <class T, class A, class B>
static inline T atomicCAS(T* p, A expected, B v) {
  return kiln_text::update_cas<T>(p, (T)expected, (T)v);
}

static inline int min(int a, int b) { return a < b ? a : b; }
static inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
static inline long long min(long long a, long long b) { return a < b ? a : b; }
static inline unsigned long long min(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
static inline float min(float a, float b) { return fminf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline int max(int a, int b) { return a > b ? a : b; }
static inline unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
static inline long long max(long long a, long long b) { return a > b ? a : b; }
static inline unsigned long long max(unsigned long long a, unsigned long long b) { return a > b ? a : b; }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }
static inline long long llabs(long long v) { return v < 0 ? -v : v; }
static inline float rsqrtf(float x) { return (float)(1.0 / sqrt((double)x)); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
template <class T>
static inline bool isnan(T x) {
  return __builtin_isnan(x);
}
template <class T>
static inline bool isinf(T x) {
  return __builtin_isinf(x);
}
template <class T>
static inline bool isfinite(T x) {
  return __builtin_isfinite(x);
}

static inline float __cosf(float x) { return cosf(x); }
static inline float __sinf(float x) { return sinf(x); }
static inline float __tanf(float x) { return tanf(x); }
static inline float __tanhf(float x) { return tanhf(x); }
static inline float __expf(float x) { return expf(x); }
static inline float __exp10f(float x) { return exp10f(x); }
static inline float __logf(float x) { return logf(x); }
static inline float __log2f(float x) { return log2f(x); }
static inline float __log10f(float x) { return log10f(x); }
static inline float __powf(float x, float y) { return powf(x, y); }
static inline float __fdividef(float x, float y) { return x / y; }
static inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }

#define KILN_ROUNDED1(name, T, expression)              \
  static inline T name##_rn(T x) { return expression; } \
  static inline T name##_rz(T x_) {                     \
    return kiln_text::rounded(kiln_text::kZero, [&] {   \
      volatile T x = x_;                                \
      return expression;                                \
    });                                                 \
  }                                                     \
  static inline T name##_ru(T x_) {                     \
    return kiln_text::rounded(kiln_text::kUp, [&] {     \
      volatile T x = x_;                                \
      return expression;                                \
    });                                                 \
  }                                                     \
  static inline T name##_rd(T x_) {                     \
    return kiln_text::rounded(kiln_text::kDown, [&] {   \
      volatile T x = x_;                                \
      return expression;                                \
    });                                                 \
  }
#define KILN_ROUNDED2(name, T, expression)                   \
  static inline T name##_rn(T x, T y) { return expression; } \
  static inline T name##_rz(T x_, T y_) {                    \
    return kiln_text::rounded(kiln_text::kZero, [&] {        \
      volatile T x = x_, y = y_;                             \
      return expression;                                     \
    });                                                      \
  }                                                          \
  static inline T name##_ru(T x_, T y_) {                    \
    return kiln_text::rounded(kiln_text::kUp, [&] {          \
      volatile T x = x_, y = y_;                             \
      return expression;                                     \
    });                                                      \
  }                                                          \
  static inline T name##_rd(T x_, T y_) {                    \
    return kiln_text::rounded(kiln_text::kDown, [&] {        \
      volatile T x = x_, y = y_;                             \
      return expression;                                     \
    });                                                      \
  }
#define KILN_ROUNDED3(name, T, f)                                 \
  static inline T name##_rn(T x, T y, T z) { return f(x, y, z); } \
  static inline T name##_rz(T x, T y, T z) {                      \
    return kiln_text::rounded(kiln_text::kZero, [&] {             \
      volatile T a = x;                                           \
      return f(a, y, z);                                          \
    });                                                           \
  }                                                               \
  static inline T name##_ru(T x, T y, T z) {                      \
    return kiln_text::rounded(kiln_text::kUp, [&] {               \
      volatile T a = x;                                           \
      return f(a, y, z);                                          \
    });                                                           \
  }                                                               \
  static inline T name##_rd(T x, T y, T z) {                      \
    return kiln_text::rounded(kiln_text::kDown, [&] {             \
      volatile T a = x;                                           \
      return f(a, y, z);                                          \
    });                                                           \
  }
KILN_ROUNDED2(__fadd, float, x + y)
KILN_ROUNDED2(__fsub, float, x - y)
KILN_ROUNDED2(__fmul, float, x* y)
KILN_ROUNDED2(__fdiv, float, x / y)
KILN_ROUNDED1(__frcp, float, 1.0f / x)
KILN_ROUNDED1(__fsqrt, float, sqrtf(x))
KILN_ROUNDED3(__fmaf, float, fmaf)
KILN_ROUNDED2(__dadd, double, x + y)
KILN_ROUNDED2(__dsub, double, x - y)
KILN_ROUNDED2(__dmul, double, x* y)
KILN_ROUNDED2(__ddiv, double, x / y)
KILN_ROUNDED1(__drcp, double, 1.0 / x)
KILN_ROUNDED1(__dsqrt, double, sqrt(x))
KILN_ROUNDED3(__fma, double, fma)
static inline float __frsqrt_rn(float x) { return rsqrtf(x); }

#define KILN_TO_INTEGER(F, from, suffix)                                                                                          \
  static inline int __##from##2int_rn(F x) { return kiln_text::to_integer<int>(x, rint##suffix); }                                \
  static inline int __##from##2int_rz(F x) { return kiln_text::to_integer<int>(x, trunc##suffix); }                               \
  static inline int __##from##2int_ru(F x) { return kiln_text::to_integer<int>(x, ceil##suffix); }                                \
  static inline int __##from##2int_rd(F x) { return kiln_text::to_integer<int>(x, floor##suffix); }                               \
  static inline unsigned __##from##2uint_rn(F x) { return kiln_text::to_integer<unsigned>(x, rint##suffix); }                     \
  static inline unsigned __##from##2uint_rz(F x) { return kiln_text::to_integer<unsigned>(x, trunc##suffix); }                    \
  static inline unsigned __##from##2uint_ru(F x) { return kiln_text::to_integer<unsigned>(x, ceil##suffix); }                     \
  static inline unsigned __##from##2uint_rd(F x) { return kiln_text::to_integer<unsigned>(x, floor##suffix); }                    \
  static inline long long __##from##2ll_rn(F x) { return kiln_text::to_integer<long long>(x, rint##suffix); }                     \
  static inline long long __##from##2ll_rz(F x) { return kiln_text::to_integer<long long>(x, trunc##suffix); }                    \
  static inline long long __##from##2ll_ru(F x) { return kiln_text::to_integer<long long>(x, ceil##suffix); }                     \
  static inline long long __##from##2ll_rd(F x) { return kiln_text::to_integer<long long>(x, floor##suffix); }                    \
  static inline unsigned long long __##from##2ull_rn(F x) { return kiln_text::to_integer<unsigned long long>(x, rint##suffix); }  \
  static inline unsigned long long __##from##2ull_rz(F x) { return kiln_text::to_integer<unsigned long long>(x, trunc##suffix); } \
  static inline unsigned long long __##from##2ull_ru(F x) { return kiln_text::to_integer<unsigned long long>(x, ceil##suffix); }  \
  static inline unsigned long long __##from##2ull_rd(F x) { return kiln_text::to_integer<unsigned long long>(x, floor##suffix); }
KILN_TO_INTEGER(float, float, f)
KILN_TO_INTEGER(double, double, )
#define KILN_CONVERTED(name, From, To)                 \
  static inline To name##_rn(From x) { return (To)x; } \
  static inline To name##_rz(From x_) {                \
    return kiln_text::rounded(kiln_text::kZero, [&] {  \
      volatile From x = x_;                            \
      return (To)x;                                    \
    });                                                \
  }                                                    \
  static inline To name##_ru(From x_) {                \
    return kiln_text::rounded(kiln_text::kUp, [&] {    \
      volatile From x = x_;                            \
      return (To)x;                                    \
    });                                                \
  }                                                    \
  static inline To name##_rd(From x_) {                \
    return kiln_text::rounded(kiln_text::kDown, [&] {  \
      volatile From x = x_;                            \
      return (To)x;                                    \
    });                                                \
  }
KILN_CONVERTED(__double2float, double, float)
KILN_CONVERTED(__int2float, int, float)
KILN_CONVERTED(__uint2float, unsigned, float)
KILN_CONVERTED(__ll2float, long long, float)
KILN_CONVERTED(__ull2float, unsigned long long, float)
KILN_CONVERTED(__ll2double, long long, double)
KILN_CONVERTED(__ull2double, unsigned long long, double)
static inline double __int2double_rn(int x) { return x; }
static inline double __uint2double_rn(unsigned x) { return x; }
static inline int __float_as_int(float x) { return kiln_text::bits<int>(x); }
static inline unsigned __float_as_uint(float x) { return kiln_text::bits<unsigned>(x); }
static inline float __int_as_float(int x) { return kiln_text::bits<float>(x); }
static inline float __uint_as_float(unsigned x) { return kiln_text::bits<float>(x); }
static inline long long __double_as_longlong(double x) { return kiln_text::bits<long long>(x); }
static inline double __longlong_as_double(long long x) { return kiln_text::bits<double>(x); }
static inline int __double2hiint(double x) { return (int)(kiln_text::bits<long long>(x) >> 32); }
static inline int __double2loint(double x) { return (int)kiln_text::bits<long long>(x); }
static inline double __hiloint2double(int high, int low) { return kiln_text::bits<double>((long long)high << 32 | (unsigned)low); }

static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned __brev(unsigned x) {
  unsigned r = 0;
  for (int i = 0; i < 32; ++i) r |= (x >> i & 1) << (31 - i);
  return r;
}
static inline unsigned long long __brevll(unsigned long long x) {
  return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s) { return kiln_text::byte_perm(a, b, s & 0x7777); }
static inline int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
static inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
static inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xFFFFFF) * (b & 0xFFFFFF); }
static inline unsigned __sad(int a, int b, unsigned c) { return (a > b ? (unsigned)a - (unsigned)b : (unsigned)b - (unsigned)a) + c; }
static inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a > b ? a - b : b - a) + c; }
static inline int __rhadd(int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
static inline unsigned __urhadd(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a + b + 1) >> 1); }
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n) {
  return (unsigned)(((unsigned long long)high << 32 | low) << (n & 31) >> 32);
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned n) {
  return (unsigned)(((unsigned long long)high << 32 | low) >> (n & 31));
}
static inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned n) { return n >= 32 ? low : __funnelshift_l(low, high, n); }
static inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned n) { return n >= 32 ? high : __funnelshift_r(low, high, n); }
static inline unsigned __fns(unsigned mask, unsigned base, int offset) {
  if (offset == 0) return mask >> (base & 31) & 1 ? base : 0xFFFFFFFF;
  int step = offset > 0 ? 1 : -1, left = offset > 0 ? offset : -offset;
  for (int i = (int)base; i >= 0 && i < 32; i += step) {
    if (mask >> i & 1 && --left == 0) return (unsigned)i;
  }
  return 0xFFFFFFFF;
}
static inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 32; i += 8) c += (int)(signed char)(a >> i) * (signed char)(b >> i);
  return c;
}
static inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 32; i += 8) c += (a >> i & 0xFF) * (b >> i & 0xFF);
  return c;
}
static inline int __dp2a_lo(int a, int b, int c) { return c + (short)a * (signed char)b + (short)(a >> 16) * (signed char)(b >> 8); }
static inline int __dp2a_hi(int a, int b, int c) {
  return c + (short)a * (signed char)(b >> 16) + (short)(a >> 16) * (signed char)(b >> 24);
}
static inline unsigned __dp2a_lo(unsigned a, unsigned b, unsigned c) { return c + (a & 0xFFFF) * (b & 0xFF) + (a >> 16) * (b >> 8 & 0xFF); }
static inline unsigned __dp2a_hi(unsigned a, unsigned b, unsigned c) { return c + (a & 0xFFFF) * (b >> 16 & 0xFF) + (a >> 16) * (b >> 24); }

#define KILN_LOAD(name)              \
  template <class T>                 \
  static inline T name(const T* p) { \
    return *p;                       \
  }
KILN_LOAD(__ldg)
KILN_LOAD(__ldcg)
KILN_LOAD(__ldca)
KILN_LOAD(__ldcs)
KILN_LOAD(__ldlu)
KILN_LOAD(__ldcv)
#define KILN_STORE(name)               \
  template <class T, class V>          \
  static inline void name(T* p, V v) { \
    *p = (T)v;                         \
  }
KILN_STORE(__stwb)
KILN_STORE(__stcg)
KILN_STORE(__stcs)
KILN_STORE(__stwt)

static inline size_t __cvta_generic_to_shared(const void* p) { return kiln_text::shared_address(p); }
static inline size_t __cvta_generic_to_global(const void* p) { return (size_t)p; }
static inline void* __cvta_shared_to_generic(size_t a) { return kiln_text::shared_pointer(a); }
#define assert(condition)                                                                                                           \
  ((condition) ? (void)0                                                                                                            \
               : (printf("%s:%d: block (%d, %d, %d), thread (%d, %d, %d): assertion `%s` failed\n", __FILE__, __LINE__, blockIdx.x, \
                         blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, #condition),                                \
                  __trap()))
