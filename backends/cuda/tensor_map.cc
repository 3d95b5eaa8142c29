#include "backends/cuda/tensor_map.h"

#include <algorithm>

#include "backends/cuda/driver.h"

namespace kiln::cuda {

namespace {

using runtime::TensorMap;

constexpr size_t kMaxRank = 5;

template <class T>
struct List {
  T values[kMaxRank] = {};
  explicit List(const std::vector<int64_t>& from) {
    std::transform(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(std::min(from.size(), kMaxRank)), values,
                   [](int64_t v) { return static_cast<T>(v); });
  }
};

std::string text(const std::vector<int64_t>& list) {
  std::string out = "[";
  for (int64_t v : list) out += (out.size() > 1 ? ", " : "") + std::to_string(v);
  return out + "]";
}

std::string describe(const TensorMap& m) {
  std::string out = "dims " + text(m.dims) + ", strides " + text(m.strides) + " bytes, ";
  out += m.im2col ? "corners " + text(m.lower) + " to " + text(m.upper) : "box " + text(m.box);
  return out + ", swizzle " + std::to_string(m.swizzle);
}

bool lists_fit(const TensorMap& m) {
  size_t rank = m.dims.size();
  if (rank < 1 || rank > kMaxRank || m.strides.size() != rank - 1 || m.element_strides.size() != rank) return false;
  return m.im2col ? rank >= 3 && m.lower.size() == rank - 2 && m.upper.size() == rank - 2 : m.box.size() == rank;
}

}  // namespace

Status encode_tensor_map(const TensorMap& m, void* out) {
  const Result<Driver>& found = driver();
  if (!found) return found.error();
  const Driver& d = *found;
  if (!d.encode_tiled || !d.encode_im2col) {
    return Error{Code::kUnsupported, "this CUDA driver makes no tensor maps", d.path, "drivers of CUDA 12.0 and newer do"};
  }
  if (!lists_fit(m)) return Error{Code::kInvalidArgument, "expected lists of one rank for a tensor map, got " + describe(m), "", ""};
  auto rank = static_cast<uint32_t>(m.dims.size());
  List<uint64_t> dims(m.dims), strides(m.strides);
  List<uint32_t> box(m.box), element_strides(m.element_strides);
  List<int> lower(m.lower), upper(m.upper);
  int dtype = static_cast<int>(m.dtype), interleave = static_cast<int>(m.interleave), swizzle = static_cast<int>(m.swizzle),
      l2 = static_cast<int>(m.l2_promotion), fill = static_cast<int>(m.oob_fill);
  int r = m.im2col ? d.encode_im2col(out, dtype, rank, m.base, dims.values, strides.values, lower.values, upper.values,
                                     static_cast<uint32_t>(m.channels), static_cast<uint32_t>(m.pixels), element_strides.values, interleave,
                                     swizzle, l2, fill)
                   : d.encode_tiled(out, dtype, rank, m.base, dims.values, strides.values, box.values, element_strides.values, interleave,
                                    swizzle, l2, fill);
  if (r) return failed(d, r, "encoding a tensor map of " + describe(m));
  return Ok{};
}

}  // namespace kiln::cuda
