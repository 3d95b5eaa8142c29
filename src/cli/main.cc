#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <system_error>

#include "cli/cli.h"

namespace {

using namespace kiln::cli;

constexpr const char* kVersion = KILN_VERSION;

void add_build(CLI::App& app, BuildArgs& a) {
  CLI::App* c = app.add_subcommand("build", "Lower a module and write the artifact");
  c->add_option("MODULE", a.module, "module file: JSON saved by TVM (.json, .json.gz), TVMScript text, or - for standard input")
      ->required();
  c->add_option("--target", a.target, "target, instead of the module's own: a kind, 'kind -key=value ...', or JSON")
      ->envname("KILN_TARGET");
  c->add_option("--codegen", a.codegen, "device codegen, instead of the first that matches the target")->envname("KILN_CODEGEN");
  c->add_option("--emit", a.emit, "what to write (default: source)")
      ->check(CLI::IsMember({"source", "ptx", "cubin", "fatbin", "obj", "so", "ll", "asm"}))
      ->envname("KILN_EMIT");
  c->add_option("-o,--output", a.output, "file to write, whole or not at all (default: standard output)")->envname("KILN_OUTPUT");
  c->add_flag("--json", a.json, "print a JSON object about the build")->envname("KILN_JSON");
  c->footer(
      "Examples:\n  kiln build gemm.json\n  kiln build gemm.json.gz --target c --emit so -o gemm.so\n  cat gemm.py | kiln build - -o "
      "gemm.c");
}

void add_case_options(CLI::App* c, CaseArgs& a) {
  c->add_option("CASE", a.cases, "folder with case.json, or a folder of such folders")->required();
  c->add_option("--target", a.target, "target, instead of the case's own")->envname("KILN_TARGET");
  c->add_option("--codegen", a.codegen, "device codegen, instead of the first that matches the target")->envname("KILN_CODEGEN");
  c->add_option("--device", a.device,
                "where to run: cpu, or a device that kiln doctor lists (default: the first that runs the case's target)")
      ->envname("KILN_DEVICE");
  c->add_flag("--json", a.json, "print one JSON object a case on a line")->envname("KILN_JSON");
}

void add_run(CLI::App& app, RunArgs& a) {
  CLI::App* c = app.add_subcommand("run", "Build and launch cases, and compare their outputs");
  add_case_options(c, a);
  CLI::Option* check =
      c->add_flag("--check", a.check, "find races, accesses out of bounds and the like, on devices that can")->envname("KILN_CHECK");
  c->add_option("--seed", a.seed, "with --check: of the order of warps and asynchronous work; the same seed gives the same run")
      ->needs(check)
      ->envname("KILN_SEED");
  c->add_option("--schedules", a.schedules, "with --check: orders to try, with the seeds from --seed on")
      ->needs(check)
      ->check(CLI::Range(1, 1000000))
      ->envname("KILN_SCHEDULES");
  c->add_flag("--counters", a.counters,
              "with --check: wavefronts of shared memory (bank conflicts) and sectors of global memory (coalescing), by place")
      ->needs(check)
      ->envname("KILN_COUNTERS");
  c->add_option("--repeat", a.repeat, "launch N times more and report the median time")
      ->check(CLI::Range(0, 1000000))
      ->envname("KILN_REPEAT");
  c->add_option("--jobs", a.jobs, "cases at a time (default: the number of cores)")->check(CLI::Range(1, 1024))->envname("KILN_JOBS");
  c->footer(
      "Examples:\n  kiln run tests/corpus/corpus/c/gemm_cpu_256\n  kiln run tests/corpus --json\n  kiln run "
      "tests/corpus/corpus/c/gemm_cpu_256 --repeat 20\n  kiln run tests/corpus/corpus/cuda_sm90a/gemm_f16_f32 --device sim --check "
      "--schedules 5");
}

void add_bench(CLI::App& app, BenchArgs& a) {
  CLI::App* c = app.add_subcommand("bench", "Time each kernel of cases on a device, after their outputs were compared");
  add_case_options(c, a);
  c->add_option("--repeat", a.repeat, "launches of each kernel that are timed (default: 20)")
      ->check(CLI::Range(1, 1000000))
      ->envname("KILN_REPEAT");
  c->add_option("--flops", a.flops,
                "operations of each case's launch, for TFLOP/s (default: the key 'flops' of a launch in case.json, where it is)")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000'000'000'000}))
      ->envname("KILN_FLOPS");
  c->footer(
      "Times are the device's own, of one launch each: on a GPU between two events, with its level 2 cache overwritten before; on the CPU "
      "by the "
      "clock, with caches as the launch before left them. GB/s counts each tensor of the launch once, and twice where it is input and "
      "output.\n"
      "Examples:\n  kiln bench tests/corpus/corpus/c/gemm_cpu_256 --flops 33554432\n  kiln bench tests/corpus/corpus/cuda_sm80 --device "
      "cuda:1 --repeat 100 --json");
}

void add_conformance(CLI::App& app, ConformanceArgs& a) {
  CLI::App* c = app.add_subcommand("conformance", "Check a device codegen against the reference: every operator, dtype and vector width");
  c->add_option("NAME", a.codegen, "device codegen (default: every one that can run here)");
  c->add_option("--target", a.target, "target to build for (default: the first kind that the codegen serves)")->envname("KILN_TARGET");
  c->add_option("--device", a.device, "where cells run, as kiln doctor lists it; codegens for others only print (default: cpu)")
      ->envname("KILN_DEVICE");
  c->add_option("--filter", a.filter, "only cells whose name, row or group contains this text")->envname("KILN_FILTER");
  c->add_option("--show", a.show, "print the module of a cell, and run nothing");
  c->add_option("--markdown", a.markdown, "also write the matrix to this file");
  c->add_option("--seed", a.seed, "of the random inputs")->envname("KILN_SEED");
  c->add_option("--jobs", a.jobs, "processes at a time (default: the number of cores)")->check(CLI::Range(1, 1024))->envname("KILN_JOBS");
  c->add_flag("--json", a.json, "print one JSON object a cell on a line")->envname("KILN_JSON");
  c->footer(
      "Examples:\n  kiln conformance c\n  kiln conformance c --filter Cast\n  kiln conformance c --show add_float32_x4\n  kiln conformance "
      "cuda --target 'cuda -arch=sm_90a' --device cuda:0");
}

int usage(const char* what, int argc, const char* const* argv) {
  bool json = false;
  for (int i = 1; i < argc; ++i) json = json || std::string_view(argv[i]) == "--json";
  std::string message = what;
  bool name = message.size() > 1 && std::isupper(static_cast<unsigned char>(message[1]));  // of an argument, such as MODULE
  if (!message.empty() && !name) message[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(message[0])));
  report({kiln::Code::kInvalidArgument, message, "", "kiln --help and kiln VERB --help show the usage"}, json);
  return 2;
}

