// Operations between the lanes of a warp (PTX ISA 9.0, 9.7.9.6 shfl.sync and 9.7.13.8 to 9.7.13.13).
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "backends/sim/runtime/operations.h"
#include "backends/sim/runtime/state.h"

namespace kiln::sim::ops {

namespace {

template <class T>
void exchange(sim_mask mask, int mode, T* out, const T* in, const int32_t* lane, int32_t width) {
  T result[32];
  for (int l = 0; l < 32; ++l) {
    // The lane that the value comes from, within the segment of `width` lanes; a lane without a partner keeps its own.
    int first = l & ~(width - 1), from = l;
    auto b = static_cast<int>(static_cast<uint32_t>(lane[l]) & 31);
    switch (mode) {
      case SIM_SHFL_IDX: from = first + (b & (width - 1)); break;
      case SIM_SHFL_UP: from = l - b; break;
      case SIM_SHFL_DOWN: from = l + b; break;
      default: from = l ^ b; break;
    }
    bool inside = mode == SIM_SHFL_UP ? from >= first : from < first + width;  // xor may reach a lower segment, as on the device
    result[l] = in[inside ? from : l];
  }
  for (int l = 0; l < 32; ++l) {
    if (mask >> l & 1) out[l] = result[l];
  }
}

struct Word128 {
  uint64_t part[2];
};

template <class T>
void find_equal(sim_mask mask, sim_mask* out, const void* in) {
  const T* value = static_cast<const T*>(in);
  for (int l = 0; l < 32; ++l) {
    if (!(mask >> l & 1)) continue;
    sim_mask same = 0;
    for (int k = 0; k < 32; ++k) same |= static_cast<sim_mask>((mask >> k & 1) && value[k] == value[l]) << k;
    out[l] = same;
  }
}

template <class T, class F>
void combine(sim_mask mask, void* out, const void* in, F combine_two) {
  const T* value = static_cast<const T*>(in);
  int first = std::countr_zero(mask);
  T sum = value[first];
  for (int l = first + 1; l < 32; ++l) {
    if (mask >> l & 1) sum = combine_two(sum, value[l]);
  }
  for (int l = 0; l < 32; ++l) {
    if (mask >> l & 1) static_cast<T*>(out)[l] = sum;
  }
}

template <class T>
void reduce_integers(int op, sim_mask mask, void* out, const void* in) {
  switch (op) {
    case SIM_ADD:
      return combine<T>(mask, out, in, [](T a, T b) { return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); });
    case SIM_MIN: return combine<T>(mask, out, in, [](T a, T b) { return a < b ? a : b; });
    case SIM_MAX: return combine<T>(mask, out, in, [](T a, T b) { return a > b ? a : b; });
    case SIM_AND: return combine<T>(mask, out, in, [](T a, T b) { return static_cast<T>(a & b); });
    case SIM_OR: return combine<T>(mask, out, in, [](T a, T b) { return static_cast<T>(a | b); });
    default: return combine<T>(mask, out, in, [](T a, T b) { return static_cast<T>(a ^ b); });
  }
}

template <class T>
void reduce_floats(int op, sim_mask mask, void* out, const void* in) {
  switch (op) {
    case SIM_MIN: return combine<T>(mask, out, in, [](T a, T b) { return std::fmin(a, b); });
    case SIM_MAX: return combine<T>(mask, out, in, [](T a, T b) { return std::fmax(a, b); });
    default: return combine<T>(mask, out, in, [](T a, T b) { return a + b; });
  }
}

}  // namespace

void shuffle(sim_warp*, sim_mask mask, int mode, sim_mask, void* out, const void* in, int bytes, const int32_t* lane, int32_t width,
             int32_t) {
  if (width <= 0 || width > 32 || (width & (width - 1)) != 0) width = 32;
  auto go = [&]<class T>(T) { exchange(mask, mode, static_cast<T*>(out), static_cast<const T*>(in), lane, width); };
  switch (bytes) {
    case 1: return go(uint8_t{});
    case 2: return go(uint16_t{});
    case 4: return go(uint32_t{});
    case 8: return go(uint64_t{});
    default: return go(Word128{});
  }
}

sim_mask vote(sim_warp*, sim_mask mask, int mode, sim_mask members, sim_mask predicates, int32_t) {
  sim_mask voters = mask & members, yes = predicates & voters;
  switch (mode) {
    case SIM_VOTE_BALLOT: return yes;
    case SIM_VOTE_ANY: return yes != 0;
    case SIM_VOTE_ALL: return yes == voters;
    default: return yes == 0 || yes == voters;
  }
}

void match_any(sim_warp*, sim_mask mask, sim_mask members, sim_mask* out, const void* in, int bytes, int32_t) {
  if (bytes == 8) return find_equal<uint64_t>(mask & members, out, in);
  find_equal<uint32_t>(mask & members, out, in);
}

sim_mask match_all(sim_warp* w, sim_mask mask, sim_mask members, const void* in, int bytes, int32_t site) {
  sim_mask same[32], all = mask & members;
  if (!all) return 0;
  match_any(w, mask, members, same, in, bytes, site);
  return same[std::countr_zero(all)] == all ? all : 0;
}

sim_mask elect(sim_warp*, sim_mask mask, sim_mask members, int32_t) {
  sim_mask candidates = mask & members;
  return candidates & (~candidates + 1);
}

void reduce(sim_warp*, sim_mask mask, int op, int dtype, sim_mask members, void* out, const void* in, int32_t) {
  sim_mask all = mask & members;
  if (!all) return;
  switch (dtype) {
    case SIM_S32: return reduce_integers<int32_t>(op, all, out, in);
    case SIM_U32:
    case SIM_B32: return reduce_integers<uint32_t>(op, all, out, in);
    case SIM_S64: return reduce_integers<int64_t>(op, all, out, in);
    case SIM_U64:
    case SIM_B64: return reduce_integers<uint64_t>(op, all, out, in);
    case SIM_F32: return reduce_floats<float>(op, all, out, in);
    default: return reduce_floats<double>(op, all, out, in);
  }
}

}  // namespace kiln::sim::ops
