#include <fmt/format.h>

#include "cli/run_cases.h"

namespace kiln::cli {

namespace {

using cases::KernelTime;
using cases::Outcome;

double gb_per_s(const KernelTime& k) { return k.bytes / (1e3 * k.median); }
double tflop_per_s(const KernelTime& k) { return k.flops / (1e6 * k.median); }

std::string json_text(const Outcome& o, int repeat) {
  std::string kernels;
  for (const KernelTime& k : o.kernels) {
    std::string flops =
        k.flops > 0 ? fmt::format("{:.0f}, \"tflop_per_s\": {:.6g}", k.flops, tflop_per_s(k)) : "null, \"tflop_per_s\": null";
    kernels += fmt::format(
        "{}{{\"kernel\": {}, \"median_us\": {:.3f}, \"min_us\": {:.3f}, \"mean_us\": {:.3f}, \"bytes\": {:.0f}, \"gb_per_s\": {:.6g}, "
        "\"flops\": {}}}",
        kernels.empty() ? "" : ", ", quote(k.kernel), k.median, k.min, k.mean, k.bytes, gb_per_s(k), flops);
  }
  return json_start(o) + fmt::format(", \"repeat\": {}, \"kernels\": [{}]}}\n", repeat, kernels);
}

// Numbers first: what follows them may be of any length.
std::string table_text(const Outcome& o) {
  if (o.kernels.empty())
    return fmt::format("nothing to time {}: {}\n", printable(o.folder), o.reason.empty() ? "no launch" : printable(o.reason));
  std::string rows;
  for (const KernelTime& k : o.kernels) {
    std::string flops = k.flops > 0 ? fmt::format("{:.3f}", tflop_per_s(k)) : "-";
    rows += fmt::format("{:>12.2f}{:>12.2f}{:>12.2f}{:>10.2f}{:>10}  {} ({}, codegen {})\n", k.median, k.min, k.mean, gb_per_s(k), flops,
                        printable(k.kernel), printable(o.folder), o.codegen);
  }
  return rows;
}

}  // namespace

int bench(const BenchArgs& a) {
  cases::RunOptions options;
  options.by_kernel = true;
  if (a.flops > 0) options.flops = static_cast<double>(a.flops);
  bool head = true;
  return run_cases(a, options, 1, [&](const Outcome& o, size_t) {  // one at a time: timed launches do not share the machine
    if (a.json) return json_text(o, a.repeat);
    std::string text =
        head ? fmt::format("{:>12}{:>12}{:>12}{:>10}{:>10}  kernel\n", "median us", "min us", "mean us", "GB/s", "TFLOP/s") : "";
    head = false;
    return text + table_text(o);
  });
}

}  // namespace kiln::cli
