#include "backends/sim/atomics.h"

#include <algorithm>

#include "host_c/intrinsics.h"
#include "intrinsics/arguments.h"

namespace kiln::sim {

using namespace ir;

std::string runtime_type(DataType t) {
  if (t.element() == kFloat16) return "SIM_F16";
  if (t.element() == kBFloat16) return "SIM_BF16";
  if (t.is_floating() && t.bits >= 32) return t.bits == 64 ? "SIM_F64" : "SIM_F32";
  if (t.is_integer() && t.bits >= 32) return (t.is_uint() ? "SIM_U" : "SIM_S") + std::to_string(t.bits);
  if (t.is_int() && t.bits == 16) return "SIM_S16";
  return t.bits == 16 ? "SIM_B16" : "";
}

std::string runtime_update(std::string_view op) {
  struct Row {
    std::string_view op, name;
  };
  static constexpr Row kRows[] = {{"load", "SIM_LOAD"}, {"store", "SIM_STORE"}, {"sum", "SIM_ADD"}, {"sub", "SIM_ADD"},
                                  {"max", "SIM_MAX"},   {"min", "SIM_MIN"},     {"and", "SIM_AND"}, {"or", "SIM_OR"},
                                  {"xor", "SIM_XOR"},   {"exch", "SIM_EXCH"},   {"inc", "SIM_INC"}, {"dec", "SIM_DEC"},
                                  {"cas", "SIM_CAS"}};
  for (const Row& r : kRows) {
    if (r.op == op) return std::string(r.name);
  }
  return "";
}

std::string atomic_call(LanePrinter& p, const Call& c, const intrinsics::Atomic& a) {
  DataType t = intrinsics::atomic_place(&c)->buffer->dtype.element();
  std::string type = host_c::type_name(t), name = "atomic_" + std::string(a.op) + "_" + type;
  size_t order_at = a.first + 1 + a.values;
  int64_t order = order_at < c.args.size() ? intrinsics::int_arg(&c, order_at) : 0;
  static constexpr const char* kOrders[] = {"SIM_RELAXED", "SIM_ACQUIRE", "SIM_ACQUIRE", "SIM_RELEASE", "SIM_ACQ_REL", "SIM_SEQ_CST"};
  std::string scope = a.scope == "cta" ? "SIM_SCOPE_CTA" : a.scope == "sys" ? "SIM_SCOPE_SYS" : "SIM_SCOPE_GPU";
  bool cas = a.op == "cas", load = a.op == "load", store = a.op == "store";
  std::string text = "static inline " + type + " " + name + "(sim_warp* w, int lane, const void* p" +
                     (cas ? ", " + type + " expected" : "") + (load ? "" : ", " + type + " value") +
                     ", int order, int scope, int32_t site) {\n  " + type + " old" + (store ? " = value" : "") + ";\n";
  if (a.op == "sub") text += t.is_floating() && t.bits <= 16 ? "  value ^= 0x8000;\n" : "  value = -value;\n";
  text += "  w->sim->atomic(w, lane, " + runtime_update(a.op) + ", " + runtime_type(t) + ", (void*)p, " + (load ? "0" : "&value") + ", " +
          (cas ? "&expected" : "0") + ", " + (store ? "0" : "&old") + ", order, scope, site);\n  return old;\n}\n";
  p.tables.helpers[name] = text;
  std::string call = name + "(w, lane, " + p.address(c.args[a.first]);
  for (size_t i = a.first + 1; i <= a.first + a.values; ++i) call += i < c.args.size() ? ", " + p.str(c.args[i]) : "";
  return call + ", " + kOrders[std::clamp<int64_t>(order, 0, 5)] + ", " + scope + p.site(intrinsics::atomic_place(&c)->buffer->name) + ")";
}

}  // namespace kiln::sim
