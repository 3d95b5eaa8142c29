#include "cases/run.h"

#include <dlpack/dlpack.h>
#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <set>

#include "base/small_float.h"
#include "cases/compare.h"
#include "registry/guarded_buffer.h"
#include "runtime/call.h"
#include "runtime/kernel_module.h"

namespace kiln::cases {

namespace {

using registry::GuardedBuffer;
using Milliseconds = std::chrono::duration<double, std::milli>;

struct Match {
  const std::string &pattern, &text;
  enum class Outcome { kNo, kYes, kBadPattern } outcome = Outcome::kNo;
};

// Python's (?i) prefix is a flag here.
void* match(void* argument) {
  auto& m = *static_cast<Match*>(argument);
  bool fold = m.pattern.starts_with("(?i)");
  auto flags = std::regex::ECMAScript | (fold ? std::regex::icase : std::regex::flag_type{});
  try {  // the library's only way to refuse a pattern
    bool hit = std::regex_search(m.text, std::regex(m.pattern.substr(fold ? 4 : 0), flags));
    m.outcome = hit ? Match::Outcome::kYes : Match::Outcome::kNo;
  } catch (const std::regex_error&) {
    m.outcome = Match::Outcome::kBadPattern;
  }
  return nullptr;
}

// The library's matcher recurses for each character that a pattern such as [\s\S]* takes, so a long text needs a large stack; only what is
// used of it becomes memory.
Result<bool> matches(const std::string& pattern, const std::string& text) {
  size_t stack = (size_t{16} << 20) + 2048 * text.size();
  Match m{pattern, text};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_t thread;
  bool started =
      pthread_attr_setstacksize(&attributes, stack & ~size_t{0xffff}) == 0 && pthread_create(&thread, &attributes, match, &m) == 0;
  pthread_attr_destroy(&attributes);
  if (!started) return Error{Code::kIo, "cannot start a thread to match the pattern '" + pattern + "'", "", ""};
  pthread_join(thread, nullptr);
  if (m.outcome == Match::Outcome::kBadPattern)
    return Error{Code::kParse, "the pattern '" + pattern + "' is not a regular expression", "", ""};
  return m.outcome == Match::Outcome::kYes;
}

class Runner {
 public:
  Runner(const Case& c, const RunOptions& options, const registry::Device& device, Outcome& out)
      : case_(c), options_(options), device_(device), out_(out) {}

  void run() {
    driver::BuildOptions build{options_.target, options_.codegen, true};
    if (!device_.key.empty()) build.keys.emplace_back(device_.key);
    if (options_.check) {
      if (!device_.api->checking) return fail(std::string("device '") + device_.api->name + "' has no checked mode");
      build.keys.emplace_back(device_.api->checking->target_key);
    }
    auto built = driver::build_file(case_.module, build);
    if (!built) return refused(built.error());
    out_.codegen = built->codegen;
    out_.times = built->timings;
    if (auto s = check_text(built->module.inspect_source()); !s) return fail(s.error().to_string());
    if (options_.check) return check(built->module);
    if (auto s = prepare(); !s) return fail(s.error().to_string());
    if (auto s = bind_all(built->module); !s) return refused(s.error());
    auto start = std::chrono::steady_clock::now();
    if (auto s = launch_all(built->module); !s) return refused(s.error());
    if (auto s = device_.api->synchronize(device_.index); !s) return fail(s.error().to_string());
    out_.times.push_back({"run", Milliseconds(std::chrono::steady_clock::now() - start).count()});
    if (!case_.expect_error.empty()) return fail("expected an error that matches '" + case_.expect_error + "', but it built and ran");
    if (!check_outputs()) return;
    if (auto s = repeat(built->module); !s) return fail(s.error().to_string());
    out_.state = Outcome::State::kPassed;
  }

 private:
  // Launches with each seed, on the inputs.
  void check(const Module& module) {
    const runtime::Checking& checking = *device_.api->checking;
    for (int i = 0; i < options_.check->schedules; ++i) {
      launches_.clear(), buffers_.clear(), workspaces_.clear();
      if (auto s = prepare(); !s) return fail(s.error().to_string());
      if (auto s = bind_all(module); !s) return refused(s.error());
      if (auto s = checking.start(device_.index, options_.check->seed + static_cast<uint64_t>(i), options_.check->counters && i == 0); !s)
        return fail(s.error().to_string());
      auto launched = launch_all(module);
      for (runtime::Finding& f : checking.finish(device_.index)) runtime::add_finding(out_.findings, std::move(f));
      if (options_.check->counters && i == 0) out_.counters = checking.counts(device_.index);
      if (!out_.findings.empty()) continue;
      if (!launched) return refused(launched.error());
      if (case_.expect_error.empty() && !check_outputs()) return;
    }
    if (!out_.findings.empty()) return fail(fmt::format("{} finding{}", out_.findings.size(), out_.findings.size() > 1 ? "s" : ""));
    if (!case_.expect_error.empty()) return fail("expected an error that matches '" + case_.expect_error + "', but it built and ran");
    out_.state = Outcome::State::kPassed;
  }

