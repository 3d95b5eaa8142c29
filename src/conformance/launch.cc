#include "conformance/launch.h"

#include <dlpack/dlpack.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/call.h"

namespace kiln::conformance {

namespace {

constexpr size_t kGuard = 64;  // bytes on either side of a tensor, which no kernel may touch
constexpr uint8_t kGuardByte = 0x5a;

// Memory of one argument.
struct Block {
  std::vector<uint8_t> storage;
  size_t offset = 0, size = 0;

  explicit Block(const std::vector<uint8_t>& content) : storage(content.size() + 2 * kGuard + 64, kGuardByte), size(content.size()) {
    offset = kGuard + (64 - (reinterpret_cast<uintptr_t>(storage.data()) + kGuard) % 64) % 64;
    std::copy(content.begin(), content.end(), data());
  }
  uint8_t* data() { return storage.data() + offset; }
  bool intact() const {
    auto guard = [](uint8_t b) { return b == kGuardByte; };
    auto at = [&](size_t n) { return storage.begin() + static_cast<std::ptrdiff_t>(n); };
    return std::all_of(storage.begin(), at(offset), guard) && std::all_of(at(offset + size), storage.end(), guard);
  }
};

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

std::string compare(const Cell& cell, size_t index, const Memory& expected, Block& got, const std::vector<Memory>& before) {
  const Tensor& t = cell.tensors[index];
  auto size = static_cast<size_t>(t.dtype.element_bytes());
  size_t wrong = 0, n = compared_elements(t);
  std::string first;
  for (size_t k = 0; k < n; ++k) {
    if (!expected.defined[k * size]) continue;
    uint64_t e = 0, g = 0;
    std::memcpy(&e, expected.bytes.data() + k * size, size);
    std::memcpy(&g, got.data() + k * size, size);
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

}  // namespace

std::string launch_and_compare(const Cell& cell, const IRModule& source, const Module& built, uint64_t seed) {
  std::vector<Memory> before, expected;
  for (size_t i = 0; i < cell.tensors.size(); ++i) before.push_back(initial(cell, i, seed));
  expected = before;
  std::vector<ReferenceArgument> reference_args;
  for (Memory& m : expected) reference_args.push_back({&m, {}});
  auto outcome = run_reference(source.ir(), cell.name, reference_args);
  if (!outcome) return "no expected values: " + outcome.error().to_string();

  std::vector<Block> blocks;
  std::vector<DLTensor> tensors(cell.tensors.size());
  std::vector<runtime::Argument> args;
  for (const Memory& m : before) blocks.emplace_back(m.bytes);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = cell.tensors[i];
    tensors[i] = {blocks[i].data(),
                  {kDLCPU, 0},
                  static_cast<int32_t>(t.shape.size()),
                  {static_cast<uint8_t>(t.dtype.code), t.dtype.bits, 1},
                  const_cast<int64_t*>(t.shape.data()),
                  nullptr,
                  0};
    args.push_back(runtime::Argument::of(&tensors[i]));
  }
  Status called = runtime::call(built, cell.name, args);
  if (cell.fails) return called ? "expected the launch to report the failed assertion, it reported nothing" : "";
  if (!called) return called.error().to_string();
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (!blocks[i].intact()) return "wrote outside of " + cell.tensors[i].name;
    if (std::string wrong = compare(cell, i, expected[i], blocks[i], before); !wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace kiln::conformance
