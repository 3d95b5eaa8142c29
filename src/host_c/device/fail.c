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
