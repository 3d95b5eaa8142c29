// GPU architectures, and what one of them can do.
#pragma once

#include <algorithm>
#include <string>

#include "kiln/target.h"
#include "target/features.h"

namespace kiln::cuda {

// "sm_90a": number 90, and whether the code may use what only this architecture (or its family: suffix f) has.
struct Arch {
  int number = 0;   // major * 10 + minor
  char suffix = 0;  // 'a', 'f', or 0

  std::string sm() const { return "sm_" + tail(); }
  std::string compute() const { return "compute_" + tail(); }
  // wgmma and setmaxnreg: sm_90a alone has the first, sm_100a and their likes the second.
  bool has_wgmma() const { return number == 90 && suffix == 'a'; }
  // sm_100a, sm_103a, sm_110a and families of them; sm_120 has none.
  bool has_tcgen05() const { return number >= 100 && number < 120 && suffix != 0; }
  bool has_setmaxnreg() const { return number >= 90 && suffix != 0; }
  // The hint for what sm_<first>a and its likes have: their own suffix says so, for a newer GPU does not run their code.
  std::string needs_specific(int first) const { return "it needs sm_" + std::to_string(std::max(first, number)) + "a"; }

 private:
  std::string tail() const { return std::to_string(number) + (suffix ? std::string(1, suffix) : std::string()); }
};

// The target's attribute "arch" ("sm_80", "sm_90a", "sm_100f"); absent: sm_75, which every CUDA 13 toolkit compiles for. A number out
// of sm_75 to sm_121, or a suffix that it has not, is an error of code kUnsupported, other text one of code kInvalidArgument.
Result<Arch> arch_of(const Target& target);
// The same from a text; `attribute` names it in errors.
Result<Arch> parse_arch(const std::string& text, std::string_view attribute);

// Half formats are computed in float32, where sums, products and quotients round as the format's own would.
constexpr Features features() {
  return {.float64 = true,
          .int64 = true,
          .float16_arithmetic = false,
          .bfloat16_arithmetic = false,
          .narrow_int_arithmetic = false,  // C++ promotes to int
          .floor_division = false,
          .max_vector_lanes = 1,      // lane loops over registers
          .vector_access_bytes = 16,  // ld.global.v4.u32
          .thread_blocks = true,
          .atomics = true,
          .pointers = true};
}

// From the CUDA C++ Programming Guide's table of compute capabilities.
Limits limits(const Arch& arch);

}  // namespace kiln::cuda
