/* The C interface between Kiln and a backend in a shared library: plain C, no C++ type or exception crosses it.
 *
 * A plug-in exports one function, kiln_plugin(). Kiln loads the library when one of its target kinds is first used, checks the ABI version
 * and calls `init`, which registers device codegens through the host's table.
 *
 * Rules of the interface:
 *   - Structs begin with `struct_size`, set to sizeof by whoever fills the struct. They only grow, at their end; a reader takes a field as
 *     absent (zero) when `struct_size` does not cover it. Such growth leaves KILN_ABI_VERSION as it is (CHANGELOG.md tells what came when).
 *   - Text is UTF-8 with a length, not necessarily terminated. What a call is given is borrowed for that call; what a host function gives
 *     lives until the plug-in's function that asked for it returns.
 *   - A function that can fail returns an owned error, or NULL when all went well. Whoever receives an error releases it, or returns it on.
 *   - The host's table lives as long as the process, and its functions may be called from any thread. A plug-in's functions may be called
 * from several threads at once. A loaded plug-in is never unloaded.
 */
#ifndef KILN_ABI_PLUGIN_H_
#define KILN_ABI_PLUGIN_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes only when a plug-in must be rebuilt. */
#define KILN_ABI_VERSION 1

#define KILN_PLUGIN_EXPORT __attribute__((visibility("default")))

/* `size` bytes at `data`; {NULL, 0} is empty. */
typedef struct KilnString {
  const char* data;
  size_t size;
} KilnString;

/* What went wrong, for programs. */
typedef enum KilnCode {
  KILN_INVALID_ARGUMENT = 0, /* a value that the caller gave is wrong */
  KILN_PARSE = 1,            /* a file is not what it claims to be */
  KILN_INVALID_IR = 2,       /* the module breaks a rule of the IR */
  KILN_UNSUPPORTED = 3,      /* the codegen cannot express this */
  KILN_UNKNOWN_TARGET = 4,   /* no such target kind or attribute */
  KILN_NO_CODEGEN = 5,       /* the registry has no matching entry */
  KILN_TOOLCHAIN = 6,        /* a compiler is missing or failed */
  KILN_LAUNCH = 7,           /* a kernel was called with wrong arguments or failed */
  KILN_IO = 8,               /* the file system refused */
  KILN_INTERNAL = 9          /* a bug of the plug-in, or of Kiln */
} KilnCode;

typedef struct KilnError KilnError;   /* owned by who holds it */
typedef struct KilnTarget KilnTarget; /* borrowed */
typedef struct KilnModule KilnModule; /* a device IRModule; borrowed */
typedef struct KilnResult KilnResult; /* where a codegen puts what it made; borrowed */

/* One parameter of a kernel. */
typedef struct KilnParam {
  size_t struct_size;
  KilnString name;    /* the user's name, for messages */
  KilnString dtype;   /* element type of a pointer, type of a scalar, in TVM's names ("float32", "int8x4"); empty: a pointer to anything */
  int32_t is_pointer; /* 1: a pointer to elements; 0: a scalar */
  int32_t is_read_only; /* 1: the kernel only reads through it */
  const int64_t* shape; /* declared shape of a pointer's buffer; -1 for a dimension that is not constant */
  size_t ndim;          /* 0: not declared */
} KilnParam;

/* How a kernel of a host library is called; the result is 0, or another number for a failure. */
typedef enum KilnConvention {
  KILN_CALL_POINTERS = 0, /* int32_t f(void* const* args): args[i] points to the i-th argument's value, of exactly its declared type */
  KILN_CALL_PACKED = 1    /* int32_t f(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) of tvm-ffi */
} KilnConvention;

/* One kernel of an artifact. */
typedef struct KilnKernel {
  size_t struct_size;
  KilnString name;         /* by which the module hands it out: its global_symbol in the IRModule */
  KilnString symbol;       /* the function in the binary, called by `convention`; the name in the source when there is no binary */
  int32_t convention;      /* KilnConvention */
  const KilnParam* params; /* in the kernel's order */
  size_t num_params;
  const KilnString* launch_params; /* tags of the launch values that follow the arguments ("blockIdx.x", ...); none on a CPU */
  size_t num_launch_params;
} KilnKernel;

