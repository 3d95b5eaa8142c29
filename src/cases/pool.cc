// Cases in processes of their own, so that a kernel that crashes or hangs costs one case.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <new>

#include "base/fork_worker.h"
#include "base/write_all.h"
#include "cache/cache.h"
#include "cases/run.h"

namespace kiln::cases {

namespace {

using Clock = std::chrono::steady_clock;

// An outcome as bytes: fields with their length in front.
void put(std::string& out, std::string_view s) {
  uint64_t n = s.size();
  out.append(reinterpret_cast<const char*>(&n), sizeof n).append(s);
}
void put(std::string& out, double v) { put(out, std::string_view(reinterpret_cast<const char*>(&v), sizeof v)); }
std::string pack(const Outcome& o) {
  std::string out;
  put(out, std::string(1, static_cast<char>(o.state)));
  put(out, o.reason);
  put(out, o.codegen);
  put(out, static_cast<double>(o.findings.size()));
  for (const runtime::Finding& f : o.findings) {
    for (const std::string* s : {&f.kind, &f.kernel, &f.place, &f.message}) put(out, *s);
    for (double v : {static_cast<double>(f.count), static_cast<double>(f.line)}) put(out, v);
  }
  put(out, static_cast<double>(o.counters.size()));
  for (const runtime::AccessCount& c : o.counters) {
    for (const std::string* s : {&c.kernel, &c.place, &c.buffer, &c.memory, &c.access}) put(out, *s);
    for (int64_t v : {int64_t{c.line}, c.requests, c.taken, c.ideal}) put(out, static_cast<double>(v));
  }
  put(out, static_cast<double>(o.times.size()));
  for (const driver::Timing& t : o.times) put(out, t.step), put(out, t.milliseconds);
  for (const KernelTime& k : o.kernels) {
    put(out, k.kernel);
    for (double v : {k.median, k.min, k.mean, k.bytes, k.flops}) put(out, v);
  }
  return out;
}

// Reads what pack wrote; a field that is missing or of another size clears `ok`.
class Unpacker {
 public:
  explicit Unpacker(std::string_view in) : in_(in) {}
  bool ok = true;
  bool done() const { return !ok || in_.empty(); }
  std::string text() {
    uint64_t n = 0;
    if (in_.size() >= sizeof n)
      std::memcpy(&n, in_.data(), sizeof n), in_.remove_prefix(sizeof n);
    else
      ok = false;
    ok = ok && n <= in_.size();
    if (!ok) return {};
    std::string field(in_.substr(0, n));
    in_.remove_prefix(n);
    return field;
  }
  double number() {
    std::string field = text();
    double v = 0;
    ok = ok && field.size() == sizeof v;
    if (ok) std::memcpy(&v, field.data(), sizeof v);
    return v;
  }

