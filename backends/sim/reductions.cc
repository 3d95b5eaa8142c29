#include "backends/sim/reductions.h"

#include <charconv>

#include "host_c/intrinsics.h"
#include "intrinsics/arguments.h"

namespace kiln::sim {

using namespace ir;
using namespace intrinsics;

namespace {

bool is_small_float(DataType t) { return t.is_floating() && t.bits <= 16; }

std::string dtype_name(DataType t) {
  if (is_small_float(t)) return host_c::small_float_name(t);
  return (t.is_floating() ? "f" : t.is_uint() ? "u" : "i") + std::to_string(t.bits);
}

// a and b combined, in C; empty where the dtype has no such operation.
std::string combined(std::string_view op, DataType t, const std::string& a, const std::string& b) {
  if (is_small_float(t)) {
    std::string name = host_c::small_float_name(t);
    std::string wide = combined(op, kFloat32, name + "_to_f32(" + a + ")", name + "_to_f32(" + b + ")");
    return wide.empty() ? "" : "f32_to_" + name + "(" + wide + ")";
  }
  if (op == "sum") return a + " + " + b;
  bool nan = op.ends_with("_nan");
  if (op.starts_with("max") || op.starts_with("min")) {
    std::string width = t.bits == 64 ? "64" : "32";
    if (!t.is_floating()) return std::string(op.substr(0, 3)) + (t.is_uint() ? "_u" : "_i") + width + "(" + a + ", " + b + ")";
    return std::string(op.substr(0, 3)) + (nan ? "_nan_f" : "_f") + width + "(" + a + ", " + b + ")";
  }
  if (t.is_floating()) return "";
  return a + (op == "and" ? " & " : op == "or" ? " | " : " ^ ") + b;
}

// What lane l reads or writes at base[index]; in checked code the access is told.
std::string element_text(bool checked, DataType t, const std::string& base, const std::string& index, bool write) {
  if (!checked) return base + "[" + index + "]";
  std::string type = (write ? "" : "const ") + host_c::type_name(t);
  return "*(" + type + "*)w->sim->access(w, l, " + base + ", " + index + ", 0, " + std::to_string(t.element_bytes()) + ", " +
         (write ? "SIM_WRITE" : "SIM_READ") + ", site)";
}

// A butterfly over `threads` threads whose numbers differ in bits from `scale` on; above a warp through `scratch`.
std::string all_reduce_text(const std::string& name, std::string_view op, DataType t, bool checked) {
  std::string type = host_c::type_name(t), bytes = std::to_string(t.element_bytes());
  std::string own = element_text(checked, t, "shared", "w->thread_x[l] - offset", true);
  std::string partner = element_text(checked, t, "shared", "(w->thread_x[l] - offset) ^ distance", false);
  return "// Combines the lanes' x over groups of threads; all of a group get the result.\n"
         "static void " +
         name + "(sim_warp* w, sim_mask m, " + type +
         " x[32], void* scratch, int threads, int scale, int offset,\n"
         "                       int barrier, int32_t site) {\n"
         "  " +
         type + "* const shared = (" + type +
         "*)scratch;\n"
         "  for (int distance = threads / 2; distance >= scale && distance > 0; distance /= 2) {\n"
         "    " +
         type +
         " other[32] = {0};\n"
         "    if (distance >= 32) {\n"
         "      w->sim->barrier_sync(w, m, barrier ? 1 : 0, barrier, site);\n"
         "      for (int l = 0; l < 32; ++l) {\n"
         "        if (m >> l & 1) " +
         own +
         " = x[l];\n"
         "      }\n"
         "      w->sim->barrier_sync(w, m, barrier ? 2 : 0, barrier, site);\n"
         "      for (int l = 0; l < 32; ++l) {\n"
         "        if (m >> l & 1) other[l] = " +
         partner +
         ";\n"
         "      }\n"
         "    } else {\n"
         "      int32_t source[32];\n"
         "      for (int l = 0; l < 32; ++l) source[l] = distance;\n"
         "      w->sim->shuffle(w, m, SIM_SHFL_XOR, 0xFFFFFFFFu, other, x, " +
         bytes +
         ", source, 32, site);\n"
         "    }\n"
         "    for (int l = 0; l < 32; ++l) {\n"
         "      if (m >> l & 1) x[l] = " +
         combined(op, t, "x[l]", "other[l]") +
         ";\n"
         "    }\n"
         "  }\n"
         "}\n";
}

// Running sums or maxima of lines, a warp a line.
std::string scan_text(const std::string& name, bool greatest, DataType t, bool checked) {
  std::string source = element_text(checked, t, "from", "index * from_stride", false);
  std::string target = element_text(checked, t, "to", "index * to_stride", true);
  std::string type = host_c::type_name(t);
  std::string combine = greatest ? combined("max", t, "value[l]", "before[l]") : "value[l] + before[l]";
  std::string with_carry = greatest ? combined("max", t, "value[l]", "carry") : "value[l] + carry";
  return "static void " + name +
         "(sim_warp* w, sim_mask m, const void* source, void* target, int count, int from_stride, int to_stride,\n"
         "                       int reverse, int32_t site) {\n"
         "  const " +
         type + "* const from = (const " + type +
         "*)source;\n"
         "  " +
         type + "* const to = (" + type +
         "*)target;\n"
         "  " +
         type +
         " carry = 0, value[32], before[32];\n"
         "  for (int start = 0; start < count; start += 32) {\n"
         "    for (int l = 0; l < 32; ++l) {\n"
         "      const int at = start + l, index = reverse ? count - 1 - at : at;\n"
         "      value[l] = at < count ? " +
         source +
         " : 0;\n"
         "    }\n"
         "    for (int distance = 1; distance < 32; distance *= 2) {\n"
         "      for (int l = 31; l >= distance; --l) before[l] = value[l - distance];\n"
         "      for (int l = distance; l < 32; ++l) value[l] = " +
         combine +
         ";\n"
         "    }\n"
         "    for (int l = 0; l < 32; ++l) {\n"
         "      const int at = start + l, index = reverse ? count - 1 - at : at;\n"
         "      if (start > 0) value[l] = " +
         with_carry +
         ";\n"
         "      if (at < count) " +
         target +
         " = value[l];\n"
         "    }\n"
         "    carry = value[31];\n"
         "  }\n"
         "}\n";
}

// The arguments of "tl::AllReduce<tl::MaxOp, 16, 1, 0, tl::NamedBarrier<128>>::run" between the outer angle brackets.
std::vector<std::string> template_args(std::string_view text) {
  std::vector<std::string> out;
  size_t at = text.find('<');
  if (at == text.npos) return out;
  std::string item;
  int depth = 1;
  for (++at; at < text.size() && depth > 0; ++at) {
    char ch = text[at];
    depth += ch == '<' ? 1 : ch == '>' ? -1 : 0;
    if (depth == 0 || (depth == 1 && ch == ',')) {
      out.push_back(std::move(item));
      item.clear();
    } else if (ch != ' ') {
      item += ch;
    }
  }
  return out;
}
int number(std::string_view text) {
  int n = -1;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() && end == text.data() + text.size() ? n : -1;
}

std::string reducer(std::string_view name) {
  if (name == "tl::SumOp") return "sum";
  if (name == "tl::MaxOp") return "max";
  if (name == "tl::MinOp") return "min";
  if (name == "tl::MaxOpNan") return "max_nan";
  if (name == "tl::MinOpNan") return "min_nan";
  if (name == "tl::BitAndOp") return "and";
  if (name == "tl::BitOrOp") return "or";
  return name == "tl::BitXorOp" ? "xor" : "";
}

std::optional<Reduction> all_reduce(std::string_view op, const Expr* value, const Expr* scratch, int threads, int scale, int offset,
                                    int barrier, bool checked) {
  DataType t = value->dtype;
  auto power = [](int n) { return n > 0 && (n & (n - 1)) == 0; };
  bool fits = !op.empty() && power(scale) && threads > 0 && threads <= 1024 && threads % scale == 0 && power(threads / scale) &&
              offset >= 0 && barrier >= 0 && t.lanes == 1 && (t.is_integer() || t.is_floating()) && !combined(op, t, "a", "b").empty();
  if (!fits || (threads > 32 && threads > scale && !scratch)) return std::nullopt;
  Reduction r;
  r.name = "all_reduce_" + std::string(op) + "_" + dtype_name(t);
  r.text = all_reduce_text(r.name, op, t, checked);
  r.values = {value};
  if (scratch) r.agreed = {scratch};
  for (int n : {threads, scale, offset, barrier}) r.constants += ", " + std::to_string(n);
  if (!scratch) r.constants = ", 0" + r.constants;
  return r;
}

std::optional<Reduction> scan(const Call* c, std::string_view text, const std::vector<std::string>& args, bool checked) {
  bool maximum = text.starts_with("tl::CumMax"), plane = text.find("2D<") != text.npos;
  if (!(text.starts_with("tl::CumSum") || maximum) || !text.ends_with("::run") || args.empty()) return std::nullopt;
  bool fits = plane ? args.size() == 3 && c->args.size() == 7 && number(args[0]) >= 32 && number(args[0]) % 32 == 0 &&
                          (args[1] == "0" || args[1] == "1")
                    : text.find("1D<") != text.npos && args.size() == 2 && c->args.size() == 4;
  auto* place = fits ? addressed_element(c->args[1]) : nullptr;
  const std::string& reverse = args.back();
  if (!place || is_small_float(place->buffer->dtype) || (reverse != "true" && reverse != "false")) return std::nullopt;
  DataType t = place->buffer->dtype.element();
  std::string line = std::string(maximum ? "scan_max_" : "scan_sum_") + dtype_name(t), type = host_c::type_name(t);
  Reduction r;
  r.has_result = false;
  r.name = line + (plane ? args[1] == "1" ? "_rows" : "_columns" : "_line");
  r.text = scan_text(line, maximum, t, checked);
  r.agreed.assign(c->args.begin() + 1, c->args.end());
  std::string head = "static void " + r.name + "(sim_warp* w, sim_mask m, const void* from, void* to, ";
  if (!plane) {
    r.text += head + "int count, int reverse, int32_t site) {\n  if (w->warp == 0) " + line +
              "(w, m, from, to, count, 1, 1, reverse, site);\n}\n";
  } else {
    bool rows = args[1] == "1";
    std::string body = rows ? "(const " + type + "*)from + i * from_stride, (" + type + "*)to + i * to_stride, columns, 1, 1"
                            : "(const " + type + "*)from + i, (" + type + "*)to + i, rows, from_stride, to_stride";
    r.text += head +
              "int rows, int columns, int from_stride, int to_stride, int warps,\n    int reverse, int32_t site) {\n  for (int i = "
              "w->warp; i < " +
              (rows ? "rows" : "columns") + "; i += warps) " + line + "(w, m, " + body + ", reverse, site);\n}\n";
    r.constants = ", " + std::to_string(number(args[0]) / 32);
  }
  r.constants += reverse == "true" ? ", 1" : ", 0";
  return r;
}

}  // namespace

std::optional<Reduction> reduction_of(const Call* c, bool checked) {
  auto warp = [&](std::string_view op) {
    return c->args.size() == 1 ? all_reduce(op, c->args[0], nullptr, 32, 1, 0, 0, checked) : std::nullopt;
  };
  switch (c->op) {
    case Op::tl_warp_reduce_sum: return warp("sum");
    case Op::tl_warp_reduce_max: return warp("max");
    case Op::tl_warp_reduce_min: return warp("min");
    case Op::tl_warp_reduce_bitand: return warp("and");
    case Op::tl_warp_reduce_bitor: return warp("or");
    default: break;
  }
  std::string_view text = text_arg(c, 0);
  std::vector<std::string> args = template_args(text);
  if (!text.starts_with("tl::AllReduce<") || !text.ends_with("::run")) return scan(c, text, args, checked);
  if (args.size() < 3 || args.size() > 5 || c->args.size() < 2) return std::nullopt;
  int barrier = 0;
  if (args.size() > 4 && args[4] != "tl::SyncThreadsBarrier") {
    if (!args[4].starts_with("tl::NamedBarrier<")) return std::nullopt;
    barrier = number(args[4].substr(17, args[4].size() - 18));
  }
  return all_reduce(reducer(args[0]), c->args[1], c->args.size() > 2 ? c->args[2] : nullptr, number(args[1]), number(args[2]),
                    args.size() > 3 ? number(args[3]) : 0, barrier, checked);
}

}  // namespace kiln::sim
