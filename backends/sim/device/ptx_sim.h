// What inline PTX becomes on the host, and the C library's functions that a text calls. Follows text_abi.h; cuda_sim.h comes next.

typedef __SIZE_TYPE__ size_t;

extern "C" {
int printf(const char*, ...);
int fesetround(int);
void* memcpy(void*, const void*, size_t);
void* memset(void*, int, size_t);
int abs(int);
#define KILN_MATH1(name) \
  double name(double);   \
  float name##f(float);
#define KILN_MATH2(name)       \
  double name(double, double); \
  float name##f(float, float);
KILN_MATH1(acos)
KILN_MATH1(acosh)
KILN_MATH1(asin)
KILN_MATH1(asinh)
KILN_MATH1(atan)
KILN_MATH1(atanh)
KILN_MATH1(cbrt)
KILN_MATH1(ceil)
KILN_MATH1(cos)
KILN_MATH1(cosh)
KILN_MATH1(erf)
KILN_MATH1(erfc)
KILN_MATH1(exp)
KILN_MATH1(exp2)
KILN_MATH1(exp10)
KILN_MATH1(expm1)
KILN_MATH1(fabs)
KILN_MATH1(floor)
KILN_MATH1(lgamma)
KILN_MATH1(log)
KILN_MATH1(log10)
KILN_MATH1(log1p)
KILN_MATH1(log2)
KILN_MATH1(nearbyint)
KILN_MATH1(rint)
KILN_MATH1(round)
KILN_MATH1(sin)
KILN_MATH1(sinh)
KILN_MATH1(sqrt)
KILN_MATH1(tan)
KILN_MATH1(tanh)
KILN_MATH1(tgamma)
KILN_MATH1(trunc)
KILN_MATH2(atan2)
KILN_MATH2(copysign)
KILN_MATH2(fdim)
KILN_MATH2(fmax)
KILN_MATH2(fmin)
KILN_MATH2(fmod)
KILN_MATH2(hypot)
KILN_MATH2(nextafter)
KILN_MATH2(pow)
KILN_MATH2(remainder)
double fma(double, double, double);
float fmaf(float, float, float);
double ldexp(double, int);
float ldexpf(float, int);
}

namespace kiln_text {

extern "C" __attribute__((visibility("default"))) const Api* kiln_text_api;
extern "C" __attribute__((visibility("default"))) Run kiln_text_run;
const Api* kiln_text_api;
Run kiln_text_run;
static thread_local Lane* current;
extern "C" __attribute__((visibility("hidden"), weak)) char __start_kiln_shared[], __stop_kiln_shared[];

inline Lane* lane() { return current; }
inline const Api& api() { return *kiln_text_api; }

// The address in the block's memory of a variable in the section kiln_shared, which is only there to be laid out.
template <class T>
inline T& shared(T& place) {
  return *(T*)(current->shared + ((char*)&place - __start_kiln_shared));
}
inline void* dynamic_shared() { return current->shared + current->dynamic_offset; }
inline unsigned static_shared_bytes() { return __start_kiln_shared ? (unsigned)(__stop_kiln_shared - __start_kiln_shared) : 0; }
inline void* shared_pointer(unsigned long long address) { return current->cluster_shared + (unsigned)address; }
inline void* pointer(unsigned long long address) { return (void*)address; }
inline unsigned shared_address(const void* p) { return (unsigned)((const char*)p - current->cluster_shared); }

// Calls a kernel with the values that args point to.
template <class... P>
struct Call {
  Call(void (*kernel)(P...), P... p) { kernel(p...); }
};
template <class T>
struct Plain {
  typedef T type;
};
template <class T>
struct Plain<const T> {
  typedef T type;
};
template <class... P>
inline void call(void (*kernel)(P...), void* const* args) {
  int i = 0;
  Call<P...>{kernel, *(typename Plain<P>::type*)args[i++]...};  // braces: from left to right
  (void)i;
}

template <class To, class From>
inline To bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "of one size");
  return __builtin_bit_cast(To, from);
}