  void fail(std::string reason) { out_.state = Outcome::State::kFailed, out_.reason = std::move(reason); }

  // An error passes where the case expects one.
  void refused(const Error& e) {
    const std::string& pattern = case_.expect_error.empty() ? case_.expect_or_error : case_.expect_error;
    std::string text = e.to_string();
    if (pattern.empty()) return fail(text);
    auto hit = matches(pattern, text);
    if (!hit) return fail(hit.error().to_string());
    if (!*hit) return fail("expected an error that matches '" + pattern + "', got: " + text);
    out_.state = Outcome::State::kPassed;
    out_.reason = "refused as expected: " + text;
  }

  Status check_text(const std::string& source) {
    for (const auto* list : {&case_.text_must, &case_.text_must_not}) {
      for (const std::string& pattern : *list) {
        auto hit = matches(pattern, source);
        if (!hit) return hit.error();
        if (*hit == (list == &case_.text_must)) continue;
        return Error{Code::kInternal, std::string("the printed source ") + (*hit ? "must not match '" : "must match '") + pattern + "'", "",
                     ""};
      }
    }
    return Ok{};
  }

  Result<std::vector<int64_t>> shape_of(const std::vector<std::string>& shape) {
    std::vector<int64_t> out;
    for (const std::string& text : shape) {
      auto v = evaluate_integer(text, case_.sizes);
      if (!v) return v.error();
      out.push_back(*v);
      if (out.back() < 0) return Error{Code::kParse, "a negative size '" + text + "'", case_.folder, ""};
    }
    return out;
  }
  static Result<size_t> bytes_of(const std::vector<int64_t>& shape, ir::DataType t) {
    int64_t n = t.element_bytes() * std::max<int>(t.lanes, 1);
    for (int64_t d : shape) {
      if (__builtin_mul_overflow(n, d, &n) || n > (int64_t{1} << 36)) return Error{Code::kParse, "a tensor of more than 64 GiB", "", ""};
    }
    return static_cast<size_t>(n);
  }

  Status prepare() {
    for (const Param& p : case_.params) {
      if (!p.is_tensor) continue;
      GuardedBuffer& b = buffers_[p.name];
      if (auto s = prepare(p, b); !s) return s;
      if (auto s = b.send(); !s) return s;
    }
    for (const Workspace& w : case_.workspaces) {
      auto shape = shape_of(w.shape);
      if (!shape) return shape.error();
      auto bytes = bytes_of(*shape, w.dtype);
      if (!bytes) return bytes.error();
      GuardedBuffer& b = workspaces_[w.name];
      b.shape = *shape, b.dtype = w.dtype;
      if (auto s = b.allocate(device_, *bytes); !s) return s;
      if (auto s = b.send(); !s) return s;
    }
    return Ok{};
  }
  // Memory of a parameter: the input's content, or poison for a pure output. The array's own shape is the tensor's: a strided parameter
  // ships its whole storage.
  Status prepare(const Param& p, GuardedBuffer& b) {
    b.dtype = p.dtype;
    std::string source = !p.input.empty() ? p.input : p.expected.empty() ? "" : p.expected[0].expected;
    if (source.empty() || p.sparse) {
      auto shape = shape_of(p.shape);
      if (!shape) return shape.error();
      auto bytes = bytes_of(*shape, p.dtype);
      if (!bytes) return bytes.error();
      b.shape = *shape;
      if (auto s = b.allocate(device_, *bytes); !s) return s;
      if (p.sparse) return fill_sparse(p, b);
      return Ok{};
    }
    auto a = read_npy(source);
    if (!a) return a.error();
    if (a->item_bytes != p.dtype.element_bytes()) {
      return Error{Code::kParse,
                   fmt::format("parameter '{}' is {}, its array has elements of {} bytes", p.name, ir::to_string(p.dtype), a->item_bytes),
                   source, ""};
    }
    b.shape = a->shape;
    if (auto s = b.allocate(device_, a->data.size()); !s) return s;
    if (!p.input.empty() && !a->data.empty()) std::memcpy(b.host(), a->data.data(), a->data.size());
    return Ok{};
  }
  Status fill_sparse(const Param& p, GuardedBuffer& b) {
    size_t item = static_cast<size_t>(p.dtype.element_bytes());
    if (item == 0 || item > sizeof(uint64_t))
      return Error{Code::kParse, "parameter '" + p.name + "' of dtype " + ir::to_string(p.dtype) + " cannot be sparse", case_.folder, ""};
    auto bits = [&](double v) { return p.dtype.is_floating() ? encode_float(p.dtype, v) : static_cast<uint64_t>(static_cast<int64_t>(v)); };
    uint64_t fill = bits(p.sparse->fill);
    for (size_t i = 0; i < b.bytes() / item; ++i) std::memcpy(b.host() + i * item, &fill, item);
    for (auto [index, v] : p.sparse->elements) {
      if (index < 0 || static_cast<size_t>(index) >= b.bytes() / item)
        return Error{Code::kParse, "a sparse element past the buffer's end", case_.folder, ""};
      uint64_t x = bits(v);
      std::memcpy(b.host() + static_cast<size_t>(index) * item, &x, item);
    }
    return Ok{};
  }

