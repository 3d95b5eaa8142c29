#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

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

#ifdef __cplusplus
extern "C" {
#endif

// k(A: int32[1], n: int32)
int32_t k(int32_t* restrict A, int32_t n) {
  if (n <= 0) return fail("ValueError", "n is not \"positive\"\n");
  while (A[0] < n) {
    A[0] *= 2;
  }
  return 0;
}

#ifdef __cplusplus
}
#endif
