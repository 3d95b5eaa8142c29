#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "cli/cli.h"
#include "conformance/report.h"
#include "kiln/device_codegen.h"
#include "kiln/ir_module.h"
#include "registry/backend.h"
#include "registry/devices.h"
#include "registry/registry.h"

namespace kiln::cli {

namespace {

using conformance::Cell;
using conformance::CellResult;

struct Choice {
  std::string target, codegen;
  bool can_run = false, can_print = false, thread_blocks = false;
};

// Whether a device, by its name, runs a target's code.
bool runs_on(const std::string& device, const Target& t) {
  const runtime::DeviceApi& own = registry::device_api_for(t);
  if (std::string_view(device).substr(0, device.find(':')) != own.name) return false;
  // DLPack's kDLCPU, and kDLExtDev: kinds that only a backend knows are tried on this machine's memory.
  return &own != &runtime::cpu_device() || t.device_type() == 1 || t.device_type() == 12;
}

Choice choice_of(const Target& t, const std::string& text, const DeviceCodegen& codegen, const std::string& device) {
  Choice c{text, codegen.name};
  c.can_run = codegen.build && runs_on(device, t);
  c.can_print = static_cast<bool>(codegen.build_without_compile);
  c.thread_blocks = t.has_key("gpu");
  return c;
}

// Target kinds in the order in which they are searched: those of the backend of that name first.
std::vector<std::string> kinds_for(const std::string& name) {
  std::vector<std::string> kinds;
  auto add = [&](const std::string& kind) {
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  };
  for (bool of_that_name : {true, false}) {
    for (const registry::Manifest& m : registry::manifests()) {
      if ((m.name == name) == of_that_name) std::for_each(m.kinds.begin(), m.kinds.end(), add);
    }
  }
  for (const std::string& kind : registry::kinds_in_use()) add(kind);
  return kinds;
}

// The codegen of that name, or without a name every one that can run here.
Result<std::vector<Choice>> choices(const ConformanceArgs& a) {
  std::vector<Choice> found;
  std::vector<std::string> known;
  std::vector<Error> failures;
  std::string rejected;  // a target that the codegen of that name does not accept
  for (const std::string& kind : a.target.empty() ? kinds_for(a.codegen) : std::vector<std::string>{a.target}) {
    auto target = Target::parse(kind);
    if (!target) return target.error();
    Explanation e = explain_device_codegen(*target);
    failures.insert(failures.end(), e.load_failures.begin(), e.load_failures.end());
    for (const Candidate& c : e.candidates) {
      known.push_back(c.name);
      if (!c.matches && c.name == a.codegen) rejected = kind;
      if (!c.matches || (!a.codegen.empty() && c.name != a.codegen)) continue;
      Choice choice = choice_of(*target, kind, *c.codegen, a.device);
      if (a.codegen.empty() && !choice.can_run) continue;
      if (!choice.can_run && a.device != "cpu") {
        return Error{Code::kInvalidArgument,
                     "code for '" + kind + "' by device codegen '" + c.name + "' does not run on device " + a.device, "", ""};
      }
      found.push_back(choice);
      if (!a.codegen.empty()) return found;
    }
  }
  if (!found.empty()) return found;
  if (!failures.empty()) return failures[0];
  if (!rejected.empty()) {
    return Error{Code::kNoCodegen, "device codegen '" + a.codegen + "' does not accept the target '" + rejected + "'", "",
                 "--target gives one that it accepts"};
  }
  std::string hint = "available: " + (known.empty() ? "<none>" : fmt::format("{}", fmt::join(known, ", ")));
  if (a.codegen.empty()) return Error{Code::kNoCodegen, "no device codegen can run on device " + a.device, "", hint};
  return Error{Code::kNoCodegen, "no device codegen '" + a.codegen + "'", "", hint + "; --target says for which target"};
}

std::vector<Cell> selected(const ConformanceArgs& a, bool thread_blocks) {
  std::vector<Cell> cells = conformance::all_cells({thread_blocks});
  std::erase_if(cells, [&](const Cell& c) {
    return c.name.find(a.filter) == std::string::npos && c.row.find(a.filter) == std::string::npos &&
           c.group.find(a.filter) == std::string::npos;
  });
  return cells;
}

int show(const ConformanceArgs& a) {
  auto found = choices(a);
  bool thread_blocks = found && (*found)[0].thread_blocks;
  for (const Cell& c : conformance::all_cells({thread_blocks})) {
    if (c.name != a.show) continue;
    if (c.text.empty()) return report({Code::kUnsupported, "cell '" + c.name + "' has no module: " + c.skip, "", ""}, a.json);
    auto module = IRModule::parse(conformance::module_text({&c}), c.name);
    if (!module) return report(module.error(), a.json);
    if (a.json)
      fmt::print("{{\"cell\": {}, \"module\": {}}}\n", quote(c.name), quote(module->script()));
    else
      fmt::print("{}", module->script());
    return 0;
  }
  return report({Code::kInvalidArgument, "no cell '" + a.show + "'", "", "--json lists the cells of a run by name"}, a.json);
}

std::string_view state_name(CellResult::State s) {
  switch (s) {
    case CellResult::State::kPassed: return "passed";
    case CellResult::State::kRefused: return "refused";
    case CellResult::State::kFailed: return "failed";
    case CellResult::State::kSkipped: return "skipped";
  }
  return "";
}

void print_json(const Choice& choice, const Cell& c, const CellResult& r) {
  fmt::print(
      "{{\"codegen\": {}, \"target\": {}, \"cell\": {}, \"group\": {}, \"row\": {}, \"dtype\": {}, \"width\": {}, \"result\": {}, "
      "\"reason\": {}}}\n",
      quote(choice.codegen), quote(choice.target), quote(c.name), quote(c.group), quote(c.row),
      quote(c.dtype.is_void() ? "" : ir::to_string(c.dtype)), c.width, quote(state_name(r.state)), quote(r.reason));
}

Status write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) return Error{Code::kIo, "cannot write '" + path + "'", "", ""};
  return Ok{};
}

}  // namespace

