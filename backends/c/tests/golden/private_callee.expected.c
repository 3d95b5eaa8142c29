#include <math.h>
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

static int32_t helper(float*, int32_t);

// helper(p: float32[64], n: int32)
static int32_t helper(float* p, int32_t n) {
  if (n <= 0) return fail("ValueError", "n");
  p[0] = (float)n;
  return 0;
}

// k(A: float32, n: int32)
int32_t k(float* A, int32_t n) {
  if (helper(A, n) != 0) return -1;
  return 0;
}

// exp(A: float32[64], n: int32)
void exp_kernel(float* A, int32_t n) {
  #pragma omp parallel for
  for (int32_t i = 0; i < n; ++i) {
    A[i] = 1.0f;
  }
}

#ifdef __cplusplus
}
#endif
