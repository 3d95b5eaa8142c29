// Resolve latency from a parsed target: entries of one kind, and threads.
#include <benchmark/benchmark.h>

#include <string>

#include "kiln/device_codegen.h"

namespace kiln {
namespace {

// A kind with `count` entries, of which the one at `match` is the first whose predicate accepts the target.
Target target_with(int64_t count, int64_t match) {
  std::string kind = "bench_" + std::to_string(count) + "_" + std::to_string(match);
  for (int64_t i = 0; i < count; ++i) {
    bool accepts = i >= match;
    DeviceCodegen entry{std::to_string(i), {}, {}, [accepts](const Target& target) { return accepts && !target.kind().empty(); }};
    (void)register_device_codegen(kind, std::move(entry));  // registered already on all threads but the first
  }
  return *Target::parse(kind);
}

void resolve_first(benchmark::State& state) {
  Target target = target_with(state.range(0), 0);
  for (auto _ : state) benchmark::DoNotOptimize(resolve_device_codegen(target));
}
BENCHMARK(resolve_first)->Arg(1)->Arg(50)->Arg(500)->Threads(1)->Threads(8);

void resolve_last(benchmark::State& state) {
  Target target = target_with(state.range(0), state.range(0) - 1);
  for (auto _ : state) benchmark::DoNotOptimize(resolve_device_codegen(target));
}
BENCHMARK(resolve_last)->Arg(1)->Arg(50)->Arg(500)->Threads(1)->Threads(8);

void parse_target(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Target::parse("cuda -arch=sm_90a"));
}
BENCHMARK(parse_target);

}  // namespace
}  // namespace kiln
