#include "conformance/run.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <exception>
#include <optional>

#include "base/fork_worker.h"
#include "base/write_all.h"
#include "cache/cache.h"
#include "conformance/launch.h"
#include "driver/driver.h"

namespace kiln::conformance {

namespace {

using Clock = std::chrono::steady_clock;
using State = CellResult::State;

CellResult failed(std::string reason) { return {State::kFailed, std::move(reason)}; }
CellResult refused_or_failed(const Error& e) {
  // The place differs from cell to cell; without it equal reasons group.
  if (e.code == Code::kUnsupported) return {State::kRefused, e.message};
  return failed(e.to_string());
}

struct Built {
  IRModule source;
  Module module;
};
Result<Built> build(const std::vector<const Cell*>& cells, const RunOptions& options, bool compile) {
  auto source = IRModule::parse(module_text(cells), "conformance");
  if (!source) return Error{Code::kInternal, "the cell's own text is wrong: " + source.error().to_string(), "", ""};
  driver::BuildOptions b{options.target, options.codegen, compile};
  try {  // a codegen from outside may throw
    auto built = driver::build(*source, b);
    if (!built) return built.error();
    return Built{*source, built->module};
  } catch (const std::exception& e) {
    return Error{Code::kInternal, std::string("the codegen threw: ") + e.what(), "", ""};
  }
}

// The result, and whether the device may be of no use after it.
struct Launched {
  CellResult result;
  bool lost = false;
};
Launched launch(const Cell& cell, const Built& built, const RunOptions& options, const registry::Device& device) {
  try {
    LaunchOutcome o = launch_and_compare(cell, built.source, built.module, options.seed, device);
    bool lost = o.reported && device.api != &runtime::cpu_device();
    return {o.wrong.empty() ? CellResult{State::kPassed, ""} : failed(o.wrong), lost};
  } catch (const std::exception& e) {
    return {failed(std::string("the launch threw: ") + e.what())};
  }
}

CellResult print_cell(const Cell& cell, const RunOptions& options) {
  auto built = build({&cell}, options, false);
  if (!built) return refused_or_failed(built.error());
  return {State::kSkipped, fmt::format("printed, not run: code for '{}' does not run on this machine's CPU", options.target)};
}

// ---- batches ------------------------------------------------------------------------------------------------------

// Cells that one child process works on. Printing goes one by one; running compiles them together.
struct Batch {
  std::vector<size_t> cells;
  bool print = false;
};

// What a child says, one record after the other: the index of a cell with its result, or one of these.
constexpr uint32_t kAnew = 0xfffffffd, kBuilt = 0xfffffffe, kSplit = 0xffffffff;

void send(int fd, uint32_t index, const CellResult& r) {
  auto size = static_cast<uint32_t>(r.reason.size());
  std::string bytes(9, '\0');
  std::memcpy(bytes.data(), &index, 4);
  bytes[4] = static_cast<char>(r.state);
  std::memcpy(bytes.data() + 5, &size, 4);
  (void)write_all(fd, bytes + r.reason);
}

void work(int fd, const Batch& batch, const std::vector<Cell>& cells, const RunOptions& options) {
  if (batch.print) {
    for (size_t i : batch.cells) send(fd, static_cast<uint32_t>(i), print_cell(cells[i], options));
    return;
  }
  auto device = registry::find_device(options.device);
  if (!device) {
    for (size_t i : batch.cells) send(fd, static_cast<uint32_t>(i), failed(device.error().to_string()));
    return;
  }
  std::vector<const Cell*> together;
  for (size_t i : batch.cells) together.push_back(&cells[i]);
  auto built = build(together, options, true);
  if (!built) {
    if (batch.cells.size() == 1) return send(fd, static_cast<uint32_t>(batch.cells[0]), refused_or_failed(built.error()));
    return send(fd, kSplit, {});
  }
  send(fd, kBuilt, {});
  for (size_t i : batch.cells) {
    Launched launched = launch(cells[i], *built, options, *device);
    send(fd, static_cast<uint32_t>(i), launched.result);
    if (launched.lost) return send(fd, kAnew, {});
  }
}

struct Child {
  pid_t pid = 0;
  int fd = -1;
  Batch batch;
  std::string bytes;
  Clock::time_point deadline;
};

class Pool {
 public:
  Pool(const std::vector<Cell>& cells, const RunOptions& options, std::function<void(size_t)> progress)
      : cells_(cells), options_(options), progress_(std::move(progress)), results_(cells.size()) {}

  std::vector<CellResult> run() {
    std::vector<size_t> todo;
    for (size_t i = 0; i < cells_.size(); ++i) {
      if (cells_[i].text.empty())
        set(i, {State::kSkipped, cells_[i].skip});
      else
        todo.push_back(i);
    }
    if (options_.can_print) {
      queue(todo, kPrintBatch, true);
      drain();
      std::erase_if(todo, [&](size_t i) { return results_[i]->state != State::kSkipped; });
    }
    if (options_.can_run) {
      for (size_t i : todo) clear(i);
      queue(todo, kRunBatch, false);
      drain();
    }
    std::vector<CellResult> all;
    for (auto& r : results_) all.push_back(r.value_or(CellResult{State::kSkipped, "the codegen can neither print nor run it here"}));
    return all;
  }

