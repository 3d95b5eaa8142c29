#include "conformance/launch.h"

#include <dlpack/dlpack.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "emit/functions.h"
#include "ir/rewriter.h"
#include "registry/guarded_buffer.h"
#include "runtime/call.h"
#include "runtime/kernel_module.h"

namespace kiln::conformance {

namespace {

using registry::GuardedBuffer;

std::string show(const Scalar& v) {
  if (v.type.is_floating() && !is_storage_only(v.type)) return fmt::format("{:.9g} (bits 0x{:x})", v.floating, to_bits(v));
  return v.integer < 0 ? fmt::format("{}", static_cast<int64_t>(v.integer)) : fmt::format("{}", static_cast<uint64_t>(v.integer));
}

// What the operands of an elementwise cell were, for the message.
std::string operands_at(const Cell& cell, const std::vector<Memory>& before, size_t k) {
  std::string text;
  for (size_t i = 0; i < cell.tensors.size(); ++i) {
    const Tensor& t = cell.tensors[i];
    auto size = static_cast<size_t>(t.dtype.element_bytes());
    if (t.domain.kind == Domain::Kind::kOutput || t.elements() != kElements) continue;
    uint64_t bits = 0;
    std::memcpy(&bits, before[i].bytes.data() + k * size, size);
    text += fmt::format("{}{}[{}] = {}", text.empty() ? " for " : ", ", t.name, k, show(from_bits(t.dtype, bits)));
  }
  return text;
}

// Formats below 8 bits may be packed or not; the bytes that both ways fill are compared, which a copy leaves equal.
size_t compared_elements(const Tensor& t) {
  auto n = static_cast<size_t>(t.elements());
  return is_storage_only(t.dtype) ? n * t.dtype.bits / 8 : n;
}

std::string compare(const Cell& cell, size_t index, const Memory& expected, GuardedBuffer& got, const std::vector<Memory>& before) {
  const Tensor& t = cell.tensors[index];
  auto size = static_cast<size_t>(t.dtype.element_bytes());
  size_t wrong = 0, n = compared_elements(t);
  std::string first;
  for (size_t k = 0; k < n; ++k) {
    if (!expected.defined[k * size]) continue;
    uint64_t e = 0, g = 0;
    std::memcpy(&e, expected.bytes.data() + k * size, size);
    std::memcpy(&g, got.host() + k * size, size);
    if (e == g) continue;
    Scalar want = from_bits(t.dtype, e), have = from_bits(t.dtype, g);
    bool zero_sign = cell.ulps == 0;
    if (!t.dtype.is_bool() && distance(want, have, zero_sign) <= cell.ulps) continue;
    if (wrong++ > 0) continue;
    std::string byte = t.dtype.is_bool() ? fmt::format("byte {}", g) : show(have);
    first = fmt::format("{}[{}]{}: expected {}, got {}", t.name, k, operands_at(cell, before, k), show(want), byte);
  }
  if (wrong == 0) return {};
  return fmt::format("{} of {} elements of {} differ: {}", wrong, n, t.name, first);
}

// The numbers that the kernel takes after its tensors: the extents of its thread axes.
std::vector<runtime::Argument> launch_values(const ir::Module& module, const Module& built, const std::string& name) {
  std::map<std::string_view, int64_t> extents;
  for (const ir::Function* f : module.functions) {
    if (emit::name_of(f) != name) continue;
    auto note = [&](const ir::Stmt* s) {
      auto* t = s->as<ir::ThreadExtent>();
      auto* extent = t ? t->extent->as<ir::IntImm>() : nullptr;
      if (extent) extents[t->tag] = extent->value;
    };
    ir::visit(f->body, note, [](const ir::Expr*) {});
  }
  std::vector<runtime::Argument> values;
  const Source* source = runtime::source_of(built);
  for (const KernelInfo& k : source ? source->kernels : std::vector<KernelInfo>{}) {
    if (k.name != name) continue;
    for (const std::string& tag : k.launch_params) values.push_back(runtime::Argument::of(extents.contains(tag) ? extents[tag] : 1));
  }
  return values;
}

Status prepare(const Cell& cell, const std::vector<Memory>& content, const registry::Device& device, std::vector<GuardedBuffer>& buffers) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    GuardedBuffer& b = buffers[i];
    b.shape = cell.tensors[i].shape, b.dtype = cell.tensors[i].dtype;
    if (auto s = b.allocate(device, content[i].bytes.size()); !s) return s;
    std::ranges::copy(content[i].bytes, b.host());
    if (auto s = b.send(); !s) return s;
  }
  return Ok{};
}

}  // namespace

LaunchOutcome launch_and_compare(const Cell& cell, const IRModule& source, const Module& built, uint64_t seed,
                                 const registry::Device& device) {
  std::vector<Memory> before, expected;
  for (size_t i = 0; i < cell.tensors.size(); ++i) before.push_back(initial(cell, i, seed));
  expected = before;
  std::vector<ReferenceArgument> reference_args;
  for (Memory& m : expected) reference_args.push_back({&m, {}});
  auto outcome = run_reference(source.ir(), cell.name, reference_args);
  if (!outcome) return {"no expected values: " + outcome.error().to_string()};

  std::vector<GuardedBuffer> buffers(cell.tensors.size());
  if (auto s = prepare(cell, before, device, buffers); !s) return {s.error().to_string(), true};
  std::vector<DLTensor> tensors;
  std::vector<runtime::Argument> args;
  for (GuardedBuffer& b : buffers) tensors.push_back(b.tensor());
  for (const DLTensor& t : tensors) args.push_back(runtime::Argument::of(&t));
  for (const runtime::Argument& v : launch_values(source.ir(), built, cell.name)) args.push_back(v);
  Status called = runtime::call(built, cell.name, args);
  if (called) called = device.api->synchronize(device.index);
  if (cell.fails) return {called ? "expected the launch to report the failed assertion, it reported nothing" : "", !called};
  if (!called) return {called.error().to_string(), true};
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (auto s = buffers[i].fetch(); !s) return {s.error().to_string(), true};
    if (!buffers[i].guards_intact()) return {"wrote outside of " + cell.tensors[i].name};
    if (std::string wrong = compare(cell, i, expected[i], buffers[i], before); !wrong.empty()) return {wrong};
  }
  return {};
}

}  // namespace kiln::conformance
