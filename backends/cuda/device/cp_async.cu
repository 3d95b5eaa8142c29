// cp.async: copies `bytes` from global to shared memory in the background; zeros in their place where `condition` is false.
template <int bytes>
__device__ __forceinline__ void cp_async(unsigned to, const void* from) {
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(bytes) : "memory");
  }
}
template <int bytes>
__device__ __forceinline__ void cp_async(unsigned to, const void* from, bool condition) {
  int size = condition ? bytes : 0;
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(size) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(bytes), "r"(size) : "memory");
  }
}
