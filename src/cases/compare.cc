#include "cases/compare.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "base/small_float.h"

namespace kiln::cases {

namespace {

uint64_t load_bits(const char* p, int bytes) {
  uint64_t v = 0;
  std::memcpy(&v, p, static_cast<size_t>(bytes));
  return v;
}
int64_t sign_extend(uint64_t v, int bytes) {
  int shift = 64 - 8 * bytes;
  return static_cast<int64_t>(v << shift) >> shift;
}

std::string show(ir::DataType t, uint64_t bits, int bytes) {
  if (t.is_floating()) return fmt::format("{:.9g} (bits 0x{:0{}x})", decode_float(t, bits), bits, bytes * 2);
  return t.is_uint() || t.is_bool() ? std::to_string(bits) : std::to_string(sign_extend(bits, bytes));
}

bool agree(const Param& p, uint64_t expected, uint64_t got) {
  if (expected == got) return true;
  if (!p.dtype.is_floating()) return false;
  double e = decode_float(p.dtype, expected), g = decode_float(p.dtype, got);
  if (std::isnan(e) || std::isnan(g)) return std::isnan(e) && std::isnan(g);
  if (p.compare_bits) return false;
  if (std::isinf(e) || std::isinf(g)) return e == g;  // an infinite difference is within no tolerance
  return std::fabs(g - e) <= p.atol + p.rtol * std::fabs(e);
}

}  // namespace

std::string compare(const Param& p, const Array& expected, const char* got, const Array* mask) {
  int bytes = expected.item_bytes;
  if (bytes != p.dtype.element_bytes())
    return fmt::format("the expected array has elements of {} bytes, the parameter is {}", bytes, ir::to_string(p.dtype));
  if (mask && mask->elements() != expected.elements()) return "the mask's shape is not the expected array's";
  int64_t differences = 0, first = -1;
  for (int64_t i = 0; i < expected.elements(); ++i) {
    if (mask && mask->data[static_cast<size_t>(i)]) continue;
    uint64_t e = load_bits(expected.data.data() + i * bytes, bytes), g = load_bits(got + i * bytes, bytes);
    if (agree(p, e, g)) continue;
    if (differences++ == 0) first = i;
  }
  if (differences == 0) return {};
  uint64_t e = load_bits(expected.data.data() + first * bytes, bytes), g = load_bits(got + first * bytes, bytes);
  return fmt::format("{} of {} elements differ, the first at [{}]: expected {}, got {}", differences, expected.elements(), first,
                     show(p.dtype, e, bytes), show(p.dtype, g, bytes));
}

}  // namespace kiln::cases
