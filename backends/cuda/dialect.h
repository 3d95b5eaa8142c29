// CUDA C++ as a dialect of the C family.
#pragma once

#include <map>
#include <set>

#include "backends/cuda/arch.h"
#include "emit/c_family.h"

namespace kiln::cuda {

extern const emit::Dialect dialect;

// Copies of a body that loops in one another are unrolled to at most: beyond, NVRTC takes minutes, and the outer loop says nothing of
// unrolling.
constexpr int64_t kMostUnrolled = 1024;

// The walker with what calls need to know.
struct CudaPrinter : emit::CFamily {
  CudaPrinter(emit::Writer& out, const emit::Reserved& reserved, const Arch& arch,
              const std::map<std::string, std::string, std::less<>>& symbols, std::map<std::string, std::string>& generated)
      : CFamily(dialect, out, reserved), arch(arch), symbols(symbols), generated(generated) {}
  const Arch& arch;
  const std::map<std::string, std::string, std::less<>>& symbols;  // names of the module's functions in the text
  std::map<std::string, std::string>& generated;                   // helpers made for its calls, by name
  std::set<const ir::Var*> word_accessed;                          // arrays that a vector access goes to or comes from
  std::map<const ir::Call*, const ir::Var*> generators;            // the state of each tl.rng_init
  const ir::Var* generator = nullptr;                              // of the last one that was printed
  bool swizzled = false;                                           // blockIdx is that of an Attr "threadblock_swizzle_pattern"
};

}  // namespace kiln::cuda
