/* Plug-ins with one fault each, by a definition on the command line. */
#include "kiln/abi/plugin.h"

#ifdef SMALL_CODEGEN
static KilnError* init(const KilnHost* host) {
  KilnCodegen codegen = {.struct_size = sizeof(size_t)};
  KilnString kind = {"plugintest_faulty", 17};
  return host->register_device_codegen(kind, &codegen, 0);
}
#define INIT init
#else
#define INIT 0
#endif

#ifdef OLD_ABI
#define VERSION 999
#else
#define VERSION KILN_ABI_VERSION
#endif

#ifndef NO_ENTRY
const KilnPlugin* kiln_plugin(void) {
  static const KilnPlugin plugin = {sizeof(KilnPlugin), VERSION, INIT};
  return &plugin;
}
#endif