  struct alignas(64) MapBytes {
    char bytes[runtime::kTensorMapBytes];
  };
  // A launch with its arguments, so that what is timed is the call alone.
  struct BoundLaunch {
    std::string kernel;
    std::vector<std::unique_ptr<DLTensor>> tensors;
    std::vector<std::unique_ptr<MapBytes>> maps;
    std::vector<runtime::Argument> args;
    double bytes = 0, flops = 0;
  };

  Status bind_all(const Module& module) {
    if (options_.flops && case_.launches.size() != 1) {
      return Error{Code::kInvalidArgument, fmt::format("expected one launch to count operations of, got {}", case_.launches.size()),
                   case_.folder, "give each launch its own, under the key 'flops' of case.json"};
    }
    for (const Launch& l : case_.launches) {
      if (auto s = bind(module, l, launches_.emplace_back()); !s) return s;
    }
    return Ok{};
  }
  Status launch_all(const Module& module) {
    for (const BoundLaunch& l : launches_) {
      if (auto s = runtime::call(module, l.kernel, l.args); !s) return s;
    }
    return Ok{};
  }
  Status bind(const Module& module, const Launch& l, BoundLaunch& out) {
    out.kernel = l.kernel;
    for (const Argument& a : l.args) {
      switch (a.kind) {
        case Argument::Kind::kTensor:
        case Argument::Kind::kWorkspace: {
          auto memory = find(a);
          if (!memory) return memory.error();
          out.tensors.push_back(std::make_unique<DLTensor>(memory->buffer->tensor(memory->offset)));
          out.args.push_back(runtime::Argument::of(out.tensors.back().get()));
          break;
        }
        case Argument::Kind::kScalar: {
          if (auto s = push_scalar(a, out.args); !s) return s;
          break;
        }
        case Argument::Kind::kTensorMap: {
          out.maps.push_back(std::make_unique<MapBytes>());
          if (auto s = encode(a, out.maps.back()->bytes); !s) return s;
          out.args.push_back(runtime::Argument::of(static_cast<void*>(out.maps.back()->bytes)));
          break;
        }
      }
    }
    out.bytes = bytes_of(l);
    auto flops = evaluate(l.flops, case_.sizes);
    if (!flops) return flops.error();
    out.flops = options_.flops.value_or(std::visit([](auto v) { return static_cast<double>(v); }, *flops));
    return push_launch_values(module, l, out.args);
  }
  // As KernelTime::bytes says.
  double bytes_of(const Launch& l) {
    std::set<std::string> seen;
    double bytes = 0;
    for (const Argument& a : l.args) {
      if (a.kind == Argument::Kind::kScalar || !seen.insert(a.name).second) continue;
      auto p = std::find_if(case_.params.begin(), case_.params.end(), [&](const Param& x) { return x.name == a.name; });
      bool in_place = p != case_.params.end() && (!p->input.empty() || p->sparse) && !p->expected.empty();
      if (auto memory = find(a)) bytes += static_cast<double>(memory->buffer->bytes()) * (in_place ? 2 : 1);
    }
    return bytes;
  }
  struct Memory {
    GuardedBuffer* buffer = nullptr;
    int64_t offset = 0;
  };
  // What an argument points to: a tensor, or a workspace.
  Result<Memory> find(const Argument& a) {
    Memory m;
    for (auto* from : {&buffers_, &workspaces_}) {
      bool wanted = a.kind == Argument::Kind::kTensorMap || (a.kind == Argument::Kind::kTensor) == (from == &buffers_);
      auto it = from->find(a.name);
      if (wanted && !m.buffer && it != from->end()) m.buffer = &it->second;
    }
    if (!m.buffer) return Error{Code::kParse, "argument '" + a.name + "' names no tensor of the case", case_.folder, ""};
    auto offset = evaluate_integer(a.byte_offset, case_.sizes);
    if (!offset) return offset.error();
    m.offset = *offset;
    if (m.offset < 0 || static_cast<size_t>(m.offset) > m.buffer->bytes())
      return Error{Code::kParse, "the byte offset of argument '" + a.name + "' is outside its tensor", case_.folder, ""};
    return m;
  }
  // The numbers that the kernel takes after its arguments, in its order.
  Status push_launch_values(const Module& module, const Launch& l, std::vector<runtime::Argument>& args) {
    const Source* source = runtime::source_of(module);
    if (!source) return Ok{};
    for (const KernelInfo& k : source->kernels) {
      if (k.name != l.kernel) continue;
      for (const std::string& tag : k.launch_params) {
        auto v = evaluate_integer(launch_value(l, tag), case_.sizes);
        if (!v) return v.error();
        args.push_back(runtime::Argument::of(*v));
      }
    }
    return Ok{};
  }
  // "blockIdx.y", "threadIdx.x", "tir.cluster_dim_z", or the bytes of dynamic shared memory.
  static std::string launch_value(const Launch& l, const std::string& tag) {
    if (tag.ends_with("use_dyn_shared_memory")) return l.shared_bytes;
    const auto& extents = tag.starts_with("blockIdx") ? l.grid : tag.starts_with("threadIdx") ? l.block : l.cluster;
    size_t axis = tag.empty() ? 0 : static_cast<size_t>(tag.back() - 'x');
    return axis < extents.size() ? extents[axis] : "1";
  }
  Status encode(const Argument& a, void* out) {
    if (!device_.api->encode) {
      return Error{Code::kUnsupported, std::string("a tensor map cannot be made on device ") + device_.api->name, case_.folder, ""};
    }
    auto memory = find(a);
    if (!memory) return memory.error();
    const TensorMapFields& f = a.map;
    runtime::TensorMap m;
    m.im2col = f.im2col;
    m.base = static_cast<char*>(memory->buffer->device()) + memory->offset;
    struct Number {
      const std::string& from;
      int64_t& to;
    };
    for (auto [from, to] : {Number{f.dtype, m.dtype},
                            {f.pixels, m.pixels},
                            {f.channels, m.channels},
                            {f.interleave, m.interleave},
                            {f.swizzle, m.swizzle},
                            {f.l2_promotion, m.l2_promotion},
                            {f.oob_fill, m.oob_fill}}) {
      auto v = evaluate_integer(from, case_.sizes);
      if (!v) return v.error();
      to = *v;
    }
    struct List {
      const std::vector<std::string>& from;
      std::vector<int64_t>& to;
    };
    for (auto [from, to] : {List{f.dims, m.dims},
                            {f.strides, m.strides},
                            {f.box, m.box},
                            {f.element_strides, m.element_strides},
                            {f.lower, m.lower},
                            {f.upper, m.upper}}) {
      for (const std::string& text : from) {
        auto v = evaluate_integer(text, case_.sizes);
        if (!v) return v.error();
        to.push_back(*v);
      }
    }
    return device_.api->encode(device_.index, m, out);
  }
  Status push_scalar(const Argument& a, std::vector<runtime::Argument>& args) {
    if (a.dtype.is_floating()) {
      auto v = evaluate(a.value, case_.sizes);
      if (!v) return v.error();
      args.push_back(runtime::Argument::of(v->index() == 0 ? static_cast<double>(std::get<0>(*v)) : std::get<1>(*v)));
    } else {
      auto v = evaluate_integer(a.value, case_.sizes);
      if (!v) return v.error();
      args.push_back(runtime::Argument::of(*v));
    }
    return Ok{};
  }
  bool check_outputs() {
    for (auto* all : {&buffers_, &workspaces_}) {
      const char* what = all == &buffers_ ? "parameter" : "workspace";
      for (auto& [name, b] : *all) {
        if (auto s = b.fetch(); !s) return fail(s.error().to_string()), false;
        if (!b.guards_intact()) return fail(fmt::format("the kernel wrote outside {} '{}'", what, name)), false;
      }
    }
    if (!case_.compare) return true;
    for (const Param& p : case_.params) {
      if (!p.is_tensor || p.expected.empty()) continue;
      if (auto s = check_output(p); !s) return fail(s.error().to_string()), false;
    }
    if (policies_ && !policies_->empty()) out_.reason = "policy " + (*policies_)[0];
    return true;
  }
  // Where a case offers several policies, all its outputs must follow one: `policies_` keeps those that every output so far matches.
  Status check_output(const Param& p) {
    auto wrong = [&](std::string what) { return Error{Code::kLaunch, "output '" + p.name + "': " + std::move(what), "", ""}; };
    std::optional<Array> mask;
    if (!p.dont_care.empty()) {
      auto m = read_npy(p.dont_care);
      if (!m) return m.error();
      mask = std::move(*m);
    }
    std::string first;
    std::vector<std::string> matched;
    for (const Alternative& a : p.expected) {
      auto expected = read_npy(a.expected);
      if (!expected) return expected.error();
      GuardedBuffer& b = buffers_[p.name];
      if (expected->data.size() != b.bytes())
        return wrong(fmt::format("its array has {} bytes, the expected one {}", b.bytes(), expected->data.size()));
      std::string difference = compare(p, *expected, b.host(), mask ? &*mask : nullptr);
      if (difference.empty())
        matched.push_back(a.policy);
      else if (first.empty())
        first = difference;
    }
    if (matched.empty()) return wrong((p.expected.size() > 1 ? "no policy matches; " : "") + first);
    if (matched[0].empty()) return Ok{};  // the only expected value
    if (policies_)
      std::erase_if(matched, [&](const std::string& m) { return std::find(policies_->begin(), policies_->end(), m) == policies_->end(); });
    if (matched.empty()) return wrong("follows another policy than the outputs before it");
    policies_ = std::move(matched);
    return Ok{};
  }