inline float f32_of_f16(unsigned short h) {
  unsigned sign = (unsigned)(h & 0x8000) << 16, rest = h & 0x7FFF;
  if (rest >= 0x7C00) return bits<float>(sign | 0x7F800000u | (rest & 0x3FF) << 13 | (rest > 0x7C00 ? 0x400000u : 0));
  if (rest < 0x400) return bits<float>(sign | bits<unsigned>((float)rest * 0x1p-24f));
  return bits<float>(sign | ((rest << 13) + (112u << 23)));
}
inline unsigned short f16_of_f32(float x) {
  unsigned u = bits<unsigned>(x), sign = u >> 16 & 0x8000, rest = u & 0x7FFFFFFF;
  if (rest > 0x7F800000) return 0x7FFF;
  if (rest >= 0x477FF000) return (unsigned short)(sign | 0x7C00);
  if (rest < 0x38800000) return (unsigned short)(sign | (bits<unsigned>(bits<float>(rest) + 0.5f) - 0x3F000000));  // adds in units of 2^-24
  return (unsigned short)(sign | ((rest - (112u << 23) + 0xFFF + (rest >> 13 & 1)) >> 13));
}
inline float f32_of_bf16(unsigned short h) { return bits<float>((unsigned)h << 16); }
inline unsigned short bf16_of_f32(float x) {
  unsigned u = bits<unsigned>(x);
  return (u & 0x7FFFFFFF) > 0x7F800000 ? 0x7FFF : (unsigned short)((u + 0x7FFF + (u >> 16 & 1)) >> 16);
}
// Products and sums of 11-bit or 8-bit significands round the same through float.
inline unsigned short add_f16(unsigned short a, unsigned short b) { return f16_of_f32(f32_of_f16(a) + f32_of_f16(b)); }
inline unsigned short sub_f16(unsigned short a, unsigned short b) { return f16_of_f32(f32_of_f16(a) - f32_of_f16(b)); }
inline unsigned short mul_f16(unsigned short a, unsigned short b) { return f16_of_f32(f32_of_f16(a) * f32_of_f16(b)); }
// Through double: a sum of bfloat16 values may need more bits than float has.
inline unsigned short bf16_of_f64(double x) {
  float f = (float)x;
  unsigned u = bits<unsigned>(f);
  if (f == f && f - f == 0 && (double)f != x) {  // to odd, so that rounding twice is rounding once
    if (((double)f > x) == (x > 0)) --u;
    u |= 1;
  }
  return bf16_of_f32(bits<float>(u));
}
inline unsigned short add_bf16(unsigned short a, unsigned short b) { return bf16_of_f64((double)f32_of_bf16(a) + f32_of_bf16(b)); }
inline unsigned short sub_bf16(unsigned short a, unsigned short b) { return bf16_of_f64((double)f32_of_bf16(a) - f32_of_bf16(b)); }
inline unsigned short mul_bf16(unsigned short a, unsigned short b) { return bf16_of_f64((double)f32_of_bf16(a) * f32_of_bf16(b)); }
inline unsigned short f16_of_s32(int v) { return v > 65535 ? 0x7C00 : v < -65535 ? 0xFC00 : f16_of_f32((float)v); }
inline unsigned short f16_of_u32(unsigned v) { return v > 65535 ? 0x7C00 : f16_of_f32((float)v); }
inline unsigned f16x2_of_e4m3x2(unsigned short v) {
  return f16_of_f32(api().decode("e4m3", v & 0xFF)) | (unsigned)f16_of_f32(api().decode("e4m3", v >> 8)) << 16;
}
inline unsigned f16x2_of_e5m2x2(unsigned short v) {
  return f16_of_f32(api().decode("e5m2", v & 0xFF)) | (unsigned)f16_of_f32(api().decode("e5m2", v >> 8)) << 16;
}
inline unsigned short e4m3x2_of_f32(float high, float low) {
  return (unsigned short)(api().encode("e4m3", low) | api().encode("e4m3", high) << 8);
}
inline unsigned short e5m2x2_of_f32(float high, float low) {
  return (unsigned short)(api().encode("e5m2", low) | api().encode("e5m2", high) << 8);
}
inline unsigned f16x2_of_f32(float high, float low) { return f16_of_f32(low) | (unsigned)f16_of_f32(high) << 16; }
inline unsigned bf16x2_of_f32(float high, float low) { return bf16_of_f32(low) | (unsigned)bf16_of_f32(high) << 16; }
inline unsigned tf32_of_f32(float x) { return bits<unsigned>(x) + 0x1000 & ~0x1FFFu; }  // ties away from zero
inline unsigned lop3(unsigned a, unsigned b, unsigned c, unsigned table) {
  unsigned d = 0;
  for (int i = 0; i < 8; ++i) {
    if (table >> i & 1) d |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  }
  return d;
}
inline unsigned byte_perm(unsigned a, unsigned b, unsigned selector) {
  unsigned long long both = (unsigned long long)b << 32 | a;
  unsigned d = 0;
  for (int i = 0; i < 4; ++i) {
    unsigned s = selector >> 4 * i, byte = (unsigned)(both >> 8 * (s & 7)) & 0xFF;
    d |= (s & 8 ? (byte & 0x80 ? 0xFFu : 0u) : byte) << 8 * i;
  }
  return d;
}

// A register of inline assembly, read or written as a value of one type. Of one size: the same bits.
template <class T, class R>
inline T as(R r) {
  if constexpr (sizeof(T) == sizeof(R)) {
    return bits<T>(r);
  } else {
    return (T)r;
  }
}
template <class R, class T>
inline void put(R& r, T value) {
  r = as<R>(value);
}
template <class R>
inline void put(R& r, bool value) {
  r = value;
}
// An operand of inline assembly, in the register that its constraint asks for.
template <class R, class T>
inline R operand(T value) {
  if constexpr (__is_same(R, float) || __is_same(R, double)) {
    return value;
  } else {
    return (R)value;
  }
}

