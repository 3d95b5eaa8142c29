/* A plug-in for two kinds. KILN_TEST_BACKEND_FAIL makes its initialisation fail after it registered its codegens. */
#include <stdlib.h>
#include <string.h>

#include "kiln/abi/plugin.h"

static KilnString text(const char* s) {
  KilnString out = {s, strlen(s)};
  return out;
}

static KilnError* init(const KilnHost* host) {
  static const char* const kinds[] = {"plugintest_path", "plugintest_manifest"};
  KilnCodegen codegen = {.struct_size = sizeof(KilnCodegen)};
  codegen.name = text("plugin");
  for (int i = 0; i < 2; ++i) {
    KilnError* error = host->register_device_codegen(text(kinds[i]), &codegen, 0);
    if (error) return error;
  }
  if (!getenv("KILN_TEST_BACKEND_FAIL")) return NULL;
  return host->error_create(KILN_INTERNAL, text("the test backend was told to fail"), text(""), text(""));
}

const KilnPlugin* kiln_plugin(void) {
  static const KilnPlugin plugin = {sizeof(KilnPlugin), KILN_ABI_VERSION, init};
  return &plugin;
}