  Status repeat(const Module& module) {
    if (options_.repeat == 0) return Ok{};
    if (!options_.by_kernel) {
      auto times = sorted_times([&] { return launch_all(module); });
      if (!times) return times.error();
      out_.times.push_back({"median", median(*times)});
      return Ok{};
    }
    for (const BoundLaunch& l : launches_) {
      auto times = sorted_times([&] { return runtime::call(module, l.kernel, l.args); });
      if (!times) return times.error();
      double sum = std::accumulate(times->begin(), times->end(), 0.0), n = static_cast<double>(times->size());
      out_.kernels.push_back({l.kernel, 1e3 * median(*times), 1e3 * times->front(), 1e3 * sum / n, l.bytes, l.flops});
    }
    return Ok{};
  }
  static double median(const std::vector<double>& sorted) { return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2; }
  Result<std::vector<double>> sorted_times(const std::function<Status()>& launch) {
    auto times = device_.api->time(device_.index, options_.repeat, launch);
    if (times) std::sort(times->begin(), times->end());
    return times;
  }

  const Case& case_;
  const RunOptions& options_;
  registry::Device device_;
  Outcome& out_;
  std::map<std::string, GuardedBuffer> buffers_, workspaces_;
  std::vector<BoundLaunch> launches_;
  std::optional<std::vector<std::string>> policies_;
};

}  // namespace

Outcome run_case(const std::string& folder, const RunOptions& options) {
  Outcome out;
  out.folder = folder;
  auto c = read_case(folder);
  if (!c) {
    out.reason = c.error().to_string();
    return out;
  }
  // A target that nothing here serves, or no device runs, is no failure of the case.
  auto skip = [&](std::string why) {
    out.state = Outcome::State::kSkipped;
    out.reason = std::move(why);
    return out;
  };
  auto target = Target::parse(options.target.value_or(c->target));
  if (target && !options.codegen) {
    auto allowed = allowed_device_codegens_for_target(*target);
    if (allowed && allowed->empty()) return skip("no device codegen here serves target kind '" + target->kind() + "'");
  }
  auto device = registry::find_device(options.device.value_or(target ? registry::device_api_for(*target).name : "cpu"));
  if (!device) {
    std::string others;
    for (const std::string& d : target ? registry::devices_for(*target) : std::vector<std::string>{}) others += " --device " + d;
    return skip(device.error().message + "; " + (others.empty() ? device.error().hint : "it runs here with" + others));
  }
  if (target && !device->key.empty()) target = target->with_key(device->key);
  const runtime::DeviceApi& own = target ? registry::device_api_for(*target) : runtime::cpu_device();
  if (device->api != &own) return skip("target kind '" + target->kind() + "' does not run on device " + device->api->name);
  Runner(*c, options, *device, out).run();
  return out;
}

}  // namespace kiln::cases
