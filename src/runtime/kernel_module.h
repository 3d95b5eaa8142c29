// tvm-ffi modules made from printed sources.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "kiln/module.h"
#include "runtime/arguments.h"
#include "runtime/kernel_info.h"
#include "runtime/library.h"

namespace kiln::runtime {

// Makes an artifact ("so", "obj", "asm", ...) when it is asked for: its bytes.
using ArtifactFn = std::function<Result<std::string>()>;
using Artifacts = std::map<std::string, ArtifactFn, std::less<>>;

// Runs a module's kernels on devices other than the CPU.
class Launcher {
 public:
  virtual ~Launcher() = default;
  // DLDeviceType of the tensors that it takes, and those of other memory that its devices reach (pinned, managed); lives as long as it.
  virtual int device_type() const = 0;
  virtual std::span<const int> reachable_types() const = 0;
  // Starts the kernel at `index` of the source. args[i] points to the i-th parameter's value, of exactly its type; values[i] is the i-th
  // launch parameter; `device` is -1 when no argument tells. Safe from any thread.
  virtual Fault launch(size_t index, void** args, const Slot* values, int device) const = 0;
};

// A module with the source alone: inspect_source answers, calling a kernel is an error that says how to get it compiled.
Module make_source_module(Source source, Artifacts artifacts = {});

// A module whose functions run. They take DLPack tensors (Tensor objects, DLTensor*, or bare pointers) and scalars in the kernel's
// parameter order and check them against KernelInfo. The library stays loaded while the module or one of its functions lives. Safe to call
// from any thread. A kernel whose symbol the library lacks is an error.
Result<Module> make_compiled_module(Source source, std::shared_ptr<const Library> library, Artifacts artifacts = {});

// The same for kernels that a launcher runs: after the parameters they take the kernel's launch values, in the order of launch_params, as
// unsigned 32-bit integers. Tensors lie on one device.
Module make_launched_module(Source source, std::shared_ptr<const Launcher> launcher, Artifacts artifacts = {});

// The function of a compiled library that runs the kernel at `index`.
std::string entry_symbol(const KernelInfo& kernel, size_t index);

// What a module made here was made of; null for any other. Lives as long as the module.
const Source* source_of(const Module& module);

// Whether a tvm-ffi object (a TVMFFIObjectHandle) is a module.
bool is_module(const void* object);

}  // namespace kiln::runtime