int conformance_verb(const ConformanceArgs& a) {
  if (!a.show.empty()) return show(a);
  if (!is_available(a.device, a.json)) return 1;
  auto found = choices(a);
  if (!found) return report(found.error(), a.json);
  if (!a.markdown.empty() && found->size() > 1) {
    return report({Code::kInvalidArgument, "--markdown writes the matrix of one codegen, and several can run here", "", "give its NAME"},
                  a.json);
  }
  conformance::Counts all;
  bool progress = !a.json && isatty(STDERR_FILENO);
  for (const Choice& choice : *found) {
    std::vector<Cell> cells = selected(a, choice.thread_blocks);
    if (cells.empty()) return report({Code::kInvalidArgument, "no cell matches '" + a.filter + "'", "", ""}, a.json);
    conformance::RunOptions options{choice.target, choice.codegen, a.device};
    options.seed = a.seed;
    options.jobs = a.jobs > 0 ? a.jobs : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    options.can_run = choice.can_run, options.can_print = choice.can_print;
    auto results = conformance::run_cells(cells, options, [&](size_t done) {
      if (progress && done % 64 == 0) fmt::print(stderr, "\r{} of {}\x1b[K", done, cells.size());
    });
    if (progress) fmt::print(stderr, "\r\x1b[K");
    conformance::Report report_of{choice.codegen, choice.target, &cells, &results};
    if (a.json) {
      for (size_t i = 0; i < cells.size(); ++i) print_json(choice, cells[i], results[i]);
    } else {
      fmt::print("{}", printable(conformance::terminal_text(report_of)));
    }
    if (!a.markdown.empty()) {
      if (auto s = write_file(a.markdown, conformance::markdown_text(report_of)); !s) return report(s.error(), a.json);
    }
    conformance::Counts n = conformance::count(results);
    all.passed += n.passed, all.refused += n.refused, all.failed += n.failed, all.skipped += n.skipped;
  }
  // A refusal with its reason is no failure: the kernel's author learns of it before anything runs.
  if (all.refused) fmt::print(a.json ? stderr : stdout, "{} refused, counted as skipped\n", all.refused);
  fmt::print(a.json ? stderr : stdout, "{} passed, {} failed, {} skipped\n", all.passed, all.failed, all.skipped + all.refused);
  return all.failed == 0 ? 0 : 1;
}

}  // namespace kiln::cli
