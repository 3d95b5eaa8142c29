// Modules of the corpus for GPUs to source and to code. Pick by a filter:
//   kiln_bench --benchmark_filter='^source/cuda_sm90a/gemm_f16_1024$'
// source: a module in memory to text. cubin: a module file to code, without the cache, the compiler loaded before.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>

#include "driver/driver.h"

namespace fs = std::filesystem;

namespace {

using namespace kiln;

const driver::BuildOptions source_only = {{}, {}, false};

void to_source(benchmark::State& state, const std::string& file) {
  auto module = IRModule::load(file);
  if (!module) return state.SkipWithError(module.error().to_string().c_str());
  for (auto _ : state) {
    auto built = driver::build(*module, source_only);
    if (!built) return state.SkipWithError(built.error().to_string().c_str());
  }
}

Status compile(const std::string& file) {
  auto built = driver::build_file(file, source_only);
  if (!built) return built.error();
  auto code = built->module.artifact("cubin");
  if (!code) return code.error();
  return Ok{};
}

void to_code(benchmark::State& state, const std::string& file) {
  static std::once_flag loaded;
  std::call_once(loaded, [&] {
    setenv("KILN_CACHE_DIR", "off", 1);
    (void)compile(file);
  });
  for (auto _ : state) {
    Status done = compile(file);
    if (!done) return state.SkipWithError(done.error().to_string().c_str());
  }
}

const bool registered = [] {
  for (const char* folder : {"cuda_sm80", "cuda_sm90a"}) {
    for (const auto& entry : fs::directory_iterator(fs::path(KILN_SOURCE_DIR) / "tests/corpus/corpus" / folder)) {
      std::string file = (entry.path() / "device.json").string(), name = folder + ("/" + entry.path().filename().string());
      if (!fs::exists(file)) file += ".gz";
      benchmark::RegisterBenchmark(("source/" + name).c_str(), [file](benchmark::State& s) { to_source(s, file); });
      benchmark::RegisterBenchmark(("cubin/" + name).c_str(), [file](benchmark::State& s) { to_code(s, file); })->Iterations(1);
    }
  }
  return true;
}();

}  // namespace
