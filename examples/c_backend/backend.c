/* Device codegen `tinyc` in plain C: lets Kiln print the module as C, and compiles that by a compiler of its own, named by the target's
 * attribute `compiler` (default cc). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kiln/abi/plugin.h"

static const KilnHost* host;

static KilnString text(const char* s) {
  KilnString out = {s, strlen(s)};
  return out;
}

static KilnError* fail(int32_t code, const char* message, const char* place) {
  return host->error_create(code, text(message), text(place), text(""));
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

static int write_file(const char* path, KilnString a, KilnString b) {
  FILE* f = fopen(path, "wb");
  if (!f) return -1;
  int ok = fwrite(a.data, 1, a.size, f) == a.size && fwrite(b.data, 1, b.size, f) == b.size;
  return fclose(f) == 0 && ok ? 0 : -1;
}

/* The file's bytes, to be freed; {NULL, 0} when it cannot be read. */
static KilnString read_file(const char* path) {
  KilnString bytes = {NULL, 0};
  FILE* f = fopen(path, "rb");
  if (!f) return bytes;
  long size = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
  char* data = size > 0 ? malloc((size_t)size) : NULL;
  rewind(f);
  if (data && fread(data, 1, (size_t)size, f) == (size_t)size) {
    bytes.data = data;
    bytes.size = (size_t)size;
  } else {
    free(data);
  }
  fclose(f);
  return bytes;
}

/* ---- compile ---------------------------------------------------------------------------------------------------- */

/* No shell: the compiler's name is untrusted text. Returns its exit status, or -1. */
static int compile(const char* compiler, const char* source, const char* library) {
  char* argv[] = {(char*)compiler, "-O2",         "-fwrapv", "-ffp-contract=off", "-w",  "-fPIC",
                  "-shared",       (char*)source, "-o",      (char*)library,      "-lm", NULL};
  pid_t child = fork();
  if (child == 0) {
    execvp(compiler, argv);
    _exit(127);
  }
  int status;
  pid_t ended;
  do ended = child < 0 ? -1 : waitpid(child, &status, 0);
  while (ended < 0 && errno == EINTR && child > 0);
  return ended == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static KilnError* compile_artifacts(KilnString compiler, KilnArtifacts* artifacts, KilnResult* result) {
  char folder[200], source[220], library[220], name[256] = "cc", message[320];
  const char* parent = getenv("TMPDIR");
  if (snprintf(folder, sizeof folder, "%s/tinyc-XXXXXX", parent ? parent : "/tmp") >= (int)sizeof folder) {
    return fail(KILN_IO, "the name of the folder for temporary files is too long", "TMPDIR");
  }
  if (compiler.size >= sizeof name) return fail(KILN_INVALID_ARGUMENT, "the compiler's name is too long", "attribute 'compiler'");
  if (compiler.size > 0) snprintf(name, sizeof name, "%.*s", (int)compiler.size, compiler.data);
  if (!mkdtemp(folder)) return fail(KILN_IO, "cannot make a temporary folder", folder);
  snprintf(source, sizeof source, "%s/kernels.c", folder);
  snprintf(library, sizeof library, "%s/kernels.so", folder);
  KilnError* error = NULL;
  if (write_file(source, artifacts->source, artifacts->entry) != 0) {
    error = fail(KILN_IO, "cannot write the source", source);
  } else if (compile(name, source, library) != 0) {
    snprintf(message, sizeof message, "the compiler '%s' failed", name);
    error = fail(KILN_TOOLCHAIN, message, "");
  } else {
    artifacts->binary = read_file(library);
    error = artifacts->binary.data ? host->result_set_artifacts(result, artifacts) : fail(KILN_IO, "cannot read the library", library);
    free((void*)artifacts->binary.data);
  }
  unlink(source);
  unlink(library);
  rmdir(folder);
  return error;
}

/* ---- the codegen ------------------------------------------------------------------------------------------------ */

static KilnError* build_without_compile(void* self, const KilnRequest* request, KilnResult* result) {
  const KilnArtifacts* printed;
  (void)self;
  KilnError* error = host->print(request, text("c"), &printed);
  return error ? error : host->result_set_artifacts(result, printed);
}

static KilnError* build(void* self, const KilnRequest* request, KilnResult* result) {
  const KilnArtifacts* printed;
  (void)self;
  KilnError* error = host->print(request, text("c"), &printed);
  if (error) return error;
  KilnArtifacts artifacts = *printed; /* the kernels stay as they are */
  return compile_artifacts(host->target_attr(request->target, text("compiler")), &artifacts, result);
}

static KilnError* init(const KilnHost* table) {
  host = table;
  KilnCodegen codegen = {.struct_size = sizeof(KilnCodegen)};
  codegen.name = text("tinyc");
  codegen.build = build;
  codegen.build_without_compile = build_without_compile;
  return host->register_device_codegen(text("tinyc"), &codegen, 0);
}

const KilnPlugin* kiln_plugin(void) {
  static const KilnPlugin plugin = {sizeof(KilnPlugin), KILN_ABI_VERSION, init};
  return &plugin;
}
