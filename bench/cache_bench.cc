// The cache: a hit, a miss, and threads, with 40 kB of code from 20 kB of text.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>

#include "cache/cache.h"

namespace kiln::cache {
namespace {

Key key_of(uint64_t i) { return {"cubin", "sm_90a", "compiler 13.0", "-O3", std::string(20000, ' ') + std::to_string(i)}; }

Result<std::string> make() { return std::string(40000, 'x'); }

// A folder of its own for the run.
void use_folder() {
  static const std::string folder = [] {
    std::string pattern = "/tmp/kiln-bench-XXXXXX";
    (void)!mkdtemp(pattern.data());
    setenv("KILN_CACHE_DIR", pattern.c_str(), 1);
    std::atexit([] { std::filesystem::remove_all(std::getenv("KILN_CACHE_DIR")); });
    return pattern;
  }();
}

void cache_hit(benchmark::State& state) {
  use_folder();
  Key key = key_of(static_cast<uint64_t>(state.thread_index()));
  (void)fetch(key, make);
  for (auto _ : state) benchmark::DoNotOptimize(fetch(key, make));
}
BENCHMARK(cache_hit)->Threads(1)->Threads(2)->UseRealTime();

void cache_miss(benchmark::State& state) {
  use_folder();
  static std::atomic<uint64_t> next = 1000;
  for (auto _ : state) benchmark::DoNotOptimize(fetch(key_of(next++), make));
}
BENCHMARK(cache_miss)->Threads(1)->Threads(2)->UseRealTime();

}  // namespace
}  // namespace kiln::cache
