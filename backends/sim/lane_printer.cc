// What one lane does, as a dialect of C.
#include "backends/sim/lane_printer.h"

#include <algorithm>

#include "backends/sim/atomics.h"
#include "backends/sim/operations.h"
#include "backends/sim/uniform.h"
#include "emit/functions.h"
#include "host_c/intrinsics.h"
#include "intrinsics/arguments.h"
#include "intrinsics/atomic.h"
#include "intrinsics/copy_calls.h"
#include "ir/rewriter.h"

namespace kiln::sim {

using namespace ir;
using namespace intrinsics;
using emit::CFamily;
using emit::Prec;
using emit::Text;

namespace {

LanePrinter& lane_printer(CFamily& p) { return static_cast<LanePrinter&>(p); }

void alloc(CFamily& p, const AllocBuffer& a) {
  const Buffer* b = a.buffer;
  p.pointees[b->data] = b->dtype.element();
  int64_t n = std::max<int64_t>(emit::constant_elements(b), 1);
  p.out.line(p.type(b->dtype.element()) + " " + p.names.declare(b->data) + "[" + std::to_string(n) + "];");
  if (lane_printer(p).checked) p.out.line("sim->undefine(" + p.names.of(b->data) + ", sizeof " + p.names.of(b->data) + ");");
}

void assertion(CFamily& p, const Assert& a) {
  std::string message(a.error_kind.empty() ? std::string_view("RuntimeError") : a.error_kind);
  message += ": ";
  for (std::string_view part : a.message_parts) message += part;
  lane_printer(p).span = a.span;
  p.out.line("if (" + p.negated(a.condition) + ") sim->fail(w, lane, " + emit::quoted(message) + lane_printer(p).site() + ");");
}

void before_loop(CFamily& p, const For& f) {
  auto* extent = f.extent->as<IntImm>();
  if (f.for_kind == ForKind::kVectorized && extent) lane_printer(p).vectors[f.var] = static_cast<int>(extent->value);
}

void attr(CFamily& p, const Attr& a) {
  if (a.key == "lexical_alloc_scope") return p.block("", a.body);
  p.stmt(a.body);
}

// sim->print(w, lane, "format", (sim_value[]){...}, n);
std::string print_call(CFamily& p, const std::string& format, List<const Expr*> values) {
  std::string list;
  for (const Expr* v : values) {
    auto* text = v->as<StringImm>();
    DataType t = v->dtype;
    std::string value = p.str(v);
    list += list.empty() ? "" : ", ";
    if (text || t.is_handle())
      list += std::string("{") + (text ? "SIM_VALUE_TEXT" : "SIM_VALUE_POINTER") + ", {.p = " + value + "}}";
    else if (t.is_floating())
      list += "{SIM_VALUE_FLOAT, {.f = " + value + "}}";
    else if (t.is_uint())
      list += "{SIM_VALUE_UINT, {.u = " + value + "}}";
    else
      list += "{SIM_VALUE_INT, {.i = " + value + "}}";
  }
  std::string array = values.empty() ? "0" : "(sim_value[]){" + list + "}";
  return "sim->print(w, lane, " + format + ", " + array + ", " + std::to_string(values.size()) + ");";
}

// Of functions that modules name; empty for those that are called as C calls them.
std::string external(LanePrinter& p, const Call& c) {
  std::string_view name = text_arg(&c, 0);
  if (name == "printf") return print_call(p, p.str(c.args[1]), c.args.subspan(2));
  if (name == "debug_print_f64") return print_call(p, emit::quoted(std::string(text_arg(&c, 1)) + " = %.9g\n"), c.args.subspan(2));
  if (name == "debug_print_i64") return print_call(p, emit::quoted(std::string(text_arg(&c, 1)) + " = %lld\n"), c.args.subspan(2));
  if (name == "DP4A") {  // c += the sum of the products of four bytes, of two addresses
    p.tables.helpers["dot_of_bytes"] =
        "static inline void dot_of_bytes(const void* a, const void* b, void* c) {\n"
        "  const int8_t *x = (const int8_t*)a, *y = (const int8_t*)b;\n"
        "  for (int i = 0; i < 4; ++i) *(int32_t*)c += x[i] * y[i];\n}\n";
    return "dot_of_bytes(" + p.args(c.args, 1) + ");";
  }
  if (name == "__trap" || name == "__brkpt") return "sim->trap(w, lane" + p.site() + ");";
  return "";
}

std::string cp_async(LanePrinter& p, const Call& c) {
  AsyncCopy copy = async_copy_of(&c);
  std::string bytes = std::to_string(copy.bytes), valid = bytes;
  if (copy.condition) valid = p.str(copy.condition, Prec::kOr) + " ? " + bytes + " : 0";
  return "sim->cp_async(w, lane, " + p.place(copy.to) + ", " + p.place(copy.from) + ", " + bytes + ", " + valid + p.site() + ");";
}

std::string list_of(LanePrinter& p, List<const Expr*> values) {
  std::string out;
  for (const Expr* e : values) out += (out.empty() ? "" : ", ") + p.str(e);
  return "{" + out + "}";
}

std::string tensor_copy(LanePrinter& p, const TensorCopy& copy) {
  std::string text = "&(sim_tensor_copy){.map = " + p.str(copy.map) + ", .shared = (void*)" + p.str(copy.shared, Prec::kUnary);
  if (copy.barrier) {
    std::string barrier = p.address(copy.barrier);
    // The first block of a pair counts the bytes of both.
    text += ", .barrier = " + (copy.pair ? "sim_map_shared(w, " + barrier + ", w->cluster_rank & ~1u)" : barrier);
  }
  if (copy.im2col) text += ", .mode = SIM_IM2COL";
  if (copy.rows) text += std::string(", .mode = ") + (copy.is_store ? "SIM_SCATTER4" : "SIM_GATHER4");
  text += ", .at = " + list_of(p, copy.coordinates);
  if (!copy.offsets.empty()) text += ", .offsets = " + list_of(p, copy.offsets);
  if (copy.blocks) text += ", .blocks = " + p.str(copy.blocks);
  if (copy.adds) text += ", .reduce = 1 + SIM_ADD";
  return std::string("sim->") + (copy.is_store ? "tensor_store" : "tensor_load") + "(w, lane, " + text + "}" + p.site() + ");";
}

std::string bulk_copy(LanePrinter& p, const BulkCopy& copy) {
  std::string shared = p.str(copy.shared), global = p.str(copy.global), bytes = p.str(copy.bytes);
  if (copy.is_store) return "sim->bulk_store(w, lane, " + global + ", " + shared + ", " + bytes + p.site() + ");";
  return "sim->bulk_load(w, lane, " + shared + ", " + global + ", " + bytes + ", " + p.address(copy.barrier) + ", 0" + p.site() + ");";
}

// An operation of a lane as a statement, or empty.
std::string operation(LanePrinter& p, const Call& c) {
  auto call = [&](std::string_view function, const std::string& args) {
    return "sim->" + std::string(function) + "(w, lane, " + args + p.site() + ");";
  };
  auto barrier = [&]() { return p.address(c.args[0]); };
  if (std::optional<TensorCopy> copy = tensor_copy_call(&c)) return tensor_copy(p, *copy);
  if (std::optional<BulkCopy> copy = bulk_copy_call(&c)) return bulk_copy(p, *copy);
  switch (c.op) {
    case Op::tl_ptx_cp_async:
    case Op::tirx_ptx_cp_async:
    case Op::tirx_s_tir__cp_async_raw: return cp_async(p, c);
    case Op::tirx_ptx_cp_async_barrier: return call("cp_async_arrive", barrier() + ", 0");
    case Op::tl_ptx_cp_async_barrier_noinc: return call("cp_async_arrive", barrier() + ", 1");
    case Op::tirx_ptx_init_barrier_thread_count: return call("mbarrier_init", barrier() + ", " + p.str(c.args[1]));
    case Op::tirx_ptx_arrive_barrier: return call("mbarrier_arrive", barrier() + ", 1");
    case Op::tl_ptx_arrive_cluster_barrier:
      return call("mbarrier_arrive", "sim_map_shared(w, " + barrier() + ", " + p.str(c.args[1]) + "), 1");
    case Op::tirx_ptx_arrive_barrier_expect_tx: return call("mbarrier_arrive_expect_tx", barrier() + ", " + p.str(c.args[1]));
    case Op::tl_mbarrier_expect_tx: return call("mbarrier_expect_tx", barrier() + ", " + p.str(c.args[1]));
    case Op::tl_ptx_st_bulk_shared: return call("bulk_zero", p.address(c.args[0]) + ", " + p.str(c.args[1]));
    case Op::tl_tma_store_cluster:  // to, from, rank, bytes, barrier
      return call("bulk_load", "sim_map_shared(w, " + p.address(c.args[0]) + ", " + p.str(c.args[2]) + "), " + p.address(c.args[1]) + ", " +
                                   p.str(c.args[3]) + ", sim_map_shared(w, " + p.address(c.args[4]) + ", " + p.str(c.args[2]) + "), 0");
    case Op::tl_initialize_wgmma_descriptor:
      return p.address(c.args[0]).substr(1) + " = wgmma_descriptor(sim_shared_address(w, " + p.str(c.args[1]) + "), " + p.args(c.args, 2) +
             ");";
    case Op::tl_initialize_tcgen05_descriptor:
      return p.str(c.args[0]) + " = tcgen05_descriptor(sim_shared_address(w, " + p.str(c.args[1]) + "), " + p.args(c.args, 2) + ");";
    case Op::tl_increase_descriptor_offset: return "advance_descriptor(" + p.address(c.args[0]) + ", " + p.str(c.args[1]) + ");";
    default: return "";
  }
}

std::string evaluate(CFamily& base, const Evaluate& e) {
  LanePrinter& p = lane_printer(base);
  auto* c = e.value->as<Call>();
  if (!c) return "";
  if (e.span) p.span = e.span;
  if (std::string text = operation(p, *c); !text.empty()) return text;
  if (atomic_of(c)) return p.str(e.value) + ";";
  if (c->op == Op::tirx_call_extern || c->op == Op::tirx_call_pure_extern) {
    if (std::string text = external(p, *c); !text.empty()) return text;
  }
  return host_c::dialect.evaluate(p, e);
}

Text call(CFamily& base, const Call& c) {
  LanePrinter& p = lane_printer(base);
  if (intrinsics::Atomic a = atomic_of(&c)) return {atomic_call(p, c, a)};
  switch (c.op) {
    case Op::tl_get_warp_idx:
    case Op::tl_get_warp_idx_sync: return {"w->warp"};
    case Op::tl_get_lane_idx: return {"lane"};
    case Op::tl_get_warp_group_idx: return {"w->warp / 4", Prec::kMul};
    case Op::tirx_cuda__thread_rank: return {"32 * w->warp + lane", Prec::kAdd};
    case Op::tl_block_rank_in_cluster: return {"w->cluster_rank"};
    case Op::tirx_cuda__clock64: return {"(int64_t)sim->clock(w)", Prec::kUnary};
    case Op::kFunction: {
      auto it = p.callees.by_name.find(c.name);
      std::string args = p.args(c.args);
      return {(it == p.callees.by_name.end() ? std::string("undefined") : it->second.symbol) + "(sim, w, lane" +
              (args.empty() ? "" : ", " + args) + ")"};
    }
    case Op::tirx_call_extern:
    case Op::tirx_call_pure_extern: {
      std::string_view name = text_arg(&c, 0);
      if (name.starts_with("__")) {
        bool overloaded = name.starts_with("__dp") && c.args.size() > 1 && c.args[1]->dtype.is_uint();
        return {"cuda_" + std::string(name.substr(2)) + (overloaded ? "_u" : "") + "(" + p.args(c.args, 1) + ")"};
      }
      return host_c::dialect.call(p, c);
    }
    default: return host_c::dialect.call(p, c);
  }
}

// Checked: a pointer to an element, or to where a faulty access goes.
std::string checked_place(LanePrinter& p, const Buffer* b, const Expr* index, const char* kind) {
  bool whole = b->dtype.element().bits >= 8;  // elements that share a byte have no size of their own
  int64_t extent = whole ? std::max<int64_t>(emit::constant_elements(b), 0) : 0;
  std::string type = p.type(b->dtype.element());
  return "(" + type + "*)sim->" + (is_local(b) ? "local" : "access") + "(w, lane, " + p.first_element(b) + ", " + p.str(index) + ", " +
         std::to_string(extent) + ", sizeof(" + type + "), " + kind + p.site(b->name) + ")";
}

Text checked_load(CFamily& p, const Load& l) { return {"(*" + checked_place(lane_printer(p), l.buffer, l.indices[0], "SIM_READ") + ")"}; }

void checked_store(CFamily& base, const Store& s) {
  LanePrinter& p = lane_printer(base);
  if (s.span) p.span = s.span;
  std::string type = p.type(s.buffer->dtype.element());
  p.elements = p.elements_of(s);
  p.out.open("");
  p.out.line("const " + type + " stored = " + p.str(s.value) + ";");
  p.out.line("*" + checked_place(p, s.buffer, s.indices[0], "SIM_WRITE") + " = stored;");
  p.out.close();
  p.elements = 1;
}

const emit::Dialect lane_dialect = {host_c::type_name, host_c::float_literal, call, alloc, assertion, before_loop, attr, evaluate};
const emit::Dialect checked_dialect = {
    host_c::type_name, host_c::float_literal, call, alloc, assertion, before_loop, attr, evaluate, nullptr, checked_load, checked_store};

}  // namespace

LanePrinter::LanePrinter(emit::Writer& out, const emit::Reserved& reserved, const host_c::Callees& callees, Tables& tables, bool checked)
    : CPrinter(out, reserved, callees, checked ? checked_dialect : lane_dialect), tables(tables), checked(checked) {}

int LanePrinter::elements_of(const Store& s) const {
  int n = 1;
  auto look = [&](const Expr* e) {
    visit(e, [&](const Expr* x) {
      auto it = vectors.find(x->as<Var>());
      if (it != vectors.end()) n = it->second;
    });
  };
  if (vectors.empty()) return n;
  look(s.indices[0]);
  look(s.value);
  return n;
}

std::string LanePrinter::address(const Expr* e) {
  if (auto* l = e->as<Load>()) return "&" + element(l->buffer, l->indices[0]);
  return str(e);
}

std::string LanePrinter::place(const Operand& o) {
  auto* offset = o.offset ? o.offset->as<IntImm>() : nullptr;
  if (!o.offset || (offset && offset->value == 0)) return address(o.pointer);
  return "&" + str(o.pointer, Prec::kPostfix) + "[" + str(o.offset) + "]";
}

int Tables::site(const SiteKey& key) {
  constexpr size_t kMostSites = 65535;  // of which a checked launch keeps the numbers in 16 bits
  if (sites.size() == kMostSites && !site_numbers.contains(key)) return 0;
  auto [it, is_new] = site_numbers.try_emplace(key, static_cast<int>(sites.size()));
  if (is_new) sites.push_back(key);
  return it->second;
}

int Tables::form(const std::string& mnemonic) {
  auto it = std::find(forms.begin(), forms.end(), mnemonic);
  if (it == forms.end()) it = forms.insert(forms.end(), mnemonic);
  return static_cast<int>(it - forms.begin());
}

}  // namespace kiln::sim
