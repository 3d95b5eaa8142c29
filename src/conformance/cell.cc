#include "conformance/cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace kiln::conformance {

using ir::DataType;
using ir::TypeCode;

std::string module_text(const std::vector<const Cell*>& cells) {
  std::string text = "@I.ir_module\nclass Module:\n";
  for (const Cell* c : cells) text += c->text;
  return text;
}

std::vector<Cell> all_cells(const Form& form) {
  std::vector<Cell> cells;
  add_arithmetic(cells, form);
  add_functions(cells, form);
  add_casts(cells, form);
  add_vectors(cells, form);
  add_statements(cells, form);
  add_rest(cells, form);
  return cells;
}

std::vector<DataType> integer_types() {
  return {ir::kInt8, ir::kInt16, ir::kInt32, ir::kInt64, ir::kUInt8, ir::kUInt16, ir::kUInt32, ir::kUInt64};
}
std::vector<DataType> float_types() { return {ir::kFloat16, ir::kBFloat16, ir::kFloat32, ir::kFloat64}; }
std::vector<DataType> float8_types() {
  std::vector<DataType> all;
  for (TypeCode c : {TypeCode::kFloat8E3M4, TypeCode::kFloat8E4M3, TypeCode::kFloat8E4M3B11FNUZ, TypeCode::kFloat8E4M3FN,
                     TypeCode::kFloat8E4M3FNUZ, TypeCode::kFloat8E5M2, TypeCode::kFloat8E5M2FNUZ, TypeCode::kFloat8E8M0FNU}) {
    all.push_back({c, 8, 1});
  }
  return all;
}
std::vector<DataType> storage_types() {
  return {{TypeCode::kInt, 4, 1},
          {TypeCode::kUInt, 4, 1},
          {TypeCode::kFloat4E2M1FN, 4, 1},
          {TypeCode::kFloat6E2M3FN, 6, 1},
          {TypeCode::kFloat6E3M2FN, 6, 1}};
}
std::vector<DataType> operator+(std::vector<DataType> a, const std::vector<DataType>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
std::vector<DataType> value_types() { return std::vector<DataType>{ir::kBool} + integer_types() + float_types() + float8_types(); }

Domain any() { return {Domain::Kind::kAny}; }
Domain range(double low, double high) { return {Domain::Kind::kRange, low, high}; }
Domain output() { return {}; }

// ---- inputs -------------------------------------------------------------------------------------------------------

namespace {

constexpr uint8_t kPattern = 0xa5;

// SplitMix64 (Steele, Lea, Flood 2014).
struct Random {
  uint64_t state;
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
};

uint64_t hash(std::string_view text) {  // FNV-1a
  uint64_t h = 0xcbf29ce484222325;
  for (char c : text) h = (h ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return h;
}

Integer lowest(DataType t) { return t.is_int() ? -(static_cast<Integer>(1) << (t.bits - 1)) : 0; }
Integer highest(DataType t) { return (static_cast<Integer>(1) << (t.is_int() ? t.bits - 1 : t.bits)) - 1; }

std::vector<Scalar> special_integers(DataType t, const Domain& d) {
  std::vector<Scalar> all;
  std::vector<Integer> values = {0, 1, -1, lowest(t), highest(t), lowest(t) + 1, highest(t) - 1, 2, 3, 7, -2, -3, -7, 10};
  bool bounded = d.kind == Domain::Kind::kRange;
  if (bounded) values.insert(values.end(), {static_cast<Integer>(d.low), static_cast<Integer>(d.high)});
  for (Integer v : values) {
    if (v < lowest(t) || v > highest(t) || (d.nonzero && v == 0) || (d.no_lowest && v == lowest(t) && t.is_int())) continue;
    if (bounded && (v < static_cast<Integer>(d.low) || v > static_cast<Integer>(d.high))) continue;
    all.push_back(make_integer(t, v));
  }
  return all;
}
Scalar random_integer(DataType t, const Domain& d, Random& random) {
  Integer low = lowest(t), high = highest(t);
  if (d.kind == Domain::Kind::kRange) low = std::max(low, static_cast<Integer>(d.low)), high = std::min(high, static_cast<Integer>(d.high));
  if (d.no_lowest && low == lowest(t) && t.is_int()) ++low;
  auto v = static_cast<Integer>(
      low + static_cast<Integer>(static_cast<unsigned __int128>(random.next()) % static_cast<unsigned __int128>(high - low + 1)));
  return make_integer(t, d.nonzero && v == 0 ? (high > 0 ? 1 : -1) : v);
}

bool fits(DataType t, const Domain& d, double v) {
  if (v < 0 && !float_range(t).has_negative) return false;
  if (v == 0 && (d.nonzero || !float_range(t).has_negative || (d.one_zero && std::signbit(v)))) return false;
  return d.kind != Domain::Kind::kRange || (v >= d.low && v <= d.high);  // not for NaN
}
std::vector<Scalar> special_floats(DataType t, const Domain& d) {
  FloatRange r = float_range(t);
  std::vector<double> values = {0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 2, -2, 3, 0.1};
  if (d.kind == Domain::Kind::kRange) values.insert(values.end(), {d.low, d.high});
  if (d.kind == Domain::Kind::kAny) {
    double even = r.smallest_normal * 2;
    values.insert(values.end(), {r.largest, -r.largest, r.smallest, -r.smallest, r.smallest_normal, -r.smallest_normal, even, NAN});
    if (r.has_infinity) values.insert(values.end(), {INFINITY, -INFINITY});
  }
  std::vector<Scalar> all;
  for (double v : values) {
    if (d.whole && v != std::trunc(v)) continue;
    double rounded = std::isinf(v) ? v : round_to(t, v);  // float8 has no way to round to its infinity
    if (fits(t, d, rounded) || (std::isnan(rounded) && d.kind == Domain::Kind::kAny)) all.push_back({t, 0, rounded, true});
  }
  return all;
}
Scalar random_float(DataType t, const Domain& d, Random& random) {
  FloatRange r = float_range(t);
  double v = 1;
  for (int attempt = 0; attempt < 64; ++attempt) {
    if (d.kind == Domain::Kind::kPowersOfTwo) {
      v = std::ldexp(random.next() & 1 ? 1.0 : -1.0, static_cast<int>(d.low + std::floor(random.unit() * (d.high - d.low + 1))));
    } else if (d.kind == Domain::Kind::kAny) {  // any magnitude, most of them near one
      v = std::ldexp((random.unit() + 1) * (random.next() & 1 ? 1 : -1), static_cast<int>(random.next() % 33) - 16);
    } else {
      double low = std::max(d.low, -r.largest), high = std::min(d.high, r.largest);
      v = low + random.unit() * (high - low);
    }
    if (d.whole) v = std::trunc(v);
    v = round_to(t, !r.has_negative ? std::fabs(v) : v);
    if (fits(t, d, v) && std::isfinite(v)) break;
  }
  return {t, 0, v, true};
}

}  // namespace

Memory initial(const Cell& cell, size_t index, uint64_t seed) {
  const Tensor& t = cell.tensors[index];
  auto size = static_cast<size_t>(t.dtype.element_bytes());
  auto n = static_cast<size_t>(t.elements());
  Memory m(n * size);
  if (t.domain.kind == Domain::Kind::kOutput) {
    std::fill(m.bytes.begin(), m.bytes.end(), kPattern);
    return m;
  }
  Random random{seed * 0x9e3779b97f4a7c15 + hash(cell.name) + index};
  bool floating = t.dtype.is_floating() && !is_storage_only(t.dtype), bits_only = is_storage_only(t.dtype);
  std::vector<Scalar> special;
  if (t.dtype.is_bool())
    special = {make_integer(t.dtype, 0), make_integer(t.dtype, 1)};
  else if (!bits_only && t.domain.kind != Domain::Kind::kPowersOfTwo)
    special = floating ? special_floats(t.dtype, t.domain) : special_integers(t.dtype, t.domain);
  for (size_t k = 0; k < n; ++k) {
    // Two of three elements are special; strides that differ by operand bring all kinds of them together.
    bool take_special = !special.empty() && (k % 3 != 2 || t.dtype.is_bool());
    uint64_t bits = random.next() & 0xff;
    if (take_special)
      bits = to_bits(special[(k * (2 * index + 1) + k / special.size() * index + random.next() % 2) % special.size()]);
    else if (!bits_only)
      bits = to_bits(floating ? random_float(t.dtype, t.domain, random) : random_integer(t.dtype, t.domain, random));
    for (size_t b = 0; b < size; ++b) m.bytes[k * size + b] = static_cast<uint8_t>(bits >> (8 * b));
  }
  return m;
}

// ---- text ---------------------------------------------------------------------------------------------------------

void name_cell(Cell& c) {
  c.name.clear();
  for (char ch : c.row) {
    bool keep = std::isalnum(static_cast<unsigned char>(ch)) != 0;
    if (keep)
      c.name += static_cast<char>(std::tolower(static_cast<unsigned char>(ch)));
    else if (!c.name.empty() && c.name.back() != '_')
      c.name += '_';
  }
  while (!c.name.empty() && c.name.back() == '_') c.name.pop_back();
  c.name += fmt::format("_{}_x{}", ir::to_string(c.dtype), c.width);
}

std::string item(const std::string& buffer, const std::string& i, int width) {
  if (width == 1) return fmt::format("{}[{}]", buffer, i);
  return fmt::format("{0}[{1} * {2}:{1} * {2} + {2}]", buffer, i, width);
}

std::string function_text(const Cell& c, const std::vector<std::string>& body) {
  std::string params, buffers;
  for (const Tensor& t : c.tensors) {
    std::string dtype = ir::to_string(t.dtype);
    params += fmt::format("{}{}_data: T.handle(\"{}\", \"global\")", params.empty() ? "" : ", ", t.name, dtype);
    std::string shape = fmt::format("{}", fmt::join(t.shape, ", "));
    if (t.shape.size() == 1) shape += ",";
    buffers += fmt::format("        {0} = T.decl_buffer(({1}), \"{2}\", data={0}_data)\n", t.name, shape, dtype);
  }
  std::string text = fmt::format("    @T.prim_func\n    def {0}({1}):\n", c.name, params);
  // The axes of element_loop; the rest is for one thread.
  bool blocks = std::ranges::any_of(body, [](const std::string& line) { return line.find("T.launch_thread(") != std::string::npos; });
  std::string launch = blocks ? ", \"tirx.kernel_launch_params\": [\"blockIdx.x\", \"threadIdx.x\"]" : "";
  text += fmt::format("        T.func_attr({{\"global_symbol\": \"{}\", \"tirx.noalias\": True{}}})\n", c.name, launch) + buffers;
  for (const std::string& line : body) text += "        " + line + "\n";
  return text;
}

std::vector<std::string> element_loop(const Form& form, int64_t count, const std::vector<std::string>& lines) {
  std::vector<std::string> out;
  if (form.thread_blocks) {
    int64_t threads = std::min<int64_t>(count, 8);
    out.push_back(fmt::format("bx = T.launch_thread(\"blockIdx.x\", {})", count / threads));
    out.push_back(fmt::format("tx = T.launch_thread(\"threadIdx.x\", {})", threads));
    out.push_back(fmt::format("i: T.int32 = bx * {} + tx", threads));
    out.insert(out.end(), lines.begin(), lines.end());
    return out;
  }
  out.push_back(fmt::format("for i in range({}):", count));
  for (const std::string& line : lines) out.push_back("    " + line);
  return out;
}

Cell elementwise(const Form& form, const Row& row, DataType column, int width, DataType result, const std::vector<Tensor>& operands,
                 const std::string& expression) {
  Cell c;
  c.group = row.group, c.row = row.row, c.op = row.op, c.ulps = row.ulps;
  c.dtype = column, c.width = width;
  name_cell(c);
  std::string value = expression;
  for (const Tensor& t : operands) {
    c.tensors.push_back(t);
    std::string hole = "{" + t.name + "}";
    for (size_t at = value.find(hole); at != std::string::npos; at = value.find(hole))
      value.replace(at, hole.size(), item(t.name, "i", width));
  }
  c.tensors.push_back({"C", result, {kElements}, output()});
  c.text = function_text(c, element_loop(form, kElements / width, {item("C", "i", width) + " = " + value}));
  return c;
}

}  // namespace kiln::conformance