 private:
  std::string_view in_;
};
bool unpack(std::string_view in, Outcome& o) {
  Unpacker u(in);
  std::string state = u.text();
  o.reason = u.text();
  o.codegen = u.text();
  if (!u.ok || state.size() != 1) return false;
  o.state = static_cast<Outcome::State>(state[0]);
  for (double n = u.number(); u.ok && n > 0; --n) {
    runtime::Finding f;
    for (std::string* s : {&f.kind, &f.kernel, &f.place, &f.message}) *s = u.text();
    f.count = static_cast<int64_t>(u.number());
    f.line = static_cast<int>(u.number());
    o.findings.push_back(std::move(f));
  }
  for (double n = u.number(); u.ok && n > 0; --n) {
    runtime::AccessCount c;
    for (std::string* s : {&c.kernel, &c.place, &c.buffer, &c.memory, &c.access}) *s = u.text();
    c.line = static_cast<int>(u.number());
    for (int64_t* v : {&c.requests, &c.taken, &c.ideal}) *v = static_cast<int64_t>(u.number());
    o.counters.push_back(std::move(c));
  }
  for (double n = u.number(); u.ok && n > 0; --n) {
    driver::Timing t{u.text(), 0};
    t.milliseconds = u.number();
    o.times.push_back(std::move(t));
  }
  while (!u.done()) {
    KernelTime k;
    k.kernel = u.text();
    for (double* v : {&k.median, &k.min, &k.mean, &k.bytes, &k.flops}) *v = u.number();
    o.kernels.push_back(std::move(k));
  }
  return u.ok;
}

struct Worker {
  pid_t pid;
  int fd;
  size_t index;
  std::string bytes;
  Clock::time_point deadline;
};

// Exceptions end with the child: of memory that is not there, or of a backend.
Outcome guarded(const std::string& folder, const RunOptions& options) {
  Outcome o;
  try {
    return run_case(folder, options);
  } catch (const std::bad_alloc&) {
    o.reason = "there is not enough memory";
  } catch (const std::exception& e) {
    o.reason = std::string("a backend threw: ") + e.what();
  }
  o.folder = folder;
  return o;
}

double timeout_seconds() {
  const char* text = std::getenv("KILN_CASE_TIMEOUT");
  double v = text ? std::strtod(text, nullptr) : 0;
  return v > 0 ? std::min(v, 1e6) : 300;
}

Outcome finish(Worker& w, const std::string& folder, bool timed_out) {
  close(w.fd);
  if (timed_out) kill(w.pid, SIGKILL);
  int status = 0;
  while (waitpid(w.pid, &status, 0) < 0 && errno == EINTR) {
  }
  Outcome o;
  o.folder = folder;
  if (timed_out) {
    o.reason = fmt::format("did not end within {:g} s (KILN_CASE_TIMEOUT sets another limit)", timeout_seconds());
  } else if (WIFSIGNALED(status)) {
    o.reason = std::string("crashed: ") + strsignal(WTERMSIG(status));
  } else if (!unpack(w.bytes, o)) {
    o.reason = "the process of the case ended early with status " + std::to_string(WEXITSTATUS(status));
  }
  return o;
}

}  // namespace

void run_cases(const std::vector<std::string>& folders, const RunOptions& options, int jobs,
               const std::function<void(const Outcome&)>& done) {
  cache::warn_once_with_children();
  std::vector<Worker> workers;
  std::map<size_t, Outcome> finished;  // ahead of their turn
  size_t next = 0, reported = 0;
  while (reported < folders.size()) {
    while (next < folders.size() && workers.size() < static_cast<size_t>(std::max(jobs, 1))) {
      ForkedWorker worker = fork_worker([&](int fd) { (void)write_all(fd, pack(guarded(folders[next], options))); });
      if (worker.pid < 0) break;
      workers.push_back(
          {worker.pid, worker.fd, next++, {}, Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(timeout_seconds() * 1000))});
    }
    if (workers.empty()) {
      Outcome o;
      o.folder = folders[next];
      o.reason = "cannot start a process for the case";
      finished[next++] = o;
    }
    std::vector<pollfd> fds;
    for (const Worker& w : workers) fds.push_back({w.fd, POLLIN, 0});
    poll(fds.data(), fds.size(), 200);
    for (size_t i = workers.size(); i-- > 0;) {
      Worker& w = workers[i];
      bool over = false, late = Clock::now() > w.deadline;
      if (fds[i].revents) {
        char buffer[4096];
        ssize_t n = read(w.fd, buffer, sizeof buffer);
        if (n > 0) w.bytes.append(buffer, static_cast<size_t>(n));
        over = n == 0;
      }
      if (!over && !late) continue;
      finished[w.index] = finish(w, folders[w.index], !over);
      workers.erase(workers.begin() + static_cast<std::ptrdiff_t>(i));
    }
    for (auto it = finished.find(reported); it != finished.end(); it = finished.find(reported)) {
      done(it->second);
      finished.erase(it);
      ++reported;
    }
  }
}

}  // namespace kiln::cases
