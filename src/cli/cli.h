// The verbs of the command line. Each returns the exit status: 0 fine, 1 the work failed, 2 usage.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "kiln/error.h"

namespace kiln::cli {

// The whole command: reads `argv` (argv[0] is the program's name), runs the verb, returns the exit status. May be called more than once.
int main(int argc, const char* const* argv);

struct BuildArgs {
  std::string module, target, codegen, emit = "source", output;
  bool json = false;
};
int build(const BuildArgs& args);

// Of the verbs that launch cases.
struct CaseArgs {
  std::vector<std::string> cases;
  std::string target, codegen, device;
  bool json = false;
  int repeat = 0;
};
struct RunArgs : CaseArgs {
  bool check = false;
  uint64_t seed = 0;  // of a checked run
  int schedules = 1;
  bool counters = false;
  int jobs = 0;
};
int run(const RunArgs& args);

struct BenchArgs : CaseArgs {
  BenchArgs() { repeat = 20; }
  int64_t flops = 0;  // of each case's launch; 0: what the case says
};
int bench(const BenchArgs& args);

struct ConformanceArgs {
  std::string codegen, target, device = "cpu", filter, show, markdown;
  uint64_t seed = 0;
  int jobs = 0;
  bool json = false;
};
int conformance_verb(const ConformanceArgs& args);

// Writes a new backend, outside this repository, into the folder `output` (empty: ./NAME), which must not exist.
int new_backend(const std::string& name, const std::string& output, bool json);
// Where the CMake package of this installation is.
int print_cmake_folder();

// `action`: stat, verify, prune or clear.
int cache_verb(const std::string& action, bool json);

int print(const std::string& module, bool json);
int verify(const std::vector<std::string>& modules, bool round_trip, bool json);
int list(bool json);
int resolve(const std::string& target, bool explain, bool json);
int doctor(bool json);

// Whether the device is here; reports that it is not. Asked in a process of its own, since a driver that has started does not survive a
// fork.
bool is_available(const std::string& device, bool json);

// Prints the error to stderr ("kiln: error: ..."), with `json` as an object on stdout too; returns 1.
int report(const Error& error, bool json);
// Text for a terminal: control characters of untrusted names are escaped.
std::string printable(std::string_view text);

}  // namespace kiln::cli