/* What a codegen made, as data. Kiln copies it. */
typedef struct KilnArtifacts {
  size_t struct_size;
  KilnString format; /* the source's language, as inspect_source answers to it */
  KilnString source; /* the device code, for people to read; may be empty */
  KilnString
      entry; /* text that follows `source` only where it is compiled to be loaded: defines a KILN_CALL_POINTERS function for each kernel */
  KilnString binary; /* a shared library for this machine, which Kiln loads; empty: source only, nothing can be called */
  const KilnKernel* kernels;
  size_t num_kernels;
} KilnArtifacts;

/* What is to be lowered. */
typedef struct KilnRequest {
  size_t struct_size;
  const KilnTarget* target;
  const KilnModule* module;
} KilnRequest;

/* One device codegen. Functions may be NULL, except that one of build and build_without_compile is needed to lower anything. */
typedef struct KilnCodegen {
  size_t struct_size;
  KilnString name; /* unique among the codegens of its target kind */
  void* self;      /* passed to the functions; must live until the process ends */
  /* Lowers the module to device code that can be called, and puts it into `result`. */
  KilnError* (*build)(void* self, const KilnRequest* request, KilnResult* result);
  /* The same without a compiler: source only. */
  KilnError* (*build_without_compile)(void* self, const KilnRequest* request, KilnResult* result);
  /* Sets *supported to 1 or 0; NULL: every target of the kind. Called at each resolution, so be quick. */
  KilnError* (*supports_target)(void* self, const KilnTarget* target, int32_t* supported);
} KilnCodegen;

/* What Kiln offers a plug-in. */
typedef struct KilnHost {
  size_t struct_size;
  uint32_t abi_version;
  KilnString version; /* Kiln's, for messages */

  /* `message`: one lower-case sentence, what was expected and what came; `place` (where) and `hint` (what to do) may be empty. */
  KilnError* (*error_create)(int32_t code, KilnString message, KilnString place, KilnString hint);
  void (*error_release)(KilnError* error); /* NULL is fine */
  int32_t (*error_code)(const KilnError* error);
  KilnString (*error_message)(const KilnError* error); /* these three live as long as the error */
  KilnString (*error_place)(const KilnError* error);
  KilnString (*error_hint)(const KilnError* error);

  /* Appends to the kind's list. A name that the kind has is an error, unless `override_`, which removes the old entry. Copies the struct.
   */
  KilnError* (*register_device_codegen)(KilnString target_kind, const KilnCodegen* codegen, int32_t override_);
  /* Loads another backend at the first use of a kind: a shared library's path, a manifest's name, a Python module. */
  KilnError* (*register_lazy_device_codegen)(KilnString target_kind, KilnString import_path);

  /* {"kind":"KIND","tag":"","keys":[...],"arch":"..."}, attributes sorted. */
  KilnString (*target_json)(const KilnTarget* target);
  KilnString (*target_kind)(const KilnTarget* target);
  KilnString (*target_attr)(const KilnTarget* target, KilnString name); /* a text attribute; empty when there is none */
  int32_t (*target_has_key)(const KilnTarget* target, KilnString key);

  /* The module as TVMScript, which the SDK and TVM read back. */
  KilnString (*module_script)(const KilnModule* module);

  /* Sets the result to a tvm-ffi module (a TVMFFIObjectHandle); takes a reference of its own. */
  KilnError* (*result_set_module)(KilnResult* result, void* tvm_ffi_module);
  /* Sets the result to a module made of these artifacts. */
  KilnError* (*result_set_artifacts)(KilnResult* result, const KilnArtifacts* artifacts);

  /* Prints the request's module by the codegen that serves another target (a kind, or JSON), without compiling. *out lives until the
   * plug-in's function that was given the request returns. */
  KilnError* (*print)(const KilnRequest* request, KilnString target, const KilnArtifacts** out);
} KilnHost;

/* The plug-in about itself. */
typedef struct KilnPlugin {
  size_t struct_size;
  uint32_t abi_version; /* KILN_ABI_VERSION of the header that the plug-in was built with */
  /* Registers the plug-in's codegens. Called again when the plug-in is registered anew or after it failed; what a failed call registered is
   * taken out by Kiln. */
  KilnError* (*init)(const KilnHost* host);
} KilnPlugin;

/* Exported by the plug-in; the struct lives as long as the library. */
KILN_PLUGIN_EXPORT const KilnPlugin* kiln_plugin(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* KILN_ABI_PLUGIN_H_ */