template <class T>
inline T load(const void* p, int order) {
  T v = __atomic_load_n((const T*)p, order);
  if (order != __ATOMIC_RELAXED) api().spin(lane());  // one who waits for another's store
  return v;
}
template <class T>
inline void store(void* p, T v, int order) {
  __atomic_store_n((T*)p, v, order);
}
// Replaces *p by next(*p); what it was.
template <class Word, class Next>
inline Word replace(void* p, Next next) {
  Word old = __atomic_load_n((Word*)p, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n((Word*)p, &old, next(old), false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
  }
  return old;
}
template <class T>
inline T update_add(void* p, T v) {
  return __atomic_fetch_add((T*)p, v, __ATOMIC_SEQ_CST);
}
template <>
inline float update_add(void* p, float v) {
  return bits<float>(replace<unsigned>(p, [=](unsigned w) { return bits<unsigned>(bits<float>(w) + v); }));
}
template <>
inline double update_add(void* p, double v) {
  return bits<double>(replace<unsigned long long>(p, [=](unsigned long long w) { return bits<unsigned long long>(bits<double>(w) + v); }));
}
inline unsigned short update_add_f16(void* p, unsigned short v) {
  return replace<unsigned short>(p, [=](unsigned short w) { return add_f16(w, v); });
}
inline unsigned short update_add_bf16(void* p, unsigned short v) {
  return replace<unsigned short>(p, [=](unsigned short w) { return add_bf16(w, v); });
}
inline unsigned update_add_f16x2(void* p, unsigned v) {
  unsigned short low = update_add_f16(p, (unsigned short)v), high = update_add_f16((char*)p + 2, (unsigned short)(v >> 16));
  return low | (unsigned)high << 16;
}
inline unsigned update_add_bf16x2(void* p, unsigned v) {
  unsigned short low = update_add_bf16(p, (unsigned short)v), high = update_add_bf16((char*)p + 2, (unsigned short)(v >> 16));
  return low | (unsigned)high << 16;
}
template <class T>
inline T update_min(void* p, T v) {
  return replace<T>(p, [=](T w) { return w < v ? w : v; });
}
template <class T>
inline T update_max(void* p, T v) {
  return replace<T>(p, [=](T w) { return w > v ? w : v; });
}
template <class T>
inline T update_and(void* p, T v) {
  return __atomic_fetch_and((T*)p, v, __ATOMIC_SEQ_CST);
}
template <class T>
inline T update_or(void* p, T v) {
  return __atomic_fetch_or((T*)p, v, __ATOMIC_SEQ_CST);
}
template <class T>
inline T update_xor(void* p, T v) {
  return __atomic_fetch_xor((T*)p, v, __ATOMIC_SEQ_CST);
}
template <class T>
inline T update_exch(void* p, T v) {
  T old;
  __atomic_exchange((T*)p, &v, &old, __ATOMIC_SEQ_CST);
  return old;
}
template <class T>
inline T update_inc(void* p, T v) {
  return replace<T>(p, [=](T w) { return w >= v ? 0 : w + 1; });
}
template <class T>
inline T update_dec(void* p, T v) {
  return replace<T>(p, [=](T w) { return w == 0 || w > v ? v : w - 1; });
}
template <class T>
inline T update_cas(void* p, T expected, T v) {
  __atomic_compare_exchange_n((T*)p, &expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return expected;
}

// One operation rounded in another direction; `f` must work on volatile copies. Modes are the processor's.
#if defined(__x86_64__)
enum { kNearest = 0, kDown = 0x400, kUp = 0x800, kZero = 0xC00 };
#elif defined(__aarch64__)
enum { kNearest = 0, kUp = 0x400000, kDown = 0x800000, kZero = 0xC00000 };
#endif
template <class F>
__attribute__((noinline)) auto rounded(int mode, F f) {
  fesetround(mode);
  volatile auto v = f();
  fesetround(kNearest);
  auto result = v;
  return result;
}
// A float to an integer: NaN is 0, what is out of range is the nearest.
template <class I, class F>
inline I to_integer(F x, F (*round)(F)) {
  F r = round(x);
  constexpr I most = (I)(~(I)0) > 0 ? (I) ~(I)0 : (I)((1ull << (8 * sizeof(I) - 1)) - 1), least = (I)(~(I)0) > 0 ? 0 : (I)(-most - 1);
  if (r != r) return sizeof(I) == 8 ? (I)(1ull << 63) : 0;
  return r >= (F)most ? most : r <= (F)least ? least : (I)r;
}

}  // namespace kiln_text
