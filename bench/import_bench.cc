// Import of TVM's JSON (text to IR) and printing as TVMScript, by size of module; bytes a second are of JSON and of script.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <filesystem>

#include "import/import.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace fs = std::filesystem;

namespace {

void import_json(benchmark::State& state, const std::string& text) {
  for (auto _ : state) benchmark::DoNotOptimize(kiln::import_tvm_json(text, "bench"));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
}
void print_script(benchmark::State& state, const kiln::ir::ModulePtr& module) {
  size_t size = 0;
  for (auto _ : state) size = kiln::ir::print(*module).size();
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * size));
}
void verify(benchmark::State& state, const kiln::ir::ModulePtr& module) {
  for (auto _ : state) benchmark::DoNotOptimize(kiln::ir::verify(*module));
}

// The smallest, the median and the largest module of a corpus folder.
void add(const std::string& folder) {
  std::vector<std::pair<std::string, std::string>> modules;  // name, text
  for (const auto& e : fs::recursive_directory_iterator(fs::path(KILN_SOURCE_DIR) / "tests/corpus" / folder)) {
    if (!e.path().filename().string().starts_with("device.json")) continue;
    if (auto text = kiln::read_file(e.path().string()))
      modules.emplace_back(folder + "/" + e.path().parent_path().filename().string(), *text);
  }
  std::sort(modules.begin(), modules.end(),
            [](auto& a, auto& b) { return std::pair(a.second.size(), a.first) < std::pair(b.second.size(), b.first); });
  if (modules.empty()) return;
  for (size_t i : {size_t{0}, modules.size() / 2, modules.size() - 1}) {
    const auto& [name, text] = modules[i];
    auto module = kiln::import_tvm_json(text, name);
    if (!module) continue;
    std::string tail = "/" + name + "/" + std::to_string(text.size() / 1024) + "kB";
    benchmark::RegisterBenchmark(("import" + tail).c_str(), [text = text](benchmark::State& s) { import_json(s, text); });
    benchmark::RegisterBenchmark(("verify" + tail).c_str(), [m = *module](benchmark::State& s) { verify(s, m); });
    benchmark::RegisterBenchmark(("print" + tail).c_str(), [m = *module](benchmark::State& s) { print_script(s, m); });
  }
}

const bool registered = [] {
  for (const char* folder : {"corpus/cuda_sm80", "corpus/cuda_sm75", "corpus_tvm/llvm", "corpus_tvm/cuda_sm80"}) add(folder);
  return true;
}();

}  // namespace
