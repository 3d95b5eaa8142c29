// Builds and runs cases.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cases/case.h"
#include "driver/driver.h"
#include "runtime/device.h"

namespace kiln::cases {

// Launches in the device's checked mode: `schedules` of them, with the seeds from `seed` on, each on the inputs.
struct CheckOptions {
  uint64_t seed = 0;
  int schedules = 1;
  bool counters = false;  // count accesses to memory, in the first of them
};

struct RunOptions {
  std::optional<std::string> target, codegen;  // instead of the case's own
  std::optional<std::string> device;           // "cuda:0"; absent: the first device that runs the target's kind
  int repeat = 0;                              // extra launches that are timed
  std::optional<CheckOptions> check;
  bool by_kernel = false;       // each launch of the case on its own, else all of them together
  std::optional<double> flops;  // of the case's only launch, instead of its own; with `by_kernel`
};

// One launch of a case, timed by itself.
struct KernelTime {
  std::string kernel;
  double median = 0, min = 0, mean = 0;  // us
  double bytes = 0;                      // of the launch's tensors, each once; twice where it is input and output
  double flops = 0;                      // operations of the launch; 0: not known
};

struct Outcome {
  enum class State : uint8_t { kPassed, kFailed, kSkipped };
  std::string folder;
  State state = State::kFailed;
  std::string reason;  // why it failed or was skipped; for a pass, what was expected (a policy, an error)
  std::string codegen;
  std::vector<runtime::Finding> findings;  // of a checked run; with one the case has failed
  std::vector<runtime::AccessCount> counters;
  std::vector<driver::Timing> times;  // ms; "run" is the first execution, "median" of the repeats
  std::vector<KernelTime> kernels;    // with `by_kernel`, in the order of the launches
};

// One case, in this process: a kernel that crashes takes the process with it.
Outcome run_case(const std::string& folder, const RunOptions& options);

// Each case in a process of its own, `jobs` at a time, stopped after KILN_CASE_TIMEOUT seconds (default 300). `done` gets the outcomes in
// the order of `folders`. The process must not have started a device's driver, which a fork does not copy.
void run_cases(const std::vector<std::string>& folders, const RunOptions& options, int jobs,
               const std::function<void(const Outcome&)>& done);

}  // namespace kiln::cases
