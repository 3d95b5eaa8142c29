// Atomic updates of memory (PTX ISA 9.0, 9.7.13.6 atom, 9.7.13.7 red), as the host's own atomics: blocks run on several threads.
#include <cmath>
#include <cstring>
#include <mutex>

#include "backends/sim/runtime/operations.h"
#include "backends/sim/runtime/state.h"
#include "base/small_float.h"

namespace kiln::sim {

namespace {

// Fields of the update of one element; `bits` are memory's before.
template <class T>
T updated(int op, T memory, T operand, T compare) {
  switch (op) {
    case SIM_ADD: return static_cast<T>(memory + operand);
    case SIM_MIN: return operand < memory ? operand : memory;
    case SIM_MAX: return memory < operand ? operand : memory;
    case SIM_INC: return memory >= operand ? T{0} : static_cast<T>(memory + 1);
    case SIM_DEC: return memory == 0 || memory > operand ? operand : static_cast<T>(memory - 1);
    case SIM_CAS: return memory == compare ? operand : memory;
    case SIM_LOAD: return memory;
    default: return operand;
  }
}

template <class U, class T>
U update_bits(int op, U memory, U operand, U compare) {
  if (op == SIM_AND) return memory & operand;
  if (op == SIM_OR) return memory | operand;
  if (op == SIM_XOR) return memory ^ operand;
  if constexpr (std::is_floating_point_v<T>) {
    if (op == SIM_CAS) return memory == compare ? operand : memory;  // by bits
    if (op == SIM_LOAD) return memory;
    if (op == SIM_EXCH || op == SIM_STORE) return operand;
    T a, b, r;
    std::memcpy(&a, &memory, sizeof a), std::memcpy(&b, &operand, sizeof b);
    r = op == SIM_MIN ? std::fmin(a, b) : op == SIM_MAX ? std::fmax(a, b) : a + b;
    U bits;
    std::memcpy(&bits, &r, sizeof bits);
    return bits;
  } else if constexpr (std::is_signed_v<T>) {
    if (op == SIM_ADD) return static_cast<U>(memory + operand);  // wraps
    return static_cast<U>(updated<T>(op, static_cast<T>(memory), static_cast<T>(operand), static_cast<T>(compare)));
  } else {
    return updated<U>(op, memory, operand, compare);
  }
}

// float16 and bfloat16: exact in double, rounded once.
uint16_t update_small(ir::DataType type, int op, uint16_t memory, uint16_t operand, uint16_t compare) {
  if (op != SIM_ADD && op != SIM_MIN && op != SIM_MAX) return update_bits<uint16_t, uint16_t>(op, memory, operand, compare);
  double a = decode_float(type, memory), b = decode_float(type, operand);
  double r = op == SIM_MIN ? std::fmin(a, b) : op == SIM_MAX ? std::fmax(a, b) : a + b;
  return static_cast<uint16_t>(encode_float(type, r));
}

// Replaces the word by f(word) at once; whether that changed it.
template <class U, class F>
bool replace(void* target, void* old, F f) {
  auto* p = static_cast<U*>(target);
  U before = __atomic_load_n(p, __ATOMIC_SEQ_CST), after = f(before);
  while (after != before && !__atomic_compare_exchange_n(p, &before, after, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) after = f(before);
  if (old) std::memcpy(old, &before, sizeof before);
  return after != before;
}

template <class U, class T = U>
bool update(int op, void* target, const void* operand, const void* compare, void* old) {
  U b{}, c{};
  if (operand) std::memcpy(&b, operand, sizeof b);
  if (compare) std::memcpy(&c, compare, sizeof c);
  return replace<U>(target, old, [&](U memory) { return update_bits<U, T>(op, memory, b, c); });
}

bool update_half(ir::DataType type, int op, void* target, const void* operand, const void* compare, void* old) {
  uint16_t b = 0, c = 0;
  if (operand) std::memcpy(&b, operand, sizeof b);
  if (compare) std::memcpy(&c, compare, sizeof c);
  return replace<uint16_t>(target, old, [&](uint16_t memory) { return update_small(type, op, memory, b, c); });
}

const std::byte* element(const void* p, size_t offset) { return p ? static_cast<const std::byte*>(p) + offset : nullptr; }
std::byte* element(void* p, size_t offset) { return p ? static_cast<std::byte*>(p) + offset : nullptr; }

bool update_elements(int op, int dtype, int count, void* target, const void* operand, const void* compare, void* old) {
  size_t bytes = bytes_of(dtype);
  bool changed = false;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    size_t at = i * bytes;
    changed |= update_memory(op, dtype, element(target, at), element(operand, at), element(compare, at), element(old, at));
  }
  return changed;
}

bool update_128(int op, void* target, const void* operand, const void* compare, void* old) {
  static std::mutex mutex;  // all updates of 128 bits go through here
  std::lock_guard lock(mutex);
  std::byte before[16];
  std::memcpy(before, target, 16);
  if (old) std::memcpy(old, before, 16);
  if (op == SIM_LOAD || (op == SIM_CAS && std::memcmp(before, compare, 16) != 0) || std::memcmp(before, operand, 16) == 0) return false;
  std::memcpy(target, operand, 16);
  return true;
}

}  // namespace

size_t bytes_of(int dtype) {
  switch (dtype) {
    case SIM_F16:
    case SIM_BF16:
    case SIM_B16:
    case SIM_S16: return 2;
    case SIM_S64:
    case SIM_U64:
    case SIM_F64:
    case SIM_B64:
    case SIM_F32X2: return 8;
    case SIM_F32X4:
    case SIM_B128: return 16;
    default: return 4;
  }
}

bool update_memory(int op, int dtype, void* target, const void* operand, const void* compare, void* old) {
  constexpr ir::DataType kHalf{ir::TypeCode::kFloat, 16}, kBfloat{ir::TypeCode::kBFloat, 16};
  switch (dtype) {
    case SIM_S32: return update<uint32_t, int32_t>(op, target, operand, compare, old);
    case SIM_S64: return update<uint64_t, int64_t>(op, target, operand, compare, old);
    case SIM_U64:
    case SIM_B64: return update<uint64_t>(op, target, operand, compare, old);
    case SIM_F32: return update<uint32_t, float>(op, target, operand, compare, old);
    case SIM_F64: return update<uint64_t, double>(op, target, operand, compare, old);
    case SIM_F16: return update_half(kHalf, op, target, operand, compare, old);
    case SIM_BF16: return update_half(kBfloat, op, target, operand, compare, old);
    case SIM_S16: return update<uint16_t, int16_t>(op, target, operand, compare, old);
    case SIM_B16: return update<uint16_t>(op, target, operand, compare, old);
    case SIM_F16X2: return update_elements(op, SIM_F16, 2, target, operand, compare, old);
    case SIM_BF16X2: return update_elements(op, SIM_BF16, 2, target, operand, compare, old);
    case SIM_F32X2: return update_elements(op, SIM_F32, 2, target, operand, compare, old);
    case SIM_F32X4: return update_elements(op, SIM_F32, 4, target, operand, compare, old);
    case SIM_B128: return update_128(op, target, operand, compare, old);
    default: return update<uint32_t>(op, target, operand, compare, old);
  }
}

namespace ops {

void atomic(sim_warp* w, int lane, int op, int dtype, void* target, const void* operand, const void* compare, void* old, int, int,
            int32_t site) {
  Cluster& c = cluster_of(w);
  if (reinterpret_cast<uintptr_t>(target) % bytes_of(dtype) != 0)
    c.fail("misaligned", warp_of(w), lane, site,
           [&] { return "an atomic operation on " + std::to_string(bytes_of(dtype)) + " bytes that are not aligned"; });
  if (update_memory(op, dtype, target, operand, compare, old)) {
    warp_of(w).spins = 0;
  } else if (op == SIM_LOAD || op == SIM_CAS || op == SIM_EXCH) {
    c.look(warp_of(w), site);
  }
}

}  // namespace ops
}  // namespace kiln::sim