// Says so when the first argument is no verb, and there is one.
std::string verb_fault(const CLI::App& app, int argc, const char* const* argv) {
  if (argc < 2 || *argv[1] == '-') return "";
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) verbs.push_back(verb->get_name());
  if (std::find(verbs.begin(), verbs.end(), argv[1]) != verbs.end()) return "";
  std::string near = kiln::nearest(argv[1], verbs);
  return "unknown verb '" + std::string(argv[1]) + "'" + (near.empty() ? "" : " (did you mean '" + near + "'?)");
}

// Output that could not be written is a failure, even when it is noticed at the end only.
int checked(const std::function<int()>& verb, bool json) {
  auto lost = [] { return report({kiln::Code::kIo, std::string("cannot write: ") + std::strerror(errno), "standard output", ""}, false); };
  try {  // fmt reports a failed write by an exception
    int status = verb();
    return std::fflush(stdout) == 0 && !std::ferror(stdout) ? status : lost();
  } catch (const std::system_error&) {
    return lost();
  } catch (const std::bad_alloc&) {
    return report({kiln::Code::kIo, "there is not enough memory", "", ""}, json);
  } catch (const std::exception& e) {  // a predicate or a codegen of a backend that was loaded
    return report({kiln::Code::kInternal, std::string("a backend threw: ") + e.what(), "", ""}, json);
  }
}

}  // namespace

