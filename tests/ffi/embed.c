// The registry from plain C, through tvm-ffi's C API alone: loads libkiln by tvm-ffi's loader, registers a codegen written here, resolves,
// lowers, runs the kernel, and reads an error. Run with the path of libkiln.so. Linked with libtvm_ffi only, whose path it prints.
#define _GNU_SOURCE  // dladdr
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/c_api.h>

static const char* kModule =
    "@T.prim_func\n"
    "def scale(A: T.handle(\"float32\", \"global\"), n: T.int32, by: T.float32) -> T.int32:\n"
    "    T.func_attr({\"target\": T.target({\"kind\": \"embed\"})})\n"
    "    X = T.Buffer((1,), \"float32\", data=A)\n"
    "    for i in range(n):\n"
    "        X[i] = X[i] * by\n"
    "    return 0\n";

static int failures = 0;

static void expect(int fine, const char* what) {
  if (fine) return;
  fprintf(stderr, "FAILED: %s\n", what);
  ++failures;
}

static TVMFFIAny none(void) {
  TVMFFIAny a;
  memset(&a, 0, sizeof a);
  return a;
}
static TVMFFIAny text(const char* value) {
  TVMFFIAny a = none();
  a.type_index = kTVMFFIRawStr, a.v_c_str = value;
  return a;
}
static TVMFFIAny boolean(int value) {
  TVMFFIAny a = none();
  a.type_index = kTVMFFIBool, a.v_int64 = value;
  return a;
}
static TVMFFIAny object(int32_t type_index, TVMFFIObjectHandle handle) {
  TVMFFIAny a = none();
  a.type_index = type_index, a.v_obj = (TVMFFIObject*)handle;
  return a;
}
static void release(TVMFFIAny a) {
  if (a.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(a.v_obj);
}

// Whether a string that a function returned holds `part`. Short strings lie in the value itself.
static int contains(const TVMFFIAny* value, const char* part) {
  TVMFFIByteArray bytes = {"", 0};
  if (value->type_index == kTVMFFISmallStr) {
    bytes.data = value->v_bytes, bytes.size = value->small_str_len;
  } else if (value->type_index == kTVMFFIStr) {
    memcpy(&bytes, (const char*)value->v_obj + sizeof(TVMFFIObject), sizeof bytes);
  }
  size_t length = strlen(part);
  for (size_t i = 0; i + length <= bytes.size; ++i) {
    if (memcmp(bytes.data + i, part, length) == 0) return 1;
  }
  return 0;
}

// Calls a global function; the result is owned by the caller.
static int call(const char* name, TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  TVMFFIByteArray bytes = {name, strlen(name)};
  TVMFFIObjectHandle function = NULL;
  *result = none();
  if (TVMFFIFunctionGetGlobal(&bytes, &function) != 0 || function == NULL) {
    fprintf(stderr, "no global function %s\n", name);
    exit(1);
  }
  int status = TVMFFIFunctionCall(function, args, count, result);
  TVMFFIObjectDecRef(function);
  return status;
}

// The call must work; else the program ends with its error.
static TVMFFIAny must(const char* name, TVMFFIAny* args, int32_t count) {
  TVMFFIAny result;
  if (call(name, args, count, &result) == 0) return result;
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  TVMFFIErrorCell cell;
  memcpy(&cell, (const char*)error + sizeof(TVMFFIObject), sizeof cell);
  fprintf(stderr, "%s: %.*s: %.*s\n", name, (int)cell.kind.size, cell.kind.data, (int)cell.message.size, cell.message.data);
  exit(1);
}

// The codegen: what the `c` codegen makes of the module.
static int build(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  ++*(int*)self;
  if (count != 2) {
    TVMFFIErrorSetRaisedFromCStr("TypeError", "a codegen takes a module and a target");
    return -1;
  }
  TVMFFIAny to_lower[4] = {args[0], text("c"), none(), boolean(1)};
  return call("kiln.lower", to_lower, 4, result);
}

// The predicate: targets with the key "fast".
static int supports(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  (void)self, (void)count;
  TVMFFIAny target[1] = {args[0]}, json = must("kiln.target_to_json", target, 1);
  *result = boolean(contains(&json, "fast"));
  release(json);
  return 0;
}

static void run_kernel(TVMFFIAny module) {
  TVMFFIAny args[3] = {module, text("scale"), boolean(0)};
  TVMFFIAny function = must("ffi.ModuleGetFunction", args, 3);
  float data[4] = {1, 2, 3, 4};
  int64_t shape[1] = {4};
  DLTensor tensor;
  memset(&tensor, 0, sizeof tensor);
  tensor.data = data, tensor.ndim = 1, tensor.shape = shape;
  tensor.device.device_type = kDLCPU, tensor.dtype.code = kDLFloat, tensor.dtype.bits = 32, tensor.dtype.lanes = 1;
  TVMFFIAny kernel_args[3] = {none(), none(), none()}, result = none();
  kernel_args[0].type_index = kTVMFFIDLTensorPtr, kernel_args[0].v_ptr = &tensor;
  kernel_args[1].type_index = kTVMFFIInt, kernel_args[1].v_int64 = 4;
  kernel_args[2].type_index = kTVMFFIFloat, kernel_args[2].v_float64 = 2.5;
  expect(TVMFFIFunctionCall(function.v_obj, kernel_args, 3, &result) == 0, "the kernel runs");
  expect(data[0] == 2.5f && data[3] == 10.0f, "the kernel scales its array");
  release(function);
}

static void read_an_error(void) {
  TVMFFIAny target[1] = {text("embed")}, result;
  expect(call("kiln.resolve_device_codegen", target, 1, &result) != 0, "no codegen matches without the key");
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  TVMFFIErrorCell cell;
  memcpy(&cell, (const char*)error + sizeof(TVMFFIObject), sizeof cell);
  const char* kind = "ValueError";
  const char* message = "no device codegen matches target 'embed', available: mine";
  expect(cell.kind.size == strlen(kind) && memcmp(cell.kind.data, kind, cell.kind.size) == 0, "the error is a ValueError");
  expect(cell.message.size >= strlen(message) && memcmp(cell.message.data, message, strlen(message)) == 0, "the error names what there is");
  TVMFFIObjectDecRef(error);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  TVMFFIAny path[1] = {text(argv[1])}, library = must("ffi.ModuleLoadFromFile", path, 1);
  TVMFFIAny init_args[3] = {library, text("kiln_init"), boolean(0)}, init = must("ffi.ModuleGetFunction", init_args, 3), ignored = none();
  expect(TVMFFIFunctionCall(init.v_obj, NULL, 0, &ignored) == 0, "kiln_init registers the functions");
  release(init);

  int built = 0;
  TVMFFIObjectHandle build_function = NULL, supports_function = NULL;
  TVMFFIFunctionCreate(&built, build, NULL, &build_function);
  TVMFFIFunctionCreate(NULL, supports, NULL, &supports_function);
  TVMFFIAny entry[6] = {
      text("embed"), text("mine"), object(kTVMFFIFunction, build_function), none(), object(kTVMFFIFunction, supports_function), boolean(0)};
  must("kiln.register_device_codegen", entry, 6);
  TVMFFIObjectDecRef(build_function);
  TVMFFIObjectDecRef(supports_function);

  TVMFFIAny target[1] = {text("embed -keys=fast")}, name = must("kiln.resolve_device_codegen", target, 1);
  expect(contains(&name, "mine"), "the target resolves to the codegen written here");
  TVMFFIAny source[2] = {text(kModule), text("embed.c")}, module = must("kiln.parse_module", source, 2);
  TVMFFIAny to_lower[4] = {module, target[0], none(), boolean(1)}, lowered = must("kiln.lower", to_lower, 4);
  expect(built == 1, "the codegen was called once");
  run_kernel(lowered);
  read_an_error();
  release(lowered), release(module), release(name), release(library);
  Dl_info info;
  if (failures == 0 && dladdr((void*)&TVMFFIFunctionCall, &info) != 0) printf("passed under %s\n", info.dli_fname);
  return failures != 0;
}