 private:
  static constexpr size_t kPrintBatch = 512, kRunBatch = 64;

  void set(size_t i, CellResult r) {
    if (!results_[i]) ++done_;
    results_[i] = std::move(r);
    if (progress_) progress_(done_);
  }
  void clear(size_t i) {
    if (results_[i]) --done_;
    results_[i].reset();
  }
  void queue(const std::vector<size_t>& cells, size_t size, bool print) {
    for (size_t at = 0; at < cells.size(); at += size) {
      auto first = cells.begin() + static_cast<std::ptrdiff_t>(at);
      batches_.push_back({{first, first + static_cast<std::ptrdiff_t>(std::min(size, cells.size() - at))}, print});
    }
  }
  void split(const std::vector<size_t>& cells) { queue(cells, std::max<size_t>((cells.size() + 1) / 2, 1), false); }

  void drain() {
    while (!batches_.empty() || !children_.empty()) {
      while (!batches_.empty() && children_.size() < static_cast<size_t>(std::max(options_.jobs, 1))) start();
      wait();
    }
  }

  void start() {
    Batch batch = std::move(batches_.front());
    batches_.pop_front();
    ForkedWorker worker = fork_worker([&](int fd) { work(fd, batch, cells_, options_); });
    if (worker.pid < 0) {
      for (size_t i : batch.cells) set(i, failed("cannot start a process for the cell"));
      return;
    }
    auto limit = std::chrono::milliseconds(static_cast<int64_t>(options_.timeout_seconds * 1000));
    children_.push_back({worker.pid, worker.fd, std::move(batch), {}, Clock::now() + limit});
  }

  void wait() {
    std::vector<pollfd> fds;
    for (const Child& c : children_) fds.push_back({c.fd, POLLIN, 0});
    poll(fds.data(), fds.size(), 200);
    for (size_t k = children_.size(); k-- > 0;) {
      Child& c = children_[k];
      bool over = false, late = Clock::now() > c.deadline;
      if (fds[k].revents) {
        char buffer[65536];
        ssize_t n = read(c.fd, buffer, sizeof buffer);
        if (n > 0) c.bytes.append(buffer, static_cast<size_t>(n));
        over = n == 0;
      }
      if (!over && !late) continue;
      Child ended = std::move(c);
      children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(k));
      finish(ended, !over);
    }
  }

  void finish(Child& c, bool timed_out) {
    close(c.fd);
    if (timed_out) kill(c.pid, SIGKILL);
    int status = 0;
    while (waitpid(c.pid, &status, 0) < 0 && errno == EINTR) {
    }
    bool built = c.batch.print, wants_split = false, wants_anew = false;
    std::vector<size_t> left = c.batch.cells;
    std::string_view in = c.bytes;
    while (in.size() >= 9) {
      uint32_t index, size;
      std::memcpy(&index, in.data(), 4);
      std::memcpy(&size, in.data() + 5, 4);
      if (in.size() < 9 + size_t{size}) break;
      if (index == kBuilt)
        built = true;
      else if (index == kSplit)
        wants_split = true;
      else if (index == kAnew)
        wants_anew = true;
      else {
        set(index, {static_cast<State>(in[4]), std::string(in.substr(9, size))});
        std::erase(left, index);
      }
      in.remove_prefix(9 + size_t{size});
    }
    if (left.empty()) return;
    if (wants_split) return split(left);
    if (wants_anew) return queue(left, left.size(), false);
    if (!built && left.size() > 1) return split(left);  // the codegen crashed or hung on one of them
    set(left[0], failed(how_it_ended(status, timed_out)));
    left.erase(left.begin());
    if (!left.empty()) queue(left, left.size(), c.batch.print);
  }

  std::string how_it_ended(int status, bool timed_out) const {
    if (timed_out) return fmt::format("did not end within {:g} s", options_.timeout_seconds);
    if (WIFSIGNALED(status)) return std::string("crashed: ") + strsignal(WTERMSIG(status));
    return fmt::format("its process ended early with status {}", WEXITSTATUS(status));
  }

  const std::vector<Cell>& cells_;
  const RunOptions& options_;
  std::function<void(size_t)> progress_;
  std::vector<std::optional<CellResult>> results_;
  size_t done_ = 0;
  std::deque<Batch> batches_;
  std::vector<Child> children_;
};

}  // namespace

std::vector<CellResult> run_cells(const std::vector<Cell>& cells, const RunOptions& options, const std::function<void(size_t)>& progress) {
  cache::warn_once_with_children();
  return Pool(cells, options, progress).run();
}

}  // namespace kiln::conformance