int kiln::cli::main(int argc, const char* const* argv) {
  CLI::App app{"kiln: device code from lowered tile programs"};
  app.name("kiln");
  app.require_subcommand(0, 1);
  app.set_version_flag("--version", std::string("kiln ") + kVersion);
  app.footer("kiln VERB --help shows each verb's options and examples.\nExit status: 0 fine, 1 the work failed, 2 usage.");

  BuildArgs build_args;
  RunArgs run_args;
  BenchArgs bench_args;
  ConformanceArgs conformance_args;
  std::string module, target;
  std::vector<std::string> modules;
  std::string name, output, action;
  bool json = false, round_trip = false, explain = false, cmake_folder = false;
  app.add_flag("--cmakedir", cmake_folder, "print where the CMake package is, for -Dkiln_DIR=...");

  add_build(app, build_args);
  add_run(app, run_args);
  add_bench(app, bench_args);
  add_conformance(app, conformance_args);
  CLI::App* print_verb = app.add_subcommand("print", "Print a module as TVMScript");
  print_verb->add_option("MODULE", module, "module file, or -")->required();
  print_verb->footer("Example:\n  kiln print gemm.json.gz | less");
  CLI::App* verify_verb = app.add_subcommand("verify", "Check modules; report every fault with its place");
  verify_verb->add_option("MODULE", modules, "module files, -, or folders with modules below them")->required();
  verify_verb->add_flag("--round-trip", round_trip, "also check that the printed text reads back to an equal module")
      ->envname("KILN_ROUND_TRIP");
  verify_verb->footer("Examples:\n  kiln verify gemm.json\n  kiln verify --round-trip tests/corpus");
  CLI::App* list_verb = app.add_subcommand("list", "List backends and what each needs here");
  list_verb->footer("Example:\n  kiln list");
  CLI::App* resolve_verb = app.add_subcommand("resolve", "Say which device codegen serves a target");
  resolve_verb->add_option("TARGET", target, "a kind, 'kind -key=value ...', or JSON")->required();
  resolve_verb->add_flag("--explain", explain, "show every entry, what was loaded, and why not")->envname("KILN_EXPLAIN");
  resolve_verb->footer("Examples:\n  kiln resolve c\n  kiln resolve 'cuda -arch=sm_90a' --explain");
  CLI::App* doctor_verb = app.add_subcommand("doctor", "Show toolchains and devices found, and what to install for the rest");
  doctor_verb->footer("Example:\n  kiln doctor");
  CLI::App* cache_app = app.add_subcommand("cache", "Look after the cache of compiled code");
  cache_app
      ->add_option("ACTION", action,
                   "stat: where it is and how large; verify: read all entries, remove damaged ones, fail if there are any; prune: down "
                   "to the bound now; clear: remove all")
      ->required()
      ->check(CLI::IsMember({"stat", "verify", "prune", "clear"}));
  cache_app->footer(
      "Environment:\n  KILN_CACHE_DIR   its folder, or off (default: $XDG_CACHE_HOME/kiln, ~/.cache/kiln)\n  KILN_CACHE_SIZE  its bound: "
      "512M, 4G (default: 4G)\nExamples:\n  kiln cache stat --json\n  kiln cache verify\n  KILN_CACHE_SIZE=1G kiln cache prune");
  CLI::App* new_verb = app.add_subcommand("new-backend", "Write a backend of your own, ready to build");
  new_verb->add_option("NAME", name, "of the backend, its target kind and its codegen")->required();
  new_verb->add_option("-o,--output", output, "folder to make (default: ./NAME)");
  new_verb->footer("Example:\n  kiln new-backend npu && cmake -S npu -B npu/build && cmake --build npu/build");
  for (CLI::App* verb : {print_verb, verify_verb, list_verb, resolve_verb, doctor_verb, new_verb, cache_app})
    verb->add_flag("--json", json, "print JSON")->envname("KILN_JSON");

  if (std::string fault = verb_fault(app, argc, argv); !fault.empty()) return usage(fault.c_str(), argc, argv);
  try {  // CLI11 reports usage by exceptions
    app.parse(argc, argv);
    if (app.get_subcommands().empty() && !cmake_folder) throw CLI::RequiredError("A subcommand");
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // help, version
    return usage(e.what(), argc, argv);
  }
  return checked(
      [&] {
        if (cmake_folder) return print_cmake_folder();
        if (app.got_subcommand("build")) return build(build_args);
        if (app.got_subcommand("run")) return run(run_args);
        if (app.got_subcommand("bench")) return bench(bench_args);
        if (app.got_subcommand("conformance")) return conformance_verb(conformance_args);
        if (*print_verb) return print(module, json);
        if (*verify_verb) return verify(modules, round_trip, json);
        if (*cache_app) return cache_verb(action, json);
        if (*new_verb) return new_backend(name, output, json);
        if (*list_verb) return list(json);
        if (*resolve_verb) return resolve(target, explain, json);
        return doctor(json);
      },
      json || build_args.json || run_args.json || bench_args.json || conformance_args.json);
}
