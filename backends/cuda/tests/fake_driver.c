// A CUDA driver for tests: two devices without any hardware, which remember what was launched.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct attribute {
  int id, pad;
  uint32_t words[16];
};
struct config {
  uint32_t grid[3], block[3], shared_bytes;
  void* stream;
  struct attribute* attributes;
  uint32_t attribute_count;
};

// What the test reads and sets.
struct fake_launch {
  char symbol[64];
  int device;
  uint32_t grid[3], block[3], shared_bytes, attribute_count;
  struct attribute attributes[4];
  void* stream;
  unsigned char args[8][128];
};
struct fake_state {
  int launch_count, loads, shared_attribute, shared_attribute_calls, launch_result;
  int static_shared, max_threads, large_clusters, max_cluster, encodes;
  int arg_bytes[8];
  char code[64];
  struct fake_launch last;
};
EXPORT struct fake_state fake_driver_state = {.static_shared = 16, .max_threads = 1024};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int contexts[2];
static __thread void* current;
struct function {
  char symbol[64];
};

EXPORT int cuInit(unsigned flags) { return (int)flags; }
EXPORT int cuDriverGetVersion(int* v) { return *v = 13000, 0; }
EXPORT int cuGetErrorName(int r, const char** s) { return *s = r == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_UNKNOWN", 0; }
EXPORT int cuGetErrorString(int r, const char** s) { return *s = r == 700 ? "an illegal memory access" : "unknown error", 0; }
EXPORT int cuDeviceGetCount(int* n) { return *n = 2, 0; }
EXPORT int cuDeviceGet(int* d, int i) { return *d = i, 0; }
EXPORT int cuDeviceGetName(char* s, int n, int d) { return strncpy(s, d == 0 ? "Fake 90" : "Fake 80", (size_t)n), 0; }
EXPORT int cuDeviceGetAttribute(int* v, int a, int d) {
  switch (a) {
    case 1: *v = 1024; break;
    case 2:
    case 3: *v = 1024; break;
    case 4: *v = 64; break;
    case 5: *v = 2147483647; break;
    case 6:
    case 7: *v = 65535; break;
    case 75: *v = d == 0 ? 9 : 8; break;
    case 97: *v = 232448; break;
    default: *v = 0; break;
  }
  return 0;
}
EXPORT int cuDevicePrimaryCtxRetain(void** c, int d) { return *c = &contexts[d], 0; }
EXPORT int cuCtxGetCurrent(void** c) { return *c = current, 0; }
EXPORT int cuCtxSetCurrent(void* c) { return current = c, 0; }
EXPORT int cuCtxGetDevice(int* d) { return *d = (int)((int*)current - contexts), 0; }
EXPORT int cuCtxSynchronize(void) {
  const char* result = getenv("KILN_FAKE_SYNCHRONIZE");  // for tests that run a command
  return result ? atoi(result) : 0;
}
EXPORT int cuModuleLoadData(void** m, const void* code) {
  pthread_mutex_lock(&mutex);
  ++fake_driver_state.loads;
  strncpy(fake_driver_state.code, code, sizeof fake_driver_state.code - 1);
  pthread_mutex_unlock(&mutex);
  return *m = &mutex, 0;
}
EXPORT int cuModuleUnload(void* m) { return m == 0; }
EXPORT int cuModuleGetFunction(void** f, void* m, const char* symbol) {
  (void)m;
  static struct function functions[256];  // a test process asks for far fewer
  static unsigned next;
  struct function* made = &functions[__atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % 256];
  memset(made, 0, sizeof *made);
  strncpy(made->symbol, symbol, sizeof made->symbol - 1);
  return *f = made, 0;
}
EXPORT int cuFuncGetAttribute(int* v, int a, void* f) {
  (void)f;
  return *v = a == 0 ? fake_driver_state.max_threads : a == 1 ? fake_driver_state.static_shared : 0, 0;
}
EXPORT int cuFuncSetAttribute(void* f, int a, int v) {
  (void)f;
  if (a == 14 && v == 1) ++fake_driver_state.large_clusters;
  if (a == 8) fake_driver_state.shared_attribute = v, ++fake_driver_state.shared_attribute_calls;
  return 0;
}
EXPORT int cuOccupancyMaxPotentialClusterSize(int* blocks, void* f, const struct config* c) {
  (void)f, (void)c;
  return *blocks = fake_driver_state.max_cluster, 0;
}
EXPORT int cuLaunchKernelEx(const struct config* c, void* f, void** args, void** extra) {
  (void)extra;
  struct fake_state* s = &fake_driver_state;
  pthread_mutex_lock(&mutex);
  ++s->launch_count;
  struct fake_launch* l = &s->last;
  memset(l, 0, sizeof *l);
  memcpy(l->symbol, ((struct function*)f)->symbol, sizeof l->symbol);
  l->device = (int)((int*)current - contexts);
  memcpy(l->grid, c->grid, sizeof l->grid);
  memcpy(l->block, c->block, sizeof l->block);
  l->shared_bytes = c->shared_bytes, l->attribute_count = c->attribute_count, l->stream = c->stream;
  for (uint32_t i = 0; i < c->attribute_count && i < 4; ++i) l->attributes[i] = c->attributes[i];
  for (int i = 0; i < 8 && s->arg_bytes[i]; ++i) memcpy(l->args[i], args[i], (size_t)s->arg_bytes[i]);
  int result = s->launch_result;
  pthread_mutex_unlock(&mutex);
  return result;
}
EXPORT int cuMemAlloc_v2(uint64_t* p, size_t n) { return *p = (uint64_t)(uintptr_t)aligned_alloc(256, (n + 255) / 256 * 256), *p ? 0 : 2; }
EXPORT int cuMemFree_v2(uint64_t p) { return free((void*)(uintptr_t)p), 0; }
EXPORT int cuMemcpy(uint64_t to, uint64_t from, size_t n) { return memcpy((void*)(uintptr_t)to, (void*)(uintptr_t)from, n), 0; }
EXPORT int cuMemsetD8_v2(uint64_t p, unsigned char v, size_t n) { return memset((void*)(uintptr_t)p, v, n), 0; }
EXPORT int cuEventCreate(void** e, unsigned flags) { return (void)flags, *e = &mutex, 0; }
EXPORT int cuEventDestroy_v2(void* e) { return e == 0; }
EXPORT int cuEventRecord(void* e, void* stream) { return (void)stream, e == 0; }
EXPORT int cuEventSynchronize(void* e) { return e == 0; }
EXPORT int cuEventElapsedTime(float* ms, void* a, void* b) { return (void)a, (void)b, *ms = 0.5f, 0; }
EXPORT int cuTensorMapEncodeTiled(void* out, int dtype, uint32_t rank, void* base, const uint64_t* dims, const uint64_t* strides,
                                  const uint32_t* box, const uint32_t* element_strides, int interleave, int swizzle, int l2, int fill) {
  (void)element_strides, (void)interleave, (void)l2, (void)fill;
  if (!current) return 201;  // CUDA_ERROR_INVALID_CONTEXT
  __atomic_fetch_add(&fake_driver_state.encodes, 1, __ATOMIC_RELAXED);
  uint64_t seen[16] = {(uint64_t)dtype,           rank,   (uint64_t)(uintptr_t)base, dims[0], rank > 1 ? dims[1] : 0,
                       rank > 1 ? strides[0] : 0, box[0], (uint64_t)swizzle};
  return memcpy(out, seen, sizeof seen), 0;
}
EXPORT int cuTensorMapEncodeIm2col(void* out, int dtype, uint32_t rank, void* base, const uint64_t* dims, const uint64_t* strides,
                                   const int* lower, const int* upper, uint32_t channels, uint32_t pixels, const uint32_t* element_strides,
                                   int interleave, int swizzle, int l2, int fill) {
  (void)base, (void)dims, (void)strides, (void)upper, (void)element_strides, (void)interleave, (void)swizzle, (void)l2, (void)fill;
  if (!current) return 201;
  uint64_t seen[16] = {(uint64_t)dtype, rank, (uint64_t)lower[0], channels, pixels};
  return memcpy(out, seen, sizeof seen), 0;
}
