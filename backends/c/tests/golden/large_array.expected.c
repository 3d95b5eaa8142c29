#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
#define restrict __restrict__
#endif

static __thread char last_error[1024];
// "ErrorKind: message" of the last failure on this thread.
#ifdef __cplusplus
extern "C"
#endif
const char* kiln_last_error(void) { return last_error; }
static int32_t fail(const char* kind, const char* message) {
  snprintf(last_error, sizeof last_error, "%s: %s", kind, message);
  return -1;
}

// Memory for arrays too large for the stack; freed where the array's scope ends.
static inline void* new_scratch(size_t bytes) { return aligned_alloc(64, (bytes + 63) / 64 * 64 + 64); }
static inline void free_scratch(void* array) { free(*(void**)array); }

#ifdef __cplusplus
extern "C" {
#endif

// k(A: float32[1])
int32_t k(float* restrict A) {
  float* big __attribute__((cleanup(free_scratch))) = (float*)new_scratch(100000 * sizeof(float));
  if (!big) return fail("MemoryError", "out of memory");
  big[0] = A[0];
  A[0] = big[0];
  return 0;
}

#ifdef __cplusplus
}
#endif
