// Prints a module as C for the simulator.
#pragma once

#include <string>
#include <vector>

#include "ir/ir.h"
#include "kiln/error.h"
#include "runtime/kernel_info.h"

namespace kiln::sim {

// A place that operations of the text name by its number.
struct PrintedSite {
  std::string place;   // "gemm.py:21"; empty: not known
  std::string buffer;  // whose elements it accesses; empty: none
  int line = 0;        // of the text, from 1
  int stretch = 0;     // of the text between two statements that synchronise, by its number
  int elements = 1;    // that are one access of the kernel, a vector
};

struct Printed {
  Source source;                      // kernels are functions void symbol(sim_warp*, void* const* args)
  std::vector<PrintedSite> sites;     // the first stands for none
  std::vector<std::string> forms;     // matrix instructions, as PTX names them
  std::vector<int64_t> static_bytes;  // of shared memory, for each kernel; what is dynamic comes after
};

// C99 with what the runtime declares (device/sim.h) and the helpers that the module uses. The first thing that the simulator has not is an
// error of code kUnsupported, with its place.
// `checked`: text for launches with a checker, in which every access to memory is told.
Result<Printed> print_source(const ir::Module& module, bool checked);

}  // namespace kiln::sim
