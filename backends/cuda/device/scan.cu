// What a scan makes of an element before it adds, and of a sum before it stores it: nothing, or a function.
struct scan_as_is {
  template <class T>
  static __device__ __forceinline__ T of(T x) { return x; }
};
template <auto function>
struct scan_by {
  template <class T>
  static __device__ __forceinline__ auto of(T x) { return function(x); }
};
// Running sums (or with `greatest`, maxima) of a line of `count` values, by one warp; `reverse`: from the end.
template <bool greatest, bool reverse, class Widen, class Narrow, class T>
__device__ __forceinline__ void scan_line(const T* from, T* to, int count, int from_stride, int to_stride) {
  using Sum = decltype(Widen::of(*from));
  int lane = threadIdx.x % 32;
  Sum carry = 0;
  for (int start = 0; start < count; start += 32) {
    int at = start + lane, index = reverse ? count - 1 - at : at;
    Sum value = at < count ? Widen::of(from[index * from_stride]) : Sum(0);
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      Sum before = __shfl_up_sync(0xFFFFFFFF, value, distance);
      if (lane >= distance) value = greatest ? max(value, before) : value + before;
    }
    if (start > 0) value = greatest ? max(value, carry) : value + carry;
    if (at < count) to[index * to_stride] = Narrow::of(value);
    carry = __shfl_sync(0xFFFFFFFF, value, 31);
  }
}
template <bool greatest, bool reverse, class Widen = scan_as_is, class Narrow = scan_as_is, class T>
__device__ __forceinline__ void scan_1d(const T* from, T* to, int count) {
  if (threadIdx.x < 32) scan_line<greatest, reverse, Widen, Narrow>(from, to, count, 1, 1);
}
// Each row (axis 1) or column (axis 0) of a matrix, a warp a line.
template <bool greatest, bool reverse, int threads, int axis, class Widen = scan_as_is, class Narrow = scan_as_is, class T>
__device__ __forceinline__ void scan_2d(const T* from, T* to, int rows, int columns, int from_stride, int to_stride) {
  int lines = axis == 1 ? rows : columns;
  for (int line = threadIdx.x / 32; line < lines; line += threads / 32) {
    if constexpr (axis == 1) {
      scan_line<greatest, reverse, Widen, Narrow>(from + line * from_stride, to + line * to_stride, columns, 1, 1);
    } else {
      scan_line<greatest, reverse, Widen, Narrow>(from + line, to + line, rows, from_stride, to_stride);
    }
  }
}
