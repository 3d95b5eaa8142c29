// What a user may ask of the printer and the compilers, beside the architecture.
#pragma once

#include <string>
#include <vector>

#include "backends/cuda/arch.h"
#include "ir/ir.h"

namespace kiln::cuda {

// From the target's attributes, else from TileLang's pass-configuration keys among the attributes of the module or a function of it,
// else from those of the pass context of the compiler in whose process this is (runtime/live_config.h):
//   feature.fast_math             tl.enable_fast_math               bool: --use_fast_math
//   feature.register_usage_level  tl.ptxas_register_usage_level     0 to 10: ptxas' --register-usage-level
//   feature.compile_flags         tl.device_compile_flags           text or a list of texts: more flags, split at spaces
//   feature.line_info                                               bool: --generate-line-info
//   feature.line_comments                                           bool: comments that name the user's file and line
//   feature.line_directives                                         bool: #line directives with the user's file and line
//   code                                                            architectures of a fat binary ("sm_80", "sm_90a"); default: arch
struct Options {
  Arch arch;
  std::vector<Arch> fatbin_archs;  // at least one
  bool line_comments = false, line_directives = false;
  std::vector<std::string> flags;  // for the compiler, checked
};

// A value of the wrong type or out of range, and a flag that is not one of those that only change code, are errors of code
// kInvalidArgument.
Result<Options> options_of(const Target& target, const ir::Module& module);

}  // namespace kiln::cuda
