// NVIDIA's compilers: NVRTC, a library loaded when it is first needed, and nvcc, a program. Either makes the same artifacts.
#pragma once

#include <string>
#include <vector>

#include "kiln/error.h"

namespace kiln::cuda {

enum class Format { kPtx, kCubin };

// What a compiler made of a text: the code, or why not.
struct Compiled {
  std::string code;  // empty: the text has an error
  std::string log;   // the compiler's messages; lines of the text are named "kernel.cu(12)"
};

struct Compiler {
  std::string name;     // "NVRTC", "nvcc"
  std::string path;     // where it is
  std::string version;  // "NVRTC 13.0 (104857600 bytes)": tells any two builds apart
  // Architectures that it makes code for ("sm_90"); empty: not known.
  std::vector<int> architectures;
  // Errors, of code kToolchain, are the compiler's own failures; those of the text are in Compiled. `options` are in the form that both
  // compilers take. Safe from any thread, in parallel.
  Result<Compiled> (*compile)(const Compiler& self, const std::string& text, const std::vector<std::string>& options, Format format);
};

// Each looks once.
const Result<Compiler>& nvrtc();
const Result<Compiler>& nvcc();
// The one that KILN_CUDA_COMPILER names ("nvrtc", "nvcc"); not set: NVRTC, else nvcc.
Result<Compiler> chosen_compiler();

// One code for one architecture of a fat binary.
struct FatbinPart {
  Format format;
  std::string architecture;  // "90a"
  std::string bytes;
};
// A fat binary of the parts, made by nvFatbin (a library loaded when it is first needed).
Result<std::string> make_fatbin(const std::vector<FatbinPart>& parts);

}  // namespace kiln::cuda
