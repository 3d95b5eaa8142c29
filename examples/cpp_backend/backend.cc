// Device codegen `mylang`: prints C, and compiles and loads it with the host's compiler.
#include <kiln/sdk.h>

#include "base/process.h"
#include "base/temporary_folder.h"
#include "print.h"
#include "runtime/kernel_module.h"

using namespace kiln;

namespace {

Result<Module> build_without_compile(const IRModule& module, const Target&) {
  Result<Source> source = mylang_backend::print(module);
  if (!source) return source.error();
  return runtime::make_source_module(std::move(*source));
}

Result<Module> build(const IRModule& module, const Target&) {
  Result<Source> source = mylang_backend::print(module);
  if (!source) return source.error();
  auto folder = TemporaryFolder::make();
  if (!folder) return folder.error();
  if (Status s = (*folder)->write("kernels.c", source->text + source->entry_text); !s) return s.error();
  auto compiled =
      run_process({"cc", "-O2", "-fwrapv", "-ffp-contract=off", "-w", "-fPIC", "-shared", "kernels.c", "-o", "kernels.so", "-lm"}, 120,
                  (*folder)->path());
  if (!compiled) return compiled.error();
  if (compiled->status != 0) return Error{Code::kToolchain, "cc failed: " + compiled->output, "", ""};
  auto library = runtime::Library::open((*folder)->file("kernels.so"));
  if (!library) return library.error();
  return runtime::make_compiled_module(std::move(*source), std::move(*library));
}

Status init() {
  auto entry = register_device_codegen("mylang", {"mylang", build, build_without_compile, /*supports_target=*/{}});
  return entry ? Status(Ok{}) : entry.error();
}

}  // namespace

extern "C" const KilnPlugin* kiln_plugin(void) { return sdk::plugin(init); }
