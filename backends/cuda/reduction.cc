// Reductions and scans over the threads of a block or warp.
#include <vector>

#include "backends/cuda/generated.h"
#include "backends/cuda/intrinsics.h"

namespace kiln::cuda {

using namespace ir;
using namespace intrinsics;

namespace {

bool is_small_float(DataType t) { return t.is_floating() && t.bits <= 16; }

}  // namespace

std::string dtype_name(DataType t) {
  if (is_small_float(t)) return small_float_name(t);
  return t.is_bool() ? "bool" : (t.is_floating() ? "f" : t.is_uint() ? "u" : "i") + std::to_string(t.bits);
}

std::string combine(std::string_view op, DataType t, const std::string& a, const std::string& b) {
  if (is_small_float(t)) {
    std::string name = small_float_name(t), wide = combine(op, kFloat32, name + "_to_f32(" + a + ")", name + "_to_f32(" + b + ")");
    return wide.empty() ? "" : "f32_to_" + name + "(" + wide + ")";
  }
  bool nan = op.ends_with("_nan");
  if (nan) op.remove_suffix(4);
  if (op == "sum") return a + " + " + b;
  if (op == "max" || op == "min") {
    std::string name(op);
    if (t.is_floating() && nan) name += t.bits == 64 ? "_nan_f64" : "_nan_f32";
    if (t.is_floating() && !nan) name = "f" + name + (t.bits == 64 ? "" : "f");
    return name + "(" + a + ", " + b + ")";
  }
  if (t.is_floating()) return "";
  return a + (op == "and" ? " & " : op == "or" ? " | " : " ^ ") + b;
}

namespace {

std::string step(std::string_view op, DataType t, const std::string& other) { return "  x = " + combine(op, t, "x", other) + ";\n"; }

// A butterfly over `threads` threads whose numbers differ in bits from `scale` on; above a warp through `scratch`.
Generated all_reduce(const Arch& arch, std::string_view op, DataType t, int threads, int scale, int offset, int barrier) {
  std::string type = type_name(t);
  std::string name = "all_reduce_" + std::string(op) + "_" + dtype_name(t) + "_" + std::to_string(threads) + "_" + std::to_string(scale) +
                     (offset ? "_from" + std::to_string(offset) : "") + (barrier ? "_of" + std::to_string(barrier) : "");
  std::string text = "// Combines x over " + std::to_string(threads / scale) + " threads; all of them get the result.\n";
  text += "__device__ __forceinline__ " + type + " " + name + "(" + type + " x, void* scratch = nullptr) {\n";
  std::string index = offset ? "(threadIdx.x - " + std::to_string(offset) + ")" : "threadIdx.x";
  auto sync = [&](int id) {
    return barrier ? "  named_barrier_sync(" + std::to_string(id) + ", " + std::to_string(barrier) + ");\n"
                   : std::string("  __syncthreads();\n");
  };
  if (threads > 32 && threads > scale) text += "  " + type + "* shared = (" + type + "*)scratch;\n";
  for (int distance = threads / 2; distance >= scale && distance > 0; distance /= 2) {
    if (distance >= 32) {
      text +=
          sync(1) + "  shared[" + index + "] = x;\n" + sync(2) + step(op, t, "shared[" + index + " ^ " + std::to_string(distance) + "]");
    } else if (distance == 16 && scale == 1 && arch.number >= 80 && t.is_integer() && t.bits == 32) {
      text += "  x = __reduce_" + std::string(op == "sum" ? "add" : op.substr(0, op.find('_'))) + "_sync(0xFFFFFFFF, x);\n";
      break;
    } else if (distance == 16 && scale == 1 && t == kFloat32 && op != "sum" && arch.number >= 100 && arch.number < 110 && arch.suffix) {
      std::string kind(op.substr(0, 3));
      text += "  asm volatile(\"redux.sync." + kind + (op.ends_with("_nan") ? ".NaN" : "") + ".f32 %0, %0, 0xFFFFFFFF;\" : \"+f\"(x));\n";
      break;
    } else {
      bool narrow = t.bits < 32;
      text += step(op, t,
                   (narrow ? "(" + type + ")" : "") + "__shfl_xor_sync(0xFFFFFFFF, " + (narrow ? "(int)x" : "x") + ", " +
                       std::to_string(distance) + ")");
    }
  }
  return {name, text + "  return x;\n}\n"};
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
    if (ch == '<') ++depth;
    if (ch == '>') --depth;
    if (depth == 0 || (depth == 1 && ch == ',')) {
      out.push_back(item);
      item.clear();
    } else if (ch != ' ') {
      item += ch;
    }
  }
  return out;
}
int number(const std::string& text) {
  if (text.empty() || text.size() > 6 || text.find_first_not_of("0123456789") != text.npos) return -1;
  return std::stoi(text);
}

std::string reducer(std::string_view name) {
  if (name == "tl::SumOp") return "sum";
  if (name == "tl::MaxOp") return "max";
  if (name == "tl::MinOp") return "min";
  if (name == "tl::MaxOpNan") return "max_nan";
  if (name == "tl::MinOpNan") return "min_nan";
  if (name == "tl::BitAndOp") return "and";
  if (name == "tl::BitOrOp") return "or";
  if (name == "tl::BitXorOp") return "xor";
  return "";
}

Result<Generated> template_call(const Arch& arch, const Call* c) {
  std::string text(text_arg(c, 0));
  Error error = unsupported(arch, "there is no '" + text + "'");
  std::vector<std::string> args = template_args(text);
  if (text.starts_with("tl::AllReduce<") && text.ends_with("::run")) {
    if (args.size() < 3 || args.size() > 5 || c->args.size() < 2) return error;
    std::string op = reducer(args[0]);
    DataType t = c->args[1]->dtype;
    int threads = number(args[1]), scale = number(args[2]), offset = args.size() > 3 ? number(args[3]) : 0, barrier = 0;
    if (args.size() > 4 && args[4] != "tl::SyncThreadsBarrier") {
      if (!args[4].starts_with("tl::NamedBarrier<")) return error;
      barrier = number(args[4].substr(17, args[4].size() - 18));
    }
    auto power = [](int n) { return n > 0 && (n & (n - 1)) == 0; };
    bool fits = !op.empty() && power(scale) && threads > 0 && threads <= 1024 && threads % scale == 0 && power(threads / scale) &&
                offset >= 0 && barrier >= 0 && t.lanes == 1 && t.bits != 4 && (t.is_integer() || t.is_floating()) &&
                !combine(op, t, "a", "b").empty();
    bool scratch = threads <= 32 || threads == scale || c->args.size() > 2;
    return fits && scratch ? Result<Generated>(all_reduce(arch, op, t, threads, scale, offset, barrier)) : Result<Generated>(error);
  }
  if ((text == "tl::Any" || text == "tl::All") && c->args.size() == 3) {
    auto* address = c->args[1]->as<Call>();
    auto* place = address && !address->args.empty() ? address->args[0]->as<Load>() : nullptr;
    if (!place || is_small_float(place->buffer->dtype) || place->buffer->dtype.bits < 8) return error;
    return Generated{text == "tl::Any" ? "any_of" : "all_of", ""};
  }
  bool maximum = text.starts_with("tl::CumMax"), plane = text.find("2D<") != text.npos;
  if (!(text.starts_with("tl::CumSum") || maximum) || !text.ends_with("::run")) return error;
  bool named = plane ? args.size() == 3 && c->args.size() == 7 && number(args[0]) >= 32 && number(args[0]) % 32 == 0 &&
                           (args[1] == "0" || args[1] == "1")
                     : text.find("1D<") != text.npos && args.size() == 2 && c->args.size() == 4;
  auto* address = named ? c->args[1]->as<Call>() : nullptr;
  auto* place = address && !address->args.empty() ? address->args[0]->as<Load>() : nullptr;
  std::string reverse = args.empty() ? "" : args.back();
  if (!place || place->buffer->dtype.bits == 4 || place->buffer->dtype.lanes != 1 || (reverse != "true" && reverse != "false"))
    return error;
  std::string name = std::string(plane ? "scan_2d<" : "scan_1d<") + (maximum ? "true, " : "false, ") + reverse;
  if (plane) name += ", " + args[0] + ", " + args[1];
  if (DataType t = place->buffer->dtype; is_small_float(t)) {
    std::string format = small_float_name(t);
    name += ", scan_by<" + format + "_to_f32>, scan_by<f32_to_" + format + ">";
  }
  return Generated{name + ">", ""};
}

}  // namespace

Result<Generated> generate_reduction(const Arch& arch, const Call* c) {
  auto warp = [&](std::string_view op) -> Result<Generated> {
    if (c->args.size() != 1 || combine(op, c->args[0]->dtype, "a", "b").empty())
      return unsupported(arch, "there is no '" + std::string(c->name) + "'");
    return all_reduce(arch, op, c->args[0]->dtype, 32, 1, 0, 0);
  };
  switch (c->op) {
    case Op::tl_warp_reduce_sum: return warp("sum");
    case Op::tl_warp_reduce_max: return warp("max");
    case Op::tl_warp_reduce_min: return warp("min");
    case Op::tl_warp_reduce_bitand: return warp("and");
    case Op::tl_warp_reduce_bitor: return warp("or");
    case Op::tirx_call_extern:
    case Op::tirx_call_pure_extern: return template_call(arch, c);
    default: return unsupported(arch, "there is no '" + std::string(c->name) + "'");
  }
}

}  // namespace kiln::cuda
