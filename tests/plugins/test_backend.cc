// A backend in a shared library. KILN_TEST_BACKEND_FAIL makes its initialisation fail after it registered a codegen.
#include <cstdlib>

#include "kiln/device_codegen.h"

extern "C" int kiln_backend_init(void) {
  for (const char* kind : {"plugintest_path", "plugintest_manifest"}) {
    if (!kiln::register_device_codegen(kind, {"plugin", {}, {}, {}}).ok()) return 2;
  }
  return std::getenv("KILN_TEST_BACKEND_FAIL") ? 7 : 0;
}

extern "C" const char* kiln_backend_error(void) { return "the test backend was told to fail"; }
