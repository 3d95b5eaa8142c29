/* A plug-in in plain C that uses the whole interface, with codegens that err in each way. KIND is its target kind. */
#include <string.h>

#include "kiln/abi/plugin.h"

static const KilnHost* host;

static KilnString text(const char* s) {
  KilnString out = {s, strlen(s)};
  return out;
}

static KilnError* fail(int32_t code, const char* message) { return host->error_create(code, text(message), text("here"), text("a hint")); }

/* The module's text as source, without kernels. */
static KilnError* echo(void* self, const KilnRequest* request, KilnResult* result) {
  KilnArtifacts artifacts = {.struct_size = sizeof(KilnArtifacts)};
  (void)self;
  artifacts.format = text("echo");
  artifacts.source = host->module_script(request->module);
  return host->result_set_artifacts(result, &artifacts);
}

/* What the codegen of the target in the attribute "print" prints. */
static KilnError* reprint(void* self, const KilnRequest* request, KilnResult* result) {
  const KilnArtifacts* printed;
  KilnError* error = host->print(request, host->target_attr(request->target, text("print")), &printed);
  (void)self;
  return error ? error : host->result_set_artifacts(result, printed);
}

static KilnError* refuse(void* self, const KilnRequest* request, KilnResult* result) {
  (void)self, (void)request, (void)result;
  return fail(KILN_UNSUPPORTED, "this plug-in refuses everything");
}

static KilnError* nothing(void* self, const KilnRequest* request, KilnResult* result) {
  (void)self, (void)request, (void)result;
  return NULL;
}

/* A shared library that is none. */
static KilnError* bad_binary(void* self, const KilnRequest* request, KilnResult* result) {
  KilnArtifacts artifacts = {.struct_size = sizeof(KilnArtifacts)};
  (void)self, (void)request;
  artifacts.binary = text("no library");
  return host->result_set_artifacts(result, &artifacts);
}

static KilnError* bad_kernel(void* self, const KilnRequest* request, KilnResult* result) {
  KilnArtifacts artifacts = {.struct_size = sizeof(KilnArtifacts)};
  KilnKernel kernel = {.struct_size = sizeof(KilnKernel)};
  (void)self, (void)request;
  artifacts.kernels = &kernel;
  artifacts.num_kernels = 1;
  return host->result_set_artifacts(result, &artifacts);
}

static KilnError* no_artifacts(void* self, const KilnRequest* request, KilnResult* result) {
  (void)self, (void)request;
  return host->result_set_artifacts(result, NULL);
}

static KilnError* no_module(void* self, const KilnRequest* request, KilnResult* result) {
  (void)self, (void)request;
  return host->result_set_module(result, NULL);
}

/* Yes for the key "yes", an error for the key "error". */
static KilnError* has_yes(void* self, const KilnTarget* target, int32_t* supported) {
  (void)self;
  if (host->target_has_key(target, text("error"))) return fail(KILN_INTERNAL, "the predicate failed");
  *supported = host->target_has_key(target, text("yes"));
  return NULL;
}

static KilnError* add(const char* name, KilnError* (*build)(void*, const KilnRequest*, KilnResult*),
                      KilnError* (*supports)(void*, const KilnTarget*, int32_t*)) {
  KilnCodegen codegen = {.struct_size = sizeof(KilnCodegen)};
  codegen.name = text(name);
  codegen.build = build;
  codegen.supports_target = supports;
  return host->register_device_codegen(text(KIND), &codegen, 0);
}

static KilnError* init(const KilnHost* table) {
  static const struct {
    const char* name;
    KilnError* (*build)(void*, const KilnRequest*, KilnResult*);
    KilnError* (*supports)(void*, const KilnTarget*, int32_t*);
  } codegens[] = {
      {"picky", echo, has_yes},         {"echo", echo, NULL},           {"reprint", reprint, NULL},
      {"refuse", refuse, NULL},         {"nothing", nothing, NULL},     {"bad_binary", bad_binary, NULL},
      {"bad_kernel", bad_kernel, NULL}, {"no_module", no_module, NULL}, {"no_artifacts", no_artifacts, NULL},
  };
  host = table;
  for (size_t i = 0; i < sizeof(codegens) / sizeof(codegens[0]); ++i) {
    KilnError* error = add(codegens[i].name, codegens[i].build, codegens[i].supports);
    if (error) return error;
  }
  return NULL;
}

const KilnPlugin* kiln_plugin(void) {
  static const KilnPlugin plugin = {sizeof(KilnPlugin), KILN_ABI_VERSION, init};
  return &plugin;
}
